//! What probe programs kept, as people and programs read it: tables of one or more recordings, merged.
//!
//! Tables of one name, aggregate and kind of keys come together, whatever module, launch or process they are of: rows whose
//! keys *read* the same are one row, so a line that has three locations in two modules has one. Records stay apart: what
//! tells them apart comes before their own keys.
//!
//! Holds: the same recordings give the same bytes; values that found no room are said with their table. Misses: sums of
//! floats depend on the order of recordings in their last bits.

mod flat;
mod html;
mod json;
pub(crate) mod text;

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::Trace;
use prlx_trace::device::tables::ordered;
use prlx_trace::kernel::{Module, Scalar};
use prlx_trace::table::{self, Aggregate, Field, Shown, TableContents};

use crate::format::number;

pub use flat::Flat;
pub use html::tallies_html;
pub use json::{tallies_csv, tallies_json};
pub use text::tallies;

/// Everything that probe programs kept, in one or more recordings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tallies {
    /// Tables and records, in the order of the program.
    pub tables: Vec<Table>,
    /// Source files that lines are of, by path.
    pub sources: BTreeMap<String, String>,
    /// What the program could not be told, and where.
    pub missed: Vec<Missed>,
}

/// A table with the rows of all recordings.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name without `@`, perhaps empty.
    pub name: String,
    /// What rows are told apart by.
    pub keys: Vec<Field>,
    /// How values came together.
    pub aggregate: Aggregate,
    /// What was aggregated; a record's fields.
    pub values: Vec<Field>,
    /// By value, greatest first; those of least values by value too, least first; histograms and records by key.
    pub rows: Vec<Row>,
    /// Values that found no room, or records that were not kept.
    pub lost: u64,
}

/// A row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its keys.
    pub keys: Vec<Key>,
    /// As [`Aggregate::cells`] says.
    pub cells: Vec<u64>,
}

/// A key, in the order in which rows are shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// A whole number.
    Int(i128),
    /// A binary64: a number in whose order floats are, and its bits.
    Float(u64, u64),
    /// An address.
    Address(u64),
    /// A text.
    Word(String),
    /// A recording: its place among the recordings, and its name.
    Recording(usize, String),
    /// A source line: path and number.
    Line(String, u32),
    /// A site: path and line, if known, and the instruction.
    Site(String, u32, String),
}

/// Something that a program could not be told at some places.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Missed {
    /// Tables that lack it, by name.
    pub tables: Vec<String>,
    /// What and where, in a sentence.
    pub what: String,
}

impl Tallies {
    /// Gathers what is in recordings, each under a name that tells it from the others.
    pub fn of(recordings: &[(String, &Trace)]) -> Tallies {
        let mut kept = Tallies::default();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (recording, (_, trace)) in recordings.iter().enumerate() {
            for (m, module) in trace.modules.iter().enumerate() {
                for file in &module.files {
                    if let Some(text) = &file.text {
                        kept.sources.entry(file.path.clone()).or_insert_with(|| text.clone());
                    }
                }
                for (t, table) in module.tables.iter().enumerate() {
                    let own = |tally: &&TableContents| tally.module.index() == m && tally.table as usize == t;
                    let group = groups.iter().position(|g| g.takes(table)).unwrap_or_else(|| {
                        groups.push(Group { table, parts: Vec::new() });
                        groups.len() - 1
                    });
                    let parts = trace.tallies.iter().filter(own).map(|tally| Part {
                        recording,
                        module,
                        table,
                        tally,
                    });
                    groups[group].parts.extend(parts);
                }
            }
        }
        kept.tables = groups.iter().map(|g| g.merged(recordings)).collect();
        kept
    }

    /// Values that found no room, in all tables. Records that were not kept are not among them: the program asked for no more.
    pub fn lost(&self) -> u64 {
        let tables = self.tables.iter().filter(|t| !t.is_records());
        tables.fold(0, |n, t| n.saturating_add(t.lost))
    }

    /// The text of a line, without the blanks around it, if it is known.
    fn source(&self, path: &str, line: u32) -> Option<&str> {
        let text = self.sources.get(path)?;
        text.lines().nth((line as usize).checked_sub(1)?).map(str::trim).filter(|l| !l.is_empty())
    }

