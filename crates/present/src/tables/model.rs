//! Tables: their columns, their cells, and rows in batches.

use std::io;

/// Most rows of a batch.
pub const ROWS: usize = 1 << 16;

/// The type of a column's cells. Every cell may be missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// Unsigned 64-bit integers.
    Number,
    /// Signed 64-bit integers.
    Signed,
    /// Floats of 64 bits.
    Float,
    /// A boolean value.
    Flag,
    /// Strings in UTF-8.
    Text,
}

/// The value of a row in a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    /// No value (null).
    None,
    /// An unsigned integer.
    Number(u64),
    /// A signed integer.
    Signed(i64),
    /// The bits of a 64-bit float.
    Float(u64),
    /// A boolean value.
    Flag(bool),
    /// A string in UTF-8.
    Text(String),
}

impl Cell {
    /// The cell as text; empty if it is missing.
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
    /// The cell as a CSV field (RFC 4180).
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

/// The declaration of a table: its name, its columns, and their meanings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSchema {
    /// Name of the table.
    pub name: &'static str,
    /// Name, type and meaning of each column.
    pub columns: &'static [(&'static str, ColumnKind, &'static str)],
}

/// Rows of a table, as one vector of cells for each column.
pub type Batch = Vec<Vec<Cell>>;

/// Receives batches of rows of a table.
pub type Sink<'a> = dyn FnMut(&TableSchema, Batch) -> io::Result<()> + 'a;

/// Collects rows and passes them to a sink in batches.
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
