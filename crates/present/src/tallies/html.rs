//! Tables of tallies as one HTML page: bars, and source listings coloured by value.
//!
//! # Invariants
//! Every text from a trace is escaped. The page loads nothing. The same input gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use prlx_trace::kernel::Scalar;
use prlx_trace::names::file_name;
use prlx_trace::table::Aggregate;

use super::joined::{JoinedTables, Row, joins};
use super::model::{Bucket, Tallies, TallyKey, TallyRow, TallyTable, below, mean};
use super::names::KeyNames;
use crate::format::html::{el, esc};
use crate::format::percent;
use crate::format::{count, number};

/// Rows of a table.
const ROWS: usize = 10_000;
/// Histograms of a table.
const HISTOGRAMS: usize = 200;
/// Lines around a warm one that are shown of files longer than [`WHOLE`].
const AROUND: usize = 12;
/// Lines of a file that is shown whole.
const WHOLE: usize = 2000;

/// Writes all tables as a page under `title`.
///
/// # Errors
/// Those of `out`.
pub fn tallies_html(out: &mut impl Write, tallies: &Tallies, title: &str) -> io::Result<()> {
    let names = KeyNames::of(tallies);
    let mut body = el("header", "", el("h1", "", esc(title)));
    for group in tallies.tables.chunk_by(joins) {
        let inside = match group {
            [table] => section(tallies, table, &names),
            tables => joined(tallies, JoinedTables(tables), &names),
        };
        body += &el("section", "", inside);
    }
    for missed in tallies.missed.iter().filter(|m| m.tables.is_empty()) {
        body += &el("p", "gaps", esc(&missed.what));
    }
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n{}\n</body>\n</html>\n",
        esc(title),
        include_str!("../report/html/page.css"),
        include_str!("page.css"),
        el("main", "", body),
    )
}

fn section(tallies: &Tallies, table: &TallyTable, names: &KeyNames) -> String {
    let rows = if table.is_records() { ("record", "records") } else { ("row", "rows") };
    let said = format!("{}, {}", table.what(), count(table.rows.len() as u64, rows.0, rows.1));
    let mut out = el("h2", "", esc(&table.heading()) + " " + &el("small", "faint", esc(&said)));
    if table.rows.is_empty() {
        out += &el("p", "faint", "no values");
    } else if table.is_histogram() {
        out += &histograms(table, names);
    } else {
        out += &listing(tallies, std::slice::from_ref(table));
        out += &columns(tallies, table, names);
    }
    for said in below(tallies, table) {
        out += &el("p", "gaps", esc(&said));
    }
    out + "\n"
}

/// Tables with the same keys: one listing, and one table with a column for each. Bars are left out, because
/// the columns have different totals.
fn joined(tallies: &Tallies, tables: JoinedTables<'_>, names: &KeyNames) -> String {
    let (keys, rows) = tables.rows();
    let said = count(rows.len() as u64, "row", "rows");
    let mut out = el("h2", "", esc(&tables.heading()) + " " + &el("small", "faint", esc(&said)));
    if rows.is_empty() {
        out += &el("p", "faint", "no values");
    } else {
        out += &listing(tallies, tables.0);
        let parts = tables.parts(&rows);
        let mut head: String = tables.0[0].keys.iter().map(|k| el("th", "", esc(&k.name))).collect();
        head.extend(tables.head(&parts).iter().map(|name| el("th", "num", esc(name))));
        let line = |(keys, row): (&&[TallyKey], &Row)| {
            let values = parts.iter().map(|&(table, part)| tables.cell(row, table, part).unwrap_or_default());
            let values: String = values.map(|value| el("td", "num", esc(&value))).collect();
            el("tr", "", key_cells(tallies, keys, names) + &values)
        };
        let lines: String = keys.iter().zip(&rows).take(ROWS).map(line).collect();
        out += &list(&head, &lines, rows.len());
    }
    for said in tables.notes(tallies) {
        out += &el("p", "gaps", esc(&said));
    }
    out + "\n"
}