    /// What a table lacks.
    fn missed_of<'a>(&'a self, table: &'a Table) -> impl Iterator<Item = &'a str> {
        self.missed.iter().filter(|m| m.tables.contains(&table.name)).map(|m| m.what.as_str())
    }
}

/// Tables of recordings that are one.
struct Group<'a> {
    table: &'a table::Table,
    parts: Vec<Part<'a>>,
}

struct Part<'a> {
    recording: usize,
    module: &'a Module,
    table: &'a table::Table,
    tally: &'a TableContents,
}

impl Group<'_> {
    fn takes(&self, other: &table::Table) -> bool {
        let kinds = |t: &table::Table| t.keys.iter().map(|k| k.shown).collect::<Vec<_>>();
        let names = |t: &table::Table| t.values.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        let of = self.table;
        (&of.name, of.aggregate, kinds(of), names(of))
            == (&other.name, other.aggregate, kinds(other), names(other))
    }

    fn merged(&self, recordings: &[(String, &Trace)]) -> Table {
        let aggregate = self.table.aggregate;
        let record = matches!(aggregate, Aggregate::Record { .. });
        let mut values = self.table.values.clone();
        for (i, value) in values.iter_mut().enumerate() {
            let each = self.parts.iter().filter_map(|p| p.table.values.get(i)).map(|v| wide(v.ty));
            value.ty = each.reduce(wider).unwrap_or_else(|| wide(value.ty));
        }
        // Records of several launches stay apart; so do those of several recordings.
        let several = |of: &dyn Fn(&Part<'_>) -> u64| {
            record && self.parts.iter().map(of).collect::<BTreeSet<u64>>().len() > 1
        };
        let launch = |p: &Part<'_>| p.tally.launches.map_or(0, |l| l.0);
        let of_recordings = several(&|p| p.recording as u64);
        let of_launches = several(&launch);
        let mut keys = self.table.keys.clone();
        // A text as it stands in the program is one of several that the key can be.
        keys.iter_mut().filter(|k| k.name.starts_with('"')).for_each(|k| k.name = "text".to_owned());
        let key = |name: &str, shown| Field { name: name.to_owned(), ty: Scalar::U64, shown };
        if of_launches {
            keys.insert(0, key("launch", Shown::Number));
        }
        if of_recordings {
            keys.insert(0, key("recording", Shown::Word));
        }
        let mut rows: BTreeMap<Vec<Key>, Vec<u64>> = BTreeMap::new();
        let mut lost = 0u64;
        for part in &self.parts {
            lost = lost.saturating_add(part.tally.lost);
            for row in &part.tally.rows {
                let mut at = Vec::with_capacity(keys.len());
                if of_recordings {
                    let name = recordings.get(part.recording).map(|r| r.0.clone());
                    at.push(Key::Recording(part.recording, name.unwrap_or_default()));
                }
                if of_launches {
                    at.push(Key::Int(launch(part).into()));
                }
                at.extend(
                    row.key.iter().zip(&part.table.keys).map(|(bits, field)| Key::of(*bits, field, part)),
                );
                let mut cells = row.cells.clone();
                for (i, (to, from)) in values.iter().zip(&part.table.values).enumerate() {
                    if let Some(cell) = value_cell(aggregate, i).and_then(|c| cells.get_mut(c)) {
                        *cell = converted(*cell, wide(from.ty), to.ty);
                    }
                }
                match rows.get_mut(&at) {
                    Some(into) => aggregate.merge(into, &cells, values.first().map_or(Scalar::U64, |v| v.ty)),
                    None => drop(rows.insert(at, cells)),
                }
            }
        }
        let rows = rows.into_iter().map(|(keys, cells)| Row { keys, cells }).collect();
        let mut table = Table { name: self.table.name.clone(), keys, aggregate, values, rows, lost };
        table.sort();
        table
    }
}

/// Which cell holds value `i`, if one does.
fn value_cell(aggregate: Aggregate, i: usize) -> Option<usize> {
    match aggregate {
        Aggregate::Sum => Some(0),
        Aggregate::Min | Aggregate::Max | Aggregate::Avg => Some(1),
        Aggregate::Record { .. } => Some(i),
        Aggregate::Count | Aggregate::Hist | Aggregate::Lhist { .. } => None,
    }
}

