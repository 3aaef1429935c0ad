//! Tables of tallies: their rows, and how these are sorted, summed and printed.

use std::collections::BTreeMap;

use prlx_trace::device::tables::ordered;
use prlx_trace::kernel::Scalar;
use prlx_trace::table::{Aggregate, Field, Shown};

use crate::format::{count, number};

/// The tables that probe programs filled, over one or more recordings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tallies {
    /// Tables and records, in the order of the program.
    pub tables: Vec<TallyTable>,
    /// Source files that keys refer to, by path.
    pub sources: BTreeMap<String, String>,
    /// What was not available to the program, and where.
    pub missed: Vec<Unavailable>,
}

/// A table, merged over all recordings.
#[derive(Clone, PartialEq, Debug)]
pub struct TallyTable {
    /// Name without `@`; may be empty.
    pub name: String,
    /// The keys of the rows.
    pub keys: Vec<Field>,
    /// How values are aggregated.
    pub aggregate: Aggregate,
    /// The aggregated values; for records, their fields.
    pub values: Vec<Field>,
    /// By value, greatest first; those of least values by value too, least first; histograms and records by
    /// key.
    pub rows: Vec<TallyRow>,
    /// Number of values that did not fit, or of records that were discarded.
    pub lost: u64,
}

/// A row of a merged table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TallyRow {
    /// One key for each of the table's keys.
    pub keys: Vec<TallyKey>,
    /// The cells, as [`Aggregate::cells`] defines them.
    pub cells: Vec<u64>,
}

/// A key. Keys are ordered as rows are shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TallyKey {
    /// An integer key.
    Int(i128),
    /// A float: an integer that sorts like it, and its bits.
    Float(u64, u64),
    /// A memory address.
    Address(u64),
    /// A number that text shows in hexadecimal.
    Hex(u64),
    /// A string of the program.
    Word(String),
    /// A recording: its index and its name.
    Recording(usize, String),
    /// A source line: path and number.
    Line(String, u32),
    /// A site: path and line, if known, and the instruction.
    Site(String, u32, String),
}

/// A value that was not available to the program at some places.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unavailable {
    /// Names of the tables that lack it.
    pub tables: Vec<String>,
    /// What is missing and where, in one sentence.
    pub what: String,
}

impl Tallies {
    /// Number of values that did not fit, over all tables. Discarded records do not count: the program limits
    /// them.
    pub fn lost(&self) -> u64 {
        let tables = self.tables.iter().filter(|t| !t.is_records());
        tables.fold(0, |n, t| n.saturating_add(t.lost))
    }

    /// The trimmed text of a source line, if it is known.
    pub(super) fn source(&self, path: &str, line: u32) -> Option<&str> {
        let text = self.sources.get(path)?;
        text.lines().nth((line as usize).checked_sub(1)?).map(str::trim).filter(|l| !l.is_empty())
    }

    /// The trimmed text of the source line that is one of a row's keys.
    pub(super) fn source_of(&self, keys: &[TallyKey]) -> Option<&str> {
        keys.iter().find_map(|key| match key {
            TallyKey::Line(path, line) => self.source(path, *line),
            _ => None,
        })
    }

    /// The sentences about what a table lacks.
    pub(super) fn unavailable_for<'a>(&'a self, table: &'a TallyTable) -> impl Iterator<Item = &'a str> {
        self.missed.iter().filter(|m| m.tables.contains(&table.name)).map(|m| m.what.as_str())
    }
}

impl TallyKey {
    /// Whether the key is aligned to the right.
    pub(super) fn is_number(&self) -> bool {
        matches!(self, TallyKey::Int(_) | TallyKey::Float(..) | TallyKey::Address(_) | TallyKey::Hex(_))
    }
}

impl TallyTable {
    /// Whether it holds records, as they were saved.
    pub fn is_records(&self) -> bool {
        matches!(self.aggregate, Aggregate::Record { .. })
    }

    /// Whether its rows are histograms.
    pub fn is_histogram(&self) -> bool {
        matches!(self.aggregate, Aggregate::Hist | Aggregate::Lhist { .. })
    }

    /// The type of what is aggregated, of 64 bits.
    pub(super) fn ty(&self) -> Scalar {
        self.values.first().map_or(Scalar::U64, |v| v.ty)
    }

    pub(super) fn sort(&mut self) {
        let ty = self.ty();
        let float = |x: f64| ordered(x.to_bits(), Scalar::F64);
        let rank = |row: &TallyRow| match (self.aggregate, row.cells.as_slice()) {
            (Aggregate::Count, [n]) => !*n,
            (Aggregate::Sum, [sum]) => !ordered(*sum, ty),
            (Aggregate::Max, [_, value]) => !ordered(*value, ty),
            (Aggregate::Min, [_, value]) => ordered(*value, ty),
            (Aggregate::Avg, [n, sum]) => !float(mean(*n, *sum, ty)),
            _ => 0,
        };
        self.rows.sort_by_cached_key(rank);
    }

    /// The rows after the first `top`, merged into one.
    pub(super) fn rest(&self, top: usize) -> Option<(usize, Vec<u64>)> {
        let rest = self.rows.get(top..).filter(|r| !r.is_empty())?;
        let mut sum = vec![0; rest[0].cells.len()];
        rest.iter().for_each(|r| self.aggregate.merge(&mut sum, &r.cells, self.ty()));
        Some((rest.len(), sum))
    }

