//! Tables of tallies as text: aligned columns, and histograms with bars.

use std::io::{self, Write};

use super::joined::{JoinedTables, JoinedText, joins};
use super::model::{Bucket, Tallies, TallyKey, TallyRow, TallyTable, below};
use super::names::{KEY, KeyNames};
use crate::format::Style;
use crate::format::{Grid, Ink, clean, clip, count, number, pad, percent};

/// Widest bar of a histogram, in characters.
const BAR: usize = 40;

/// Writes the tables of a program, with at most `top` rows of each.
///
/// # Errors
/// When `out` does.
pub fn tallies(out: &mut impl Write, tallies: &Tallies, top: usize, style: &Style) -> io::Result<()> {
    let names = KeyNames::of(tallies);
    for (i, group) in tallies.tables.chunk_by(joins).enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match group {
            [table] => TableText { tallies, table, names: &names, top, style: *style }.print(out)?,
            tables => JoinedText { tallies, tables: JoinedTables(tables), names: &names, top, style: *style }
                .print(out)?,
        }
    }
    // What is missed by a clause that has no table.
    for missed in tallies.missed.iter().filter(|m| m.tables.is_empty()) {
        writeln!(out, "{}", style.ink(Ink::Warning, &clean(&missed.what)))?;
    }
    Ok(())
}

struct TableText<'a> {
    tallies: &'a Tallies,
    table: &'a TallyTable,
    names: &'a KeyNames,
    top: usize,
    style: Style,
}

impl TableText<'_> {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let table = self.table;
        let rows = if table.is_records() {
            count(table.rows.len() as u64, "record", "records")
        } else if table.keys.is_empty() {
            String::new()
        } else {
            count(table.rows.len() as u64, "row", "rows")
        };
        let total =
            table.total().filter(|_| table.rows.len() > 1).map(|n| table.cells(&[n]).concat() + " in total");
        let said: Vec<String> = [Some(table.what()), Some(rows), total].into_iter().flatten().collect();
        let said: Vec<&str> = said.iter().map(String::as_str).filter(|s| !s.is_empty()).collect();
        writeln!(
            out,
            "{}  {}",
            self.style.ink(Ink::Strong, &clean(&table.heading())),
            clean(&said.join(", "))
        )?;
        match (table.rows.is_empty(), table.is_histogram()) {
            (true, _) => writeln!(out, "  {}", self.style.ink(Ink::Faint, "no values"))?,
            (_, true) => self.histograms(out)?,
            (_, false) => self.columns(out)?,
        }
        for said in below(self.tallies, table) {
            writeln!(out, "  {}", self.style.ink(Ink::Warning, &clean(&said)))?;
        }
        Ok(())
    }

    /// Writes rows with their columns aligned.
    fn columns(&self, out: &mut impl Write) -> io::Result<()> {
        let table = self.table;
        let total = table.total();
        let shown = &table.rows[..table.rows.len().min(self.top)];
        let rest = table.rest(self.top);
        let shares = shown.iter().any(|r| table.share(r, total).is_some()) && !table.keys.is_empty();
        let sources = shown.iter().any(|r| self.source(r).is_some());
        let mut grid = Grid::default();
        let at_right = |i: usize| shown.iter().all(|r| r.keys.get(i).is_none_or(TallyKey::is_number));
        let mut head: Vec<String> = Vec::new();
        for (i, key) in table.keys.iter().enumerate() {
            head.push(clip(&clean(&key.name), KEY));
            grid.right.push(at_right(i));
        }
        let columns = table.columns();
        // One cell without a name needs no head.
        let bare = table.keys.is_empty() && columns.len() == 1;
        head.extend(columns.iter().map(|c| clean(c)));
        grid.right.extend(columns.iter().map(|_| true));
        if shares {
            head.push(String::new());
            grid.right.push(true);
        }
        if sources {
            head.push(String::new());
            grid.right.push(false);
        }
        if !bare {
            grid.rows.push((Ink::Faint, head));
        }
        for row in shown {
            let keys = row.keys.iter().map(|k| clip(&clean(&self.names.key(k)), self.style.key_width()));
            let mut line: Vec<String> = keys.chain(table.cells(&row.cells)).collect();
            if shares {
                line.push(table.share(row, total).map(percent).unwrap_or_default());
            }
            if sources {
                line.push(self.source(row).map(clean).unwrap_or_default());
            }
            grid.rows.push((Ink::Plain, line));
        }
        let mut more = None;
        match rest {
            Some((n, _)) if table.is_records() => {
                more = Some(format!("and {}", count(n as u64, "more", "more")))
            }
            Some((n, cells)) if !table.keys.is_empty() => {
                let mut line = vec![String::new(); table.keys.len()];
                line[0] = count(n as u64, "other", "others");
                line.extend(table.cells(&cells));
                if shares {
                    let row = TallyRow { keys: Vec::new(), cells };
                    line.push(table.share(&row, total).map(percent).unwrap_or_default());
                }
                grid.rows.push((Ink::Faint, line));
            }
            _ => {}
        }
        grid.print(out, self.style)?;
        more.map_or(Ok(()), |more| writeln!(out, "  {}", self.style.ink(Ink::Faint, &more)))
    }

    /// The source line that a row is of.
    fn source(&self, row: &TallyRow) -> Option<&str> {
        self.tallies.source_of(&row.keys)
    }

    /// Writes a histogram for each row.
    fn histograms(&self, out: &mut impl Write) -> io::Result<()> {
        let table = self.table;
        for (i, row) in table.rows.iter().take(self.top).enumerate() {
            if !table.keys.is_empty() {
                if i > 0 {
                    writeln!(out)?;
                }
                let keys = table.keys.iter().zip(&row.keys);
                let keys: Vec<String> =
                    keys.map(|(f, k)| format!("{} {}", f.name, self.names.key(k))).collect();
                let source = self.source(row).map(|s| format!("  {}", clean(s))).unwrap_or_default();
                let source = self.style.ink(Ink::Faint, &clip(&source, self.style.width.saturating_sub(40)));
                writeln!(out, "  {}{source}", clean(&keys.join(", ")))?;
            }
            self.bars(out, &table.buckets(&row.cells))?;
        }
        if let Some((n, cells)) = table.rest(self.top) {
            writeln!(out, "\n  {}", self.style.ink(Ink::Faint, &count(n as u64, "other", "others")))?;
            self.bars(out, &table.buckets(&cells))?;
        }
        Ok(())
    }

    fn bars(&self, out: &mut impl Write, buckets: &[Bucket]) -> io::Result<()> {
        let most = buckets.iter().map(|b| b.count).max().unwrap_or(1).max(1);
        let labels: Vec<String> = buckets.iter().map(Bucket::label).collect();
        let counts: Vec<String> = buckets.iter().map(|b| number(b.count)).collect();
        let width = |all: &[String]| all.iter().map(String::len).max().unwrap_or(0);
        let (left, right) = (width(&labels), width(&counts));
        let room = self.style.width.saturating_sub(left + right + 8).clamp(10, BAR);
        for ((bucket, label), n) in buckets.iter().zip(&labels).zip(&counts) {
            let full = (u128::from(bucket.count) * room as u128 / u128::from(most)) as usize;
            // What is there is seen.
            let bar = "@".repeat(if bucket.count > 0 { full.max(1) } else { 0 });
            writeln!(out, "  {}  {n:>right$} |{}|", pad(label, left), pad(&bar, room))?;
        }
        Ok(())
    }
}
