//! A table of tallies as columns of cells, for CSV and Parquet. `docs/tallies.md` describes the columns.
//!
//! # Invariants
//! Column names are unique. All cells of a column have its kind or are missing. A key that is a number in one
//! module and text in another becomes text.

use prlx_trace::kernel::Scalar;
use prlx_trace::table::{Aggregate, Shown};

use super::model::{TallyKey, TallyRow, TallyTable, mean, wide};
use crate::tables::{Batch, Cell, ColumnKind};

/// A table's columns and their cells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlatTable {
    /// Name and type of each column.
    pub columns: Vec<(String, ColumnKind)>,
    /// Cells, by column.
    pub cells: Batch,
}

impl TallyTable {
    /// Its columns: of keys, then of values; a row for each of its own, of a histogram one for each bucket.
    pub fn flat(&self) -> FlatTable {
        let mut flat = FlatTable::default();
        for (name, kind) in self.flat_columns() {
            let mut name = name;
            while flat.columns.iter().any(|c| c.0 == name) {
                name.push('_');
            }
            flat.columns.push((name, kind));
            flat.cells.push(Vec::new());
        }
        for row in &self.rows {
            let keys: Vec<Cell> =
                row.keys.iter().zip(&self.keys).flat_map(|(k, f)| key(k, f.shown)).collect();
            for values in self.values_of(row) {
                let all = keys.iter().cloned().chain(values);
                flat.cells.iter_mut().zip(all).for_each(|(column, cell)| column.push(cell));
            }
        }
        for (column, cells) in flat.columns.iter_mut().zip(&mut flat.cells) {
            column.1 = settle(cells, column.1);
        }
        flat
    }

    fn flat_columns(&self) -> Vec<(String, ColumnKind)> {
        let mut all = Vec::new();
        for key in &self.keys {
            match key.shown {
                Shown::Line | Shown::Site => {
                    all.extend([
                        ("file".to_owned(), ColumnKind::Text),
                        ("line".to_owned(), ColumnKind::Number),
                    ]);
                    if key.shown == Shown::Site {
                        all.push(("instruction".to_owned(), ColumnKind::Text));
                    }
                }
                Shown::Word | Shown::Address => all.push((key.name.clone(), ColumnKind::Text)),
                Shown::Number | Shown::Hex => all.push((key.name.clone(), kind(key.ty))),
            }
        }
        let ty = kind(self.ty());
        let own: &[(&str, ColumnKind)] = match self.aggregate {
            Aggregate::Count => &[("count", ColumnKind::Number)],
            Aggregate::Sum => &[("sum", ty)],
            Aggregate::Min => &[("min", ty), ("count", ColumnKind::Number)],
            Aggregate::Max => &[("max", ty), ("count", ColumnKind::Number)],
            Aggregate::Avg => &[("avg", ColumnKind::Float), ("sum", ty), ("count", ColumnKind::Number)],
            Aggregate::Hist | Aggregate::Lhist { .. } => {
                &[("low", ty), ("high", ty), ("count", ColumnKind::Number)]
            }
            Aggregate::Record { .. } => &[],
        };
        all.extend(own.iter().map(|(name, kind)| ((*name).to_owned(), *kind)));
        if self.is_records() {
            all.extend(self.values.iter().map(|v| (v.name.clone(), kind(v.ty))));
        }
        all
    }

    /// The values of a row, or of each of its buckets.
    fn values_of(&self, row: &TallyRow) -> Vec<Vec<Cell>> {
        let ty = self.ty();
        match (self.aggregate, row.cells.as_slice()) {
            (Aggregate::Min | Aggregate::Max, [n, value]) => vec![vec![number(*value, ty), Cell::Number(*n)]],
            (Aggregate::Avg, [n, sum]) => {
                vec![vec![Cell::Float(mean(*n, *sum, ty).to_bits()), number(*sum, ty), Cell::Number(*n)]]
            }
            (Aggregate::Hist | Aggregate::Lhist { .. }, cells) => {
                let bound = |n: Option<i128>| n.map_or(Cell::None, integer);
                let buckets = self.buckets(cells).into_iter();
                buckets.map(|b| vec![bound(b.low), bound(b.high), Cell::Number(b.count)]).collect()
            }
            (Aggregate::Record { .. }, cells) => {
                vec![cells.iter().zip(&self.values).map(|(bits, field)| number(*bits, field.ty)).collect()]
            }
            (_, cells) => vec![cells.iter().map(|c| number(*c, ty)).collect()],
        }
    }
}

