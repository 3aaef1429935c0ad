//! Tables: their columns, their cells, and rows in batches.

use std::io;

/// Most rows of a batch.
pub const ROWS: usize = 1 << 16;

/// What a column holds; every cell may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// Numbers of 64 bits, without sign.
    Number,
    /// Numbers of 64 bits, with one.
    Signed,
    /// Floats of 64 bits.
    Float,
    /// Yes or no.
    Flag,
    /// Texts.
    Text,
}

/// A cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// Missing.
    None,
    /// A number.
    Number(u64),
    /// A number with a sign.
    Signed(i64),
    /// A float: its bits.
    Float(u64),
    /// Yes or no.
    Flag(bool),
    /// A text.
    Text(String),
}

impl Cell {
    /// As text; a missing one is empty.
    pub fn plain(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Number(n) => n.to_string(),
            Cell::Signed(n) => n.to_string(),
            Cell::Float(bits) => f64::from_bits(*bits).to_string(),
            Cell::Flag(yes) => yes.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }
    /// As text in CSV (RFC 4180).
    pub fn csv(&self) -> String {
        let plain = self.plain();
        match plain.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", plain.replace('"', "\"\"")),
            false => plain,
        }
    }
}

impl From<u64> for Cell {
    fn from(n: u64) -> Cell {
        Cell::Number(n)
    }
}
impl From<u32> for Cell {
    fn from(n: u32) -> Cell {
        Cell::Number(n.into())
    }
}
impl From<bool> for Cell {
    fn from(yes: bool) -> Cell {
        Cell::Flag(yes)
    }
}
impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::None, Into::into)
    }
}

/// A table: its name, and its columns with what they mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSchema {
    /// What it is called.
    pub name: &'static str,
    /// Name, kind and meaning of each column.
    pub columns: &'static [(&'static str, ColumnKind, &'static str)],
}

/// RowBatcher of a table, by column.
pub type Batch = Vec<Vec<Cell>>;

/// Takes rows of a table.
pub type Sink<'a> = dyn FnMut(&TableSchema, Batch) -> io::Result<()> + 'a;

/// RowBatcher of a table in the making.
pub(super) struct RowBatcher<'a, 's> {
    table: &'static TableSchema,
    columns: Batch,
    sink: &'a mut Sink<'s>,
}

impl<'a, 's> RowBatcher<'a, 's> {
    pub(super) fn new(table: &'static TableSchema, sink: &'a mut Sink<'s>) -> RowBatcher<'a, 's> {
        RowBatcher { table, columns: vec![Vec::new(); table.columns.len()], sink }
    }
    pub(super) fn push<const N: usize>(&mut self, row: [Cell; N]) -> io::Result<()> {
        self.columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        if self.columns[0].len() >= ROWS { self.flush() } else { Ok(()) }
    }
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let empty = vec![Vec::new(); self.table.columns.len()];
        let full = std::mem::replace(&mut self.columns, empty);
        if full[0].is_empty() { Ok(()) } else { (self.sink)(self.table, full) }
    }
}
