//! Tables with the same keys as one table, with a column for each: their rows, and as text.
//!
//! # Limitations
//! Shares of the total are not shown: the columns have different totals.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::model::{Tallies, TallyKey, TallyTable, below};
use super::names::{KEY, KeyNames};
use crate::format::{Grid, Ink, Style, clean, clip, count};

/// Whether the second table can be a column beside the first: both have the same keys and one value a row.
pub(super) fn joins(a: &TallyTable, b: &TallyTable) -> bool {
    let plain = |t: &TallyTable| !t.keys.is_empty() && !t.is_records() && !t.is_histogram();
    let keys = |t: &TallyTable| t.keys.iter().map(|k| (k.name.clone(), k.shown)).collect::<Vec<_>>();
    plain(a) && plain(b) && keys(a) == keys(b)
}

/// Tables that are shown as one; not empty.
#[derive(Clone, Copy)]
pub(super) struct JoinedTables<'a>(pub &'a [TallyTable]);

/// The cells of each table for one row of keys, `None` if a table has no such row.
pub(super) type Row = Vec<Option<Vec<u64>>>;

impl<'a> JoinedTables<'a> {
    /// The names of the tables, and of their keys.
    pub fn heading(self) -> String {
        let names: Vec<String> = self.0.iter().map(|t| format!("@{}", t.name)).collect();
        let by: Vec<&str> = self.0[0].keys.iter().map(|k| k.name.as_str()).collect();
        format!("{}  [{}]", names.join(" "), by.join(", "))
    }

    /// What has to be said of the tables, each sentence once.
    pub fn notes(self, tallies: &Tallies) -> Vec<String> {
        let mut notes: Vec<String> = self.0.iter().flat_map(|t| below(tallies, t)).collect();
        notes.dedup();
        notes
    }

    /// The headings of columns.
    pub fn head(self, parts: &[(usize, usize)]) -> Vec<String> {
        let several = parts.iter().filter(|p| p.1 == 1).count() > 1;
        let name = |&(table, part): &(usize, usize)| match part {
            0 => self.0[table].name.clone(),
            _ if several => format!("values of {}", self.0[table].name),
            _ => "values".to_owned(),
        };
        parts.iter().map(name).collect()
    }

    /// All keys in the order of the first table, then those that only later tables have, and their cells.
    pub fn rows(self) -> (Vec<&'a [TallyKey]>, Vec<Row>) {
        let mut places: BTreeMap<&'a [TallyKey], usize> = BTreeMap::new();
        let (mut keys, mut rows): (Vec<&'a [TallyKey]>, Vec<Row>) = (Vec::new(), Vec::new());
        for (i, table) in self.0.iter().enumerate() {
            for row in &table.rows {
                let at = *places.entry(&row.keys).or_insert(rows.len());
                if at == rows.len() {
                    keys.push(&row.keys);
                    rows.push(vec![None; self.0.len()]);
                }
                rows[at][i] = Some(row.cells.clone());
            }
        }
        (keys, rows)
    }

    /// The value of a table, or the number of its values where `part` is 1.
    pub fn cell(self, row: &Row, table: usize, part: usize) -> Option<String> {
        let cells = self.0[table].cells(row.get(table)?.as_ref()?);
        cells.into_iter().nth(part)
    }

    /// The columns: a table, and whether the column is its value (0) or the number of its values (1). Numbers
    /// of values that an earlier column already has are left out.
    pub fn parts(self, rows: &[Row]) -> Vec<(usize, usize)> {
        let mut parts: Vec<(usize, usize)> = (0..self.0.len()).map(|t| (t, 0)).collect();
        for table in (0..self.0.len()).filter(|t| self.0[*t].columns().len() == 2) {
            let counts = |&(t, part): &(usize, usize)| part == 1 || self.0[t].columns() == ["count"];
            let same = |&(t, part): &(usize, usize)| {
                rows.iter().all(|r| {
                    let own = self.cell(r, table, 1);
                    own.is_none() || own == self.cell(r, t, part)
                })
            };
            if !parts.iter().any(|p| counts(p) && same(p)) {
                parts.push((table, 1));
            }
        }
        parts
    }

    /// The cells of several rows as those of one.
    fn merged(self, rows: &[Row]) -> Row {
        let merge = |(i, table): (usize, &TallyTable)| {
            let cells = rows.iter().filter_map(|r| r.get(i)?.clone());
            cells.reduce(|mut into, more| {
                table.aggregate.merge(&mut into, &more, table.ty());
                into
            })
        };
        self.0.iter().enumerate().map(merge).collect()
    }
}

/// Tables that are printed as one.
pub(super) struct JoinedText<'a> {
    pub tallies: &'a Tallies,
    pub tables: JoinedTables<'a>,
    pub names: &'a KeyNames,
    pub top: usize,
    pub style: Style,
}

impl JoinedText<'_> {
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let (keys, rows) = self.tables.rows();
        let said = count(rows.len() as u64, "row", "rows");
        writeln!(out, "{}  {said}", self.style.ink(Ink::Strong, &clean(&self.tables.heading())))?;
        match rows.is_empty() {
            true => writeln!(out, "  {}", self.style.ink(Ink::Faint, "no values"))?,
            false => self.columns(out, &keys, &rows)?,
        }
        for note in self.tables.notes(self.tallies) {
            writeln!(out, "  {}", self.style.ink(Ink::Warning, &clean(&note)))?;
        }
        Ok(())
    }

    fn columns(&self, out: &mut impl Write, keys: &[&[TallyKey]], rows: &[Row]) -> io::Result<()> {
        let joined = self.tables;
        let parts = joined.parts(rows);
        let fields = &joined.0[0].keys;
        let shown = rows.len().min(self.top);
        let mut grid = Grid::default();
        let mut head: Vec<String> = fields.iter().map(|k| clip(&clean(&k.name), KEY)).collect();
        let number = |i: usize| keys[..shown].iter().all(|k| k.get(i).is_none_or(TallyKey::is_number));
        grid.right.extend((0..fields.len()).map(number));
        head.extend(joined.head(&parts).iter().map(|name| clean(name)));
        grid.right.extend(parts.iter().map(|_| true));
        let sources = keys[..shown].iter().any(|k| self.tallies.source_of(k).is_some());
        if sources {
            head.push(String::new());
            grid.right.push(false);
        }
        grid.rows.push((Ink::Faint, head));
        for (key, row) in keys.iter().zip(rows).take(shown) {
            let mut line: Vec<String> =
                key.iter().map(|k| clip(&clean(&self.names.key(k)), self.style.key_width())).collect();
            line.extend(parts.iter().map(|&(t, part)| joined.cell(row, t, part).unwrap_or_default()));
            if sources {
                line.push(self.tallies.source_of(key).map(clean).unwrap_or_default());
            }
            grid.rows.push((Ink::Plain, line));
        }
        if let Some(rest) = rows.get(shown..).filter(|r| !r.is_empty()) {
            let merged = joined.merged(rest);
            let mut line = vec![String::new(); fields.len()];
            line[0] = count(rest.len() as u64, "other", "others");
            line.extend(parts.iter().map(|&(t, part)| joined.cell(&merged, t, part).unwrap_or_default()));
            grid.rows.push((Ink::Faint, line));
        }
        grid.print(out, self.style)
    }
}