/// A table with these rows of `all`, and the number of the others.
fn list(head: &str, rows: &str, all: usize) -> String {
    let more = all.saturating_sub(ROWS);
    let more =
        if more > 0 { el("p", "faint", format!("and {} more", number(more as u64))) } else { String::new() };
    let table = format!("<table class=\"list\"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>");
    el("div", "scroll", table) + &more
}

/// The cells of a row's keys, lines with their source.
fn key_cells(tallies: &Tallies, keys: &[TallyKey], names: &KeyNames) -> String {
    let cell = |key: &TallyKey| {
        let source = match key {
            TallyKey::Line(path, n) => tallies.source(path, *n).map(|s| el("code", "faint", esc(s))),
            _ => None,
        };
        let class = if key.is_number() { "num" } else { "" };
        el("td", class, esc(&names.key(key)) + "  " + &source.unwrap_or_default())
    };
    keys.iter().map(cell).collect()
}

/// How warm a row is: its value, where that has one and is not below 0.
fn heat(table: &TallyTable, row: &TallyRow) -> Option<f64> {
    let ty = table.ty();
    let of = |bits: u64| match ty {
        Scalar::F64 => f64::from_bits(bits),
        Scalar::S64 => bits.cast_signed() as f64,
        _ => bits as f64,
    };
    let heat = match (table.aggregate, row.cells.as_slice()) {
        (Aggregate::Count, [n]) => *n as f64,
        (Aggregate::Sum, [sum]) => of(*sum),
        (Aggregate::Min | Aggregate::Max, [_, value]) => of(*value),
        (Aggregate::Avg, [n, sum]) => mean(*n, *sum, ty),
        _ => return None,
    };
    (heat.is_finite() && heat >= 0.0).then_some(heat)
}

/// A bar, `part` of the whole width long.
fn bar(part: f64) -> String {
    format!("<span class=\"bar\"><span style=\"width:{:.1}%\"></span></span>", part.clamp(0.0, 1.0) * 100.0)
}

fn columns(tallies: &Tallies, table: &TallyTable, names: &KeyNames) -> String {
    let total = table.total();
    let most = table.rows.iter().filter_map(|r| heat(table, r)).fold(0.0, f64::max);
    let bars = most > 0.0 && !table.keys.is_empty();
    let mut head: String = table.keys.iter().map(|k| el("th", "", esc(&k.name))).collect();
    head.extend(table.columns().iter().map(|c| el("th", "num", esc(c))));
    if bars {
        head += "<th></th><th></th>";
    }
    let mut rows = String::new();
    for row in table.rows.iter().take(ROWS) {
        let mut line = key_cells(tallies, &row.keys, names);
        line.extend(table.cells(&row.cells).iter().map(|c| el("td", "num", esc(c))));
        if bars {
            let share = table.share(row, total).map(percent).unwrap_or_default();
            line += &el("td", "num faint", share);
            line += &el("td", "", heat(table, row).map(|h| bar(h / most)).unwrap_or_default());
        }
        rows += &el("tr", "", line);
    }
    list(&head, &rows, table.rows.len())
}

