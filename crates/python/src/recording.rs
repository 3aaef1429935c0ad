//! Recordings as tables of columns.

use std::io;
use std::path::Path;
use std::sync::Arc;

use prlx::diff::read_file;
use prlx::input::open_session;
use prlx_driver::session::Session;
use prlx_present::tables::{Batch, Cell, ColumnKind, RECORDING, TableSchema};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arrow;
use crate::errors::{self, Error};

/// A recording: a file, or the folder that `prlx record -- ./app` writes.
#[pyclass(frozen)]
pub struct Recording {
    session: Arc<Session>,
}

/// A column of a table: its kind, the values of 8 bytes each and which of them are missing; or texts.
type Column = (&'static str, Py<PyAny>, Option<Py<PyBytes>>);

#[pymethods]
impl Recording {
    /// Opens a recording.
    #[new]
    fn new(path: &str) -> PyResult<Recording> {
        let session = open_session(Path::new(path)).map_err(|e| errors::of_library(&e))?;
        Ok(Recording { session: Arc::new(session) })
    }

    /// Number of files: one for each process of a program.
    fn files(&self) -> usize {
        self.session.files.len()
    }

    /// Names of the tables, with the names and meanings of their columns.
    #[staticmethod]
    fn tables() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
        let columns = |t: &'static TableSchema| {
            (t.name, t.columns.iter().map(|(name, _, meaning)| (*name, *meaning)).collect())
        };
        RECORDING.iter().map(|(table, _)| columns(table)).collect()
    }

    /// The columns of a table, by name.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
        let (schema, all) = self.rows(py, name)?;
        let out = PyDict::new(py);
        for ((name, kind, _), cells) in schema.columns.iter().zip(all) {
            out.set_item(*name, column(py, *kind, &cells)?)?;
        }
        Ok(out)
    }

    /// A table as a capsule with an Arrow stream.
    fn arrow<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyCapsule>> {
        let (schema, all) = self.rows(py, name)?;
        let columns = schema.columns.iter().zip(all).map(|((name, kind, _), cells)| (*name, *kind, cells));
        PyCapsule::new_with_value(py, arrow::stream(columns.collect()), arrow::CAPSULE)
    }
}

impl Recording {
    /// All rows of a table.
    fn rows(&self, py: Python<'_>, name: &str) -> PyResult<(&'static TableSchema, Batch)> {
        let (schema, rows) = RECORDING.iter().find(|(t, _)| t.name == name).ok_or_else(|| {
            let names: Vec<&str> = RECORDING.iter().map(|(t, _)| t.name).collect();
            Error::new_err(format!("a recording has no table `{name}`: the tables are {}", names.join(", ")))
        })?;
        let session = self.session.clone();
        let all = py.detach(move || -> prlx::Result<Batch> {
            let mut all: Batch = vec![Vec::new(); schema.columns.len()];
            for i in 0..session.files.len() {
                let trace = read_file(&session, i)?;
                rows(i as u64, &trace, &mut |_, batch| {
                    all.iter_mut().zip(batch).for_each(|(column, more)| column.extend(more));
                    io::Result::Ok(())
                })?;
            }
            Ok(all)
        });
        Ok((schema, all.map_err(|e| errors::of_library(&e))?))
    }
}

fn column(py: Python<'_>, kind: ColumnKind, cells: &[Cell]) -> PyResult<Column> {
    let dtype = match kind {
        ColumnKind::Number => "<u8",
        ColumnKind::Signed => "<i8",
        ColumnKind::Float => "<f8",
        ColumnKind::Flag => "|b1",
        ColumnKind::Text => {
            let text = |c: &Cell| if let Cell::Text(text) = c { Some(text.clone()) } else { None };
            let texts: Vec<Option<String>> = cells.iter().map(text).collect();
            return Ok(("O", texts.into_pyobject(py)?.into_any().unbind(), None));
        }
    };
    let mut values = Vec::with_capacity(cells.len() * 8);
    for cell in cells {
        let bits = match cell {
            Cell::Number(n) => *n,
            Cell::Signed(n) => *n as u64,
            Cell::Float(bits) => *bits,
            Cell::Flag(yes) => {
                values.push(u8::from(*yes));
                continue;
            }
            Cell::None | Cell::Text(_) if kind == ColumnKind::Flag => {
                values.push(0);
                continue;
            }
            Cell::None | Cell::Text(_) => 0,
        };
        values.extend_from_slice(&bits.to_le_bytes());
    }
    let missing: Vec<u8> = cells.iter().map(|c| u8::from(*c == Cell::None)).collect();
    let missing = missing.contains(&1).then(|| PyBytes::new(py, &missing).unbind());
    Ok((dtype, PyBytes::new(py, &values).into_any().unbind(), missing))
}