fn key(key: &TallyKey, shown: Shown) -> Vec<Cell> {
    match key {
        TallyKey::Int(n) => vec![integer(*n)],
        TallyKey::Hex(n) => vec![Cell::Number(*n)],
        TallyKey::Float(_, bits) => vec![Cell::Float(*bits)],
        TallyKey::Address(at) => vec![Cell::Text(format!("{at:#x}"))],
        TallyKey::Word(text) if shown == Shown::Line => vec![Cell::Text(text.clone()), Cell::None],
        TallyKey::Word(text) if shown == Shown::Site => {
            vec![Cell::None, Cell::None, Cell::Text(text.clone())]
        }
        TallyKey::Word(text) | TallyKey::Recording(_, text) => vec![Cell::Text(text.clone())],
        TallyKey::Line(path, line) => vec![Cell::Text(path.clone()), Cell::Number((*line).into())],
        TallyKey::Site(path, line, text) if shown != Shown::Site => {
            vec![Cell::Text(format!("{path}:{line} {text}"))]
        }
        TallyKey::Site(path, line, text) => {
            vec![Cell::Text(path.clone()), Cell::Number((*line).into()), Cell::Text(text.clone())]
        }
    }
}

/// What 64 bits of a type are.
fn kind(ty: Scalar) -> ColumnKind {
    match wide(ty) {
        Scalar::F64 => ColumnKind::Float,
        Scalar::S64 => ColumnKind::Signed,
        _ => ColumnKind::Number,
    }
}

fn number(bits: u64, ty: Scalar) -> Cell {
    match kind(ty) {
        ColumnKind::Float => Cell::Float(bits),
        ColumnKind::Signed => Cell::Signed(bits.cast_signed()),
        _ => Cell::Number(bits),
    }
}

/// Missing, if it has more than 64 bits: the end of what integers can be.
fn integer(n: i128) -> Cell {
    let signed = || i64::try_from(n).map_or(Cell::None, Cell::Signed);
    u64::try_from(n).map_or_else(|_| signed(), Cell::Number)
}

/// Brings cells to the kind that is wanted, or else to one that all of them can have.
fn settle(cells: &mut [Cell], wanted: ColumnKind) -> ColumnKind {
    for kind in [wanted, ColumnKind::Number, ColumnKind::Signed] {
        if cells.iter().all(|c| converted(c, kind).is_some()) {
            cells.iter_mut().for_each(|c| *c = converted(c, kind).unwrap_or(Cell::None));
            return kind;
        }
    }
    cells.iter_mut().filter(|c| **c != Cell::None).for_each(|c| *c = Cell::Text(c.plain()));
    ColumnKind::Text
}

/// The same in another kind, if it is the same there.
fn converted(cell: &Cell, kind: ColumnKind) -> Option<Cell> {
    match (cell, kind) {
        (Cell::None, _) => Some(Cell::None),
        (Cell::Number(n), ColumnKind::Signed) => i64::try_from(*n).ok().map(Cell::Signed),
        (Cell::Signed(n), ColumnKind::Number) => u64::try_from(*n).ok().map(Cell::Number),
        (Cell::Number(_), ColumnKind::Number)
        | (Cell::Signed(_), ColumnKind::Signed)
        | (Cell::Float(_), ColumnKind::Float)
        | (Cell::Text(_), ColumnKind::Text) => Some(cell.clone()),
        _ => None,
    }
}