/// The type of 64 bits in which rows have values of a type.
fn wide(ty: Scalar) -> Scalar {
    match ty {
        Scalar::F64 | Scalar::F32 => Scalar::F64,
        ty if ty.signed() => Scalar::S64,
        _ => Scalar::U64,
    }
}

fn wider(a: Scalar, b: Scalar) -> Scalar {
    match (a, b) {
        (Scalar::F64, _) | (_, Scalar::F64) => Scalar::F64,
        (Scalar::S64, _) | (_, Scalar::S64) => Scalar::S64,
        _ => Scalar::U64,
    }
}

fn converted(bits: u64, from: Scalar, to: Scalar) -> u64 {
    match (from, to) {
        (Scalar::U64, Scalar::F64) => (bits as f64).to_bits(),
        (Scalar::S64, Scalar::F64) => (bits.cast_signed() as f64).to_bits(),
        _ => bits,
    }
}

impl Key {
    fn of(bits: u64, field: &Field, part: &Part<'_>) -> Key {
        let place = |loc: Option<&prlx_trace::kernel::Loc>| {
            let loc = loc?;
            Some((part.module.files.get(loc.file.index())?.path.clone(), loc.line))
        };
        let index = usize::try_from(bits).unwrap_or(usize::MAX);
        match field.shown {
            Shown::Number if wide(field.ty) == Scalar::F64 => Key::Float(ordered(bits, Scalar::F64), bits),
            Shown::Number if field.ty.signed() => Key::Int(bits.cast_signed().into()),
            Shown::Number => Key::Int(bits.into()),
            Shown::Address => Key::Address(bits),
            Shown::Word => Key::Word(part.table.words.get(index).cloned().unwrap_or_default()),
            Shown::Line => match place(part.module.locs.get(index)) {
                Some((path, line)) => Key::Line(path, line),
                None => Key::Word("no line".to_owned()),
            },
            Shown::Site => {
                let site = part.module.sites.get(index);
                let loc = site.and_then(|s| s.loc).and_then(|l| part.module.locs.get(l.index()));
                let (path, line) = place(loc).unwrap_or_default();
                Key::Site(path, line, site.map(|s| s.text.clone()).unwrap_or_default())
            }
        }
    }

    /// Whether it stands at the right of its column.
    fn is_number(&self) -> bool {
        matches!(self, Key::Int(_) | Key::Float(..) | Key::Address(_))
    }
}

impl Table {
    /// Whether it holds records, as they were saved.
    pub fn is_records(&self) -> bool {
        matches!(self.aggregate, Aggregate::Record { .. })
    }

    /// Whether its rows are histograms.
    pub fn is_histogram(&self) -> bool {
        matches!(self.aggregate, Aggregate::Hist | Aggregate::Lhist { .. })
    }

    /// The type of what is aggregated, of 64 bits.
    fn ty(&self) -> Scalar {
        self.values.first().map_or(Scalar::U64, |v| v.ty)
    }

    fn sort(&mut self) {
        let ty = self.ty();
        let float = |x: f64| ordered(x.to_bits(), Scalar::F64);
        let rank = |row: &Row| match (self.aggregate, row.cells.as_slice()) {
            (Aggregate::Count, [n]) => !*n,
            (Aggregate::Sum, [sum]) => !ordered(*sum, ty),
            (Aggregate::Max, [_, value]) => !ordered(*value, ty),
            (Aggregate::Min, [_, value]) => ordered(*value, ty),
            (Aggregate::Avg, [n, sum]) => !float(mean(*n, *sum, ty)),
            _ => 0,
        };
        self.rows.sort_by_cached_key(rank);
    }

    /// Rows but the first `top`, as one.
    fn rest(&self, top: usize) -> Option<(usize, Vec<u64>)> {
        let rest = self.rows.get(top..).filter(|r| !r.is_empty())?;
        let mut sum = vec![0; rest[0].cells.len()];
        rest.iter().for_each(|r| self.aggregate.merge(&mut sum, &r.cells, self.ty()));
        Some((rest.len(), sum))
    }

    /// What all rows add up to, if they are counts or sums.
    fn total(&self) -> Option<u64> {
        let adds = matches!(self.aggregate, Aggregate::Count | Aggregate::Sum);
        adds.then(|| self.rest(0)).flatten().and_then(|(_, cells)| cells.first().copied())
    }

