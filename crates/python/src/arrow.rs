//! Tables as Arrow streams, by the C data interface and its PyCapsules: pandas, Polars, DuckDB and pyarrow
//! read them without PRLX knowing of these libraries.
//!
//! A stream has one batch with all rows. Its layout follows "The Arrow C data interface" and "The Arrow C
//! stream interface": `uint64`, `int64`, `double`, `bool` and `large_utf8` columns, each with a bitmap of the
//! rows that have a value, if some have none.
//!
//! # Invariants
//! - What a structure points to lives in its private data, which only its `release` frees, once.
//! - Consumers move structures: nothing here keeps the address of one.
//!
//! # Limitations
//! - A requested schema is not looked at; consumers cast.
#![allow(unsafe_code, reason = "structures and callbacks of the Arrow C data interface")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

use prlx_present::tables::{Cell, ColumnKind};

/// `ArrowSchema`: the type of a column, or of the table (a structure of columns).
#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

/// `ArrowArray`: the values of a column, or of the table.
#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

/// `ArrowArrayStream`. A consumer takes it by copying it and clearing `release`.
#[repr(C)]
pub struct Stream {
    get_schema: unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int,
    get_next: unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int,
    get_last_error: unsafe extern "C" fn(*mut Stream) -> *const c_char,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private: *mut c_void,
}

// SAFETY: the private data is a `Source` of plain values, and no thread but the owner's uses it.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: nobody took the stream, so it is released here, once.
            unsafe { release(self) }
        }
    }
}

/// Name of the capsule of a stream (Arrow PyCapsule interface).
pub const CAPSULE: &CStr = c"arrow_array_stream";

/// The rows of a stream.
struct Source {
    columns: Vec<(CString, ColumnKind)>,
    rows: i64,
    /// The values, until a consumer has them.
    values: Option<Vec<Column>>,
}

/// The buffers of a column: rows with a value, and values; texts have offsets before them.
struct Column {
    missing: i64,
    buffers: Vec<Vec<u64>>,
}

/// A stream of a table: names, types and cells of its columns.
pub fn stream(columns: Vec<(&str, ColumnKind, Vec<Cell>)>) -> Stream {
    let rows = columns.first().map_or(0, |(_, _, cells)| cells.len()) as i64;
    let values = columns.iter().map(|(_, kind, cells)| Column::new(*kind, cells)).collect();
    let columns =
        columns.iter().map(|(name, kind, _)| (CString::new(*name).unwrap_or_default(), *kind)).collect();
    let source = Box::new(Source { columns, rows, values: Some(values) });
    Stream {
        get_schema,
        get_next,
        get_last_error,
        release: Some(release_stream),
        private: Box::into_raw(source).cast(),
    }
}

impl Column {
    fn new(kind: ColumnKind, cells: &[Cell]) -> Column {
        let missing = cells.iter().filter(|c| **c == Cell::None).count() as i64;
        let valid = if missing > 0 { bits(cells, |c| *c != Cell::None) } else { Vec::new() };
        let mut buffers = vec![words(&valid)];
        match kind {
            ColumnKind::Flag => buffers.push(words(&bits(cells, |c| *c == Cell::Flag(true)))),
            ColumnKind::Text => {
                let (mut offsets, mut text) = (vec![0], Vec::new());
                for cell in cells {
                    if let Cell::Text(t) = cell {
                        text.extend_from_slice(t.as_bytes());
                    }
                    offsets.push(text.len() as u64);
                }
                buffers.extend([offsets, words(&text)]);
            }
            ColumnKind::Number | ColumnKind::Signed | ColumnKind::Float => {
                let word = |c: &Cell| match c {
                    Cell::Number(n) | Cell::Float(n) => *n,
                    Cell::Signed(n) => *n as u64,
                    Cell::None | Cell::Flag(_) | Cell::Text(_) => 0,
                };
                buffers.push(cells.iter().map(word).collect());
            }
        }
        Column { missing, buffers }
    }
}