    /// The total of all rows, if they are counts or sums.
    pub(super) fn total(&self) -> Option<u64> {
        let adds = matches!(self.aggregate, Aggregate::Count | Aggregate::Sum);
        adds.then(|| self.rest(0)).flatten().and_then(|(_, cells)| cells.first().copied())
    }

    /// A row's share of the total, from 0 to 1, for counts and unsigned sums of several rows.
    pub(super) fn share(&self, row: &TallyRow, total: Option<u64>) -> Option<f64> {
        let positive = self.aggregate == Aggregate::Count || self.ty() == Scalar::U64;
        let total = total.filter(|t| *t > 0 && positive && self.rows.len() > 1)?;
        Some(*row.cells.first()? as f64 / total as f64)
    }

    /// `@bytes[line]`.
    pub(super) fn heading(&self) -> String {
        let keys: Vec<&str> = self.keys.iter().map(|k| k.name.as_str()).collect();
        match keys.as_slice() {
            _ if self.is_records() => format!("@{}", self.name),
            [] => format!("@{}", self.name),
            keys => format!("@{}[{}]", self.name, keys.join(", ")),
        }
    }

    /// The aggregate in words, with the unit that the name contains.
    pub(super) fn what(&self) -> String {
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

    /// The unit in the table's name.
    pub(super) fn unit(&self) -> Option<&'static str> {
        unit(&self.name)
    }

    /// Headings of the value columns; none for a histogram.
    pub(super) fn columns(&self) -> Vec<String> {
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

    /// The value columns of a row as text.
    pub(super) fn cells(&self, cells: &[u64]) -> Vec<String> {
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

    /// A histogram's buckets from its first that holds something to its last: low bound, high bound (neither
    /// if there is none), how many values.
    pub(super) fn buckets(&self, cells: &[u64]) -> Vec<Bucket> {
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
pub(super) struct Bucket {
    pub(super) low: Option<i128>,
    pub(super) high: Option<i128>,
    pub(super) count: u64,
}

impl Bucket {
    pub(super) fn label(&self) -> String {
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
pub(super) fn short(n: i128) -> String {
    let mut rest = n;
    for unit in ["", "K", "M", "G", "T", "P", "E"] {
        if rest % 1024 != 0 || rest == 0 || unit == "E" {
            return format!("{rest}{unit}");
        }
        rest /= 1024;
    }
    rest.to_string()
}

/// The unit that is a word of a name.
pub(super) fn unit(name: &str) -> Option<&'static str> {
    let words: Vec<&str> = name.split('_').collect();
    ["bytes", "cycles", "flops", "ns", "us", "ms"].into_iter().find(|unit| words.contains(unit))
}

/// The mean of `n` values whose sum has the bits `sum`, as a value of type `ty`.
pub(super) fn mean(n: u64, sum: u64, ty: Scalar) -> f64 {
    let sum = match ty {
        Scalar::F64 => f64::from_bits(sum),
        Scalar::S64 => sum.cast_signed() as f64,
        _ => sum as f64,
    };
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// A value of a row, of a type of 64 bits.
pub(super) fn value(bits: u64, ty: Scalar) -> String {
    match ty {
        Scalar::F64 => float(f64::from_bits(bits)),
        Scalar::S64 => signed(bits.cast_signed()),
        _ => number(bits),
    }
}

pub(super) fn signed(n: i64) -> String {
    format!("{}{}", if n < 0 { "-" } else { "" }, number(n.unsigned_abs()))
}

/// A record's field; addresses and masks are hexadecimal.
pub(super) fn field_value(bits: u64, field: &Field) -> String {
    match field.shown {
        Shown::Address | Shown::Hex => format!("{bits:#x}"),
        _ => value(bits, field.ty),
    }
}

/// A float, as short as it can be told from others.
pub(super) fn float(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !x.is_finite() || (1e-4..1e15).contains(&size) { format!("{x}") } else { format!("{x:e}") }
}

/// A mean, with three digits behind the point at most.
pub(super) fn decimal(x: f64) -> String {
    if !x.is_finite() || x.abs() >= 1e15 || (x != 0.0 && x.abs() < 0.01) {
        return float(x);
    }
    let thousandths = (x.abs() * 1000.0).round() as u64;
    let sign = if x < 0.0 { "-" } else { "" };
    let text = format!("{sign}{}.{:03}", number(thousandths / 1000), thousandths % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The type of 64 bits in which rows have values of a type.
pub(super) fn wide(ty: Scalar) -> Scalar {
    match ty {
        Scalar::F64 | Scalar::F32 => Scalar::F64,
        ty if ty.signed() => Scalar::S64,
        _ => Scalar::U64,
    }
}

/// The notes below a table: values that did not fit, and what it lacks.
pub(super) fn below(tallies: &Tallies, table: &TallyTable) -> Vec<String> {
    let mut said = Vec::new();
    if table.lost > 0 && table.is_records() {
        said.push(format!("{} discarded", count(table.lost, "further record was", "further records were")));
    } else if table.lost > 0 {
        let values = count(table.lost, "value", "values");
        said.push(format!("{values} did not fit: rows are missing or too low"));
    }
    said.extend(tallies.unavailable_for(table).map(str::to_owned));
    said
}