    /// A row's part of all, from 0 to 1: of counts, and of sums without a sign.
    fn share(&self, row: &Row, total: Option<u64>) -> Option<f64> {
        let positive = self.aggregate == Aggregate::Count || self.ty() == Scalar::U64;
        let total = total.filter(|t| *t > 0 && positive)?;
        Some(*row.cells.first()? as f64 / total as f64)
    }

    /// `@bytes[line]`.
    fn heading(&self) -> String {
        let keys: Vec<&str> = self.keys.iter().map(|k| k.name.as_str()).collect();
        match keys.as_slice() {
            _ if self.is_records() => format!("@{}", self.name),
            [] => format!("@{}", self.name),
            keys => format!("@{}[{}]", self.name, keys.join(", ")),
        }
    }

    /// How values came together, in a word or two; with the unit that its name speaks of.
    fn what(&self) -> String {
        let word = match self.aggregate {
            Aggregate::Count => "count".to_owned(),
            Aggregate::Sum => "sum".to_owned(),
            Aggregate::Min => "minimum".to_owned(),
            Aggregate::Max => "maximum".to_owned(),
            Aggregate::Avg => "mean".to_owned(),
            Aggregate::Hist | Aggregate::Lhist { .. } => "histogram".to_owned(),
            Aggregate::Record { keep: 0, .. } => "records".to_owned(),
            Aggregate::Record { keep, last } => {
                let of = self.keys.iter().rev().nth(1).map_or("holder", |k| k.name.as_str());
                let which = if last { "last" } else { "first" };
                let many = if keep == 1 { String::new() } else { format!(" {}", number(keep.into())) };
                format!("records, the {which}{many} of each {of}")
            }
        };
        match self.unit() {
            Some(unit) if !matches!(self.aggregate, Aggregate::Count | Aggregate::Record { .. }) => {
                format!("{word} of {unit}")
            }
            _ => word,
        }
    }