/// One bit for each cell, the first one lowest.
fn bits(cells: &[Cell], set: impl Fn(&Cell) -> bool) -> Vec<u8> {
    let byte = |cells: &[Cell]| cells.iter().enumerate().map(|(i, c)| u8::from(set(c)) << i).sum();
    cells.chunks(8).map(byte).collect()
}

/// Bytes as words: consumers want buffers that begin at a multiple of 8 bytes.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |part: &[u8]| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

/// The format of a type, as the C data interface spells it.
fn format(kind: ColumnKind) -> &'static CStr {
    match kind {
        ColumnKind::Number => c"L",
        ColumnKind::Signed => c"l",
        ColumnKind::Float => c"g",
        ColumnKind::Flag => c"b",
        ColumnKind::Text => c"U",
    }
}

/// `ARROW_FLAG_NULLABLE`.
const NULLABLE: i64 = 2;

/// What a schema points to.
struct SchemaData {
    _name: CString,
    children: Vec<*mut Schema>,
}

fn schema(format: &'static CStr, name: CString, children: Vec<Schema>) -> Schema {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut data = Box::new(SchemaData { _name: name, children });
    Schema {
        format: format.as_ptr(),
        name: data._name.as_ptr(),
        metadata: null(),
        flags: NULLABLE,
        n_children: data.children.len() as i64,
        children: data.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private: Box::into_raw(data).cast(),
    }
}

/// What an array points to.
struct ArrayData {
    _buffers: Vec<Vec<u64>>,
    pointers: Vec<*const c_void>,
    children: Vec<*mut Array>,
}

fn array(length: i64, null_count: i64, buffers: Vec<Vec<u64>>, children: Vec<Array>) -> Array {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    // The first buffer says which rows have a value: without it, all have.
    let pointer =
        |(i, b): (usize, &Vec<u64>)| if i == 0 && b.is_empty() { null() } else { b.as_ptr().cast() };
    let pointers = buffers.iter().enumerate().map(pointer).collect();
    let mut data = Box::new(ArrayData { _buffers: buffers, pointers, children });
    Array {
        length,
        null_count,
        offset: 0,
        n_buffers: data.pointers.len() as i64,
        n_children: data.children.len() as i64,
        buffers: data.pointers.as_mut_ptr(),
        children: data.children.as_mut_ptr(),
        dictionary: null_mut(),
        release: Some(release_array),
        private: Box::into_raw(data).cast(),
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: a consumer calls this with a stream that is not released, whose private data is a `Source`.
    let source = unsafe { &*(*stream).private.cast::<Source>() };
    let column = |(name, kind): &(CString, ColumnKind)| schema(format(*kind), name.clone(), Vec::new());
    let table = schema(c"+s", CString::default(), source.columns.iter().map(column).collect());
    // SAFETY: `out` is memory for a schema, whose content does not matter.
    unsafe { out.write(table) };
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as in `get_schema`; a consumer does not call functions of a stream from two threads at once.
    let source = unsafe { &mut *(*stream).private.cast::<Source>() };
    let rows = source.rows;
    let next = match source.values.take() {
        Some(columns) => {
            let column = |c: Column| array(rows, c.missing, c.buffers, Vec::new());
            array(rows, 0, vec![Vec::new()], columns.into_iter().map(column).collect())
        }
        // A released array is the end of the stream.
        None => released_array(),
    };
    // SAFETY: `out` is memory for an array, whose content does not matter.
    unsafe { out.write(next) };
    0
}

/// An array that is released.
fn released_array() -> Array {
    Array {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: null_mut(),
        children: null_mut(),
        dictionary: null_mut(),
        release: None,
        private: null_mut(),
    }
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    null() // Nothing here fails.
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: the stream is not released yet, so its private data is the `Source` that `stream` made.
    unsafe {
        drop(Box::from_raw((*stream).private.cast::<Source>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: the schema is not released yet, so its private data is what `schema` made. A child that a
    // consumer moved away is released already, by that consumer.
    unsafe {
        let data = Box::from_raw((*schema).private.cast::<SchemaData>());
        for child in data.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: as for schemas.
    unsafe {
        let data = Box::from_raw((*array).private.cast::<ArrayData>());
        for child in data.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}