/// Files of the lines that the tables are keyed by, with a column of values for each table beside them. The
/// lines have the colours of the first table.
fn listing(tallies: &Tallies, tables: &[TallyTable]) -> String {
    let mut files: BTreeMap<&str, BTreeMap<u32, Vec<Vec<&TallyRow>>>> = BTreeMap::new();
    for (i, table) in tables.iter().enumerate() {
        for row in &table.rows {
            for key in &row.keys {
                if let TallyKey::Line(path, line) = key {
                    let lines = files.entry(path).or_default();
                    lines.entry(*line).or_insert_with(|| vec![Vec::new(); tables.len()])[i].push(row);
                }
            }
        }
    }
    // A line may have several rows, if there are other keys: they come together as values do.
    let value = |(table, rows): (&TallyTable, &Vec<&TallyRow>)| {
        let mut cells = vec![0; rows.first()?.cells.len()];
        rows.iter().for_each(|r| table.aggregate.merge(&mut cells, &r.cells, table.ty()));
        Some(TallyRow { keys: Vec::new(), cells })
    };
    let values = |rows: &Vec<Vec<&TallyRow>>| -> Vec<Option<TallyRow>> {
        tables.iter().zip(rows).map(value).collect()
    };
    let warmth = |row: &[Option<TallyRow>]| heat(tables.first()?, row.first()?.as_ref()?);
    let mut out = String::new();
    for (path, lines) in files {
        let Some(text) = tallies.sources.get(path) else { continue };
        let values: BTreeMap<u32, Vec<Option<TallyRow>>> =
            lines.iter().map(|(line, rows)| (*line, values(rows))).collect();
        let most = values.values().filter_map(|r| warmth(r)).fold(0.0, f64::max);
        let all = text.lines().count();
        let near = |i: usize| all <= WHOLE || values.keys().any(|m| (*m as usize).abs_diff(i + 1) <= AROUND);
        let (mut rows, mut hidden) = (String::new(), false);
        for (i, line) in text.lines().enumerate() {
            if !near(i) {
                hidden = true;
                continue;
            }
            if std::mem::take(&mut hidden) {
                rows += &format!(
                    "<tr class=\"gap\"><th>⋮</th>{}<td></td></tr>",
                    "<td></td>".repeat(tables.len())
                );
            }
            let row = values.get(&(i as u32 + 1));
            let warmth = row.and_then(|r| warmth(r)).filter(|_| most > 0.0).map_or(0.0, |h| h / most);
            let said = |(i, table): (usize, &TallyTable)| {
                let cells = row.and_then(|r| r.get(i)?.as_ref()).map(|r| table.cells(&r.cells));
                let first = cells.into_iter().flatten().next().unwrap_or_default();
                el("td", "num", esc(&first))
            };
            let said: String = tables.iter().enumerate().map(said).collect();
            let style = match warmth > 0.0 {
                true => format!(" style=\"--heat:{:.0}%\"", 8.0 + 52.0 * warmth),
                false => String::new(),
            };
            let class = if warmth > 0.0 { " class=\"warm\"" } else { "" };
            let _ = write!(
                rows,
                "<tr{class}{style}><th>{}</th>{said}<td><code>{}</code></td></tr>",
                i + 1,
                esc(line)
            );
        }
        let name = el("h4", "", esc(file_name(path)) + " " + &el("small", "faint", esc(path)));
        let head = match tables {
            [_] => String::new(),
            _ => {
                let names: String = tables.iter().map(|t| el("th", "num", esc(&t.name))).collect();
                format!("<tr><th></th>{names}<th></th></tr>")
            }
        };
        out += &el("div", "source", name + &el("div", "code", el("table", "", head + &rows)));
    }
    out
}

fn histograms(table: &TallyTable, names: &KeyNames) -> String {
    let mut out = String::new();
    for row in table.rows.iter().take(HISTOGRAMS) {
        let keys = table.keys.iter().zip(&row.keys).map(|(f, k)| format!("{} {}", f.name, names.key(k)));
        let keys: Vec<String> = keys.collect();
        let buckets = table.buckets(&row.cells);
        let most = buckets.iter().map(|b| b.count).max().unwrap_or(1).max(1) as f64;
        let line = |b: &Bucket| {
            let cells = [
                el("td", "", esc(&b.label())),
                el("td", "num", number(b.count)),
                el("td", "", bar(b.count as f64 / most)),
            ];
            el("tr", "", cells.concat())
        };
        let rows: String = buckets.iter().map(line).collect();
        if !keys.is_empty() {
            out += &el("h3", "", esc(&keys.join(", ")));
        }
        out += &el("table", "list", rows);
    }
    let more = table.rows.len().saturating_sub(HISTOGRAMS);
    if more > 0 {
        out += &el("p", "faint", format!("and {} more", number(more as u64)));
    }
    out
}