    /// The unit that its name speaks of.
    fn unit(&self) -> Option<&'static str> {
        unit(&self.name)
    }

    /// Names of a row's columns behind its keys; of a histogram none.
    fn columns(&self) -> Vec<String> {
        let own = |word: &str| match self.unit() {
            Some(unit) if word == "sum" => unit.to_owned(),
            Some(unit) => format!("{word} {unit}"),
            None => word.to_owned(),
        };
        match self.aggregate {
            Aggregate::Count => vec!["count".to_owned()],
            Aggregate::Sum => vec![own("sum")],
            Aggregate::Min => vec![own("minimum"), "values".to_owned()],
            Aggregate::Max => vec![own("maximum"), "values".to_owned()],
            Aggregate::Avg => vec![own("mean"), "values".to_owned()],
            Aggregate::Hist | Aggregate::Lhist { .. } => Vec::new(),
            Aggregate::Record { .. } => self.values.iter().map(|v| v.name.clone()).collect(),
        }
    }

    /// What stands in them.
    fn cells(&self, cells: &[u64]) -> Vec<String> {
        let ty = self.ty();
        match (self.aggregate, cells) {
            (Aggregate::Count, [n]) => vec![number(*n)],
            (Aggregate::Sum, [sum]) => vec![value(*sum, ty)],
            (Aggregate::Min | Aggregate::Max, [n, least]) => vec![value(*least, ty), number(*n)],
            (Aggregate::Avg, [n, sum]) => vec![decimal(mean(*n, *sum, ty)), number(*n)],
            (Aggregate::Record { .. }, cells) => {
                cells.iter().zip(&self.values).map(|(bits, field)| field_value(*bits, field)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// A histogram's buckets from its first that holds something to its last: low bound, high bound (neither if there is
    /// none), how many values.
    fn buckets(&self, cells: &[u64]) -> Vec<Bucket> {
        let last = cells.len().saturating_sub(1);
        let bounds = |i: usize| match self.aggregate {
            Aggregate::Lhist { low, step, .. } => {
                let at = |i: usize| i128::from(low) + i as i128 * i128::from(step);
                (i.checked_sub(1).map(at), (i < last).then(|| at(i)))
            }
            _ => match i {
                0 => (None, Some(0)),
                1 => (Some(0), Some(1)),
                _ => (Some(1 << (i - 2)), Some(1 << (i - 1))),
            },
        };
        let first = cells.iter().position(|n| *n > 0);
        let Some((first, end)) = first.zip(cells.iter().rposition(|n| *n > 0)) else { return Vec::new() };
        (first..=end)
            .map(|i| {
                let (low, high) = bounds(i);
                Bucket { low, high, count: cells[i] }
            })
            .collect()
    }
}

/// A bucket of a histogram: values from `low` on and below `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bucket {
    low: Option<i128>,
    high: Option<i128>,
    count: u64,
}

impl Bucket {
    fn label(&self) -> String {
        match (self.low, self.high) {
            (Some(low), Some(high)) if low + 1 == high => format!("[{}]", short(low)),
            (Some(low), Some(high)) => format!("[{}, {})", short(low), short(high)),
            (Some(low), None) => format!("[{}, ...)", short(low)),
            (None, Some(high)) => format!("(..., {})", short(high)),
            (None, None) => String::new(),
        }
    }
}

/// A bound: powers of two as `4K`, `2M`.
fn short(n: i128) -> String {
    let mut rest = n;
    for unit in ["", "K", "M", "G", "T", "P", "E"] {
        if rest % 1024 != 0 || rest == 0 || unit == "E" {
            return format!("{rest}{unit}");
        }
        rest /= 1024;
    }
    rest.to_string()
}

/// The unit that a name speaks of.
fn unit(name: &str) -> Option<&'static str> {
    let words: Vec<&str> = name.split('_').collect();
    ["bytes", "cycles", "flops", "ns", "us", "ms"].into_iter().find(|unit| words.contains(unit))
}

/// A mean.
fn mean(n: u64, sum: u64, ty: Scalar) -> f64 {
    let sum = match ty {
        Scalar::F64 => f64::from_bits(sum),
        Scalar::S64 => sum.cast_signed() as f64,
        _ => sum as f64,
    };
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// A value of a row, of a type of 64 bits.
fn value(bits: u64, ty: Scalar) -> String {
    match ty {
        Scalar::F64 => float(f64::from_bits(bits)),
        Scalar::S64 => signed(bits.cast_signed()),
        _ => number(bits),
    }
}

fn signed(n: i64) -> String {
    format!("{}{}", if n < 0 { "-" } else { "" }, number(n.unsigned_abs()))
}

/// A record's field; addresses are hexadecimal.
fn field_value(bits: u64, field: &Field) -> String {
    match field.shown {
        Shown::Address => format!("{bits:#x}"),
        _ => value(bits, field.ty),
    }
}

/// A float, as short as it can be told from others.
fn float(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !x.is_finite() || (1e-4..1e15).contains(&size) { format!("{x}") } else { format!("{x:e}") }
}

/// A mean, with three digits behind the point at most.
fn decimal(x: f64) -> String {
    if !x.is_finite() || x.abs() >= 1e15 || (x != 0.0 && x.abs() < 0.01) {
        return float(x);
    }
    let thousandths = (x.abs() * 1000.0).round() as u64;
    let sign = if x < 0.0 { "-" } else { "" };
    let text = format!("{sign}{}.{:03}", number(thousandths / 1000), thousandths % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Which paths are shown whole: those whose last names are the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn of(kept: &Tallies) -> Names {
        let mut paths: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for key in kept.tables.iter().flat_map(|t| &t.rows).flat_map(|r| &r.keys) {
            if let Key::Line(path, _) | Key::Site(path, ..) = key {
                paths.entry(last_name(path)).or_default().insert(path);
            }
        }
        let double = paths.into_values().filter(|p| p.len() > 1).flatten();
        Names(double.map(str::to_owned).collect())
    }

    fn path<'a>(&self, path: &'a str) -> &'a str {
        if self.0.contains(path) { path } else { last_name(path) }
    }

    /// A key, as it is read.
    fn key(&self, key: &Key) -> String {
        match key {
            Key::Int(n) => n.to_string(),
            Key::Float(_, bits) => float(f64::from_bits(*bits)),
            Key::Address(at) => format!("{at:#x}"),
            Key::Word(text) | Key::Recording(_, text) => text.clone(),
            Key::Line(path, line) => format!("{}:{line}", self.path(path)),
            Key::Site(_, 0, text) => text.clone(),
            Key::Site(path, line, text) => format!("{}:{line} {text}", self.path(path)),
        }
    }
}

fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
