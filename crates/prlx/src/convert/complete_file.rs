//! Writes files that appear under their names only when they are complete.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::files;

/// The writer of a file that is not complete yet.
pub type Out = BufWriter<File>;

/// Writes a file through `write`, which returns a value and the writer.
///
/// # Errors
/// If the file cannot be written, or `write` fails.
pub fn write_complete<T>(path: &Path, write: impl FnOnce(Out) -> Result<(T, Out)>) -> Result<T> {
    let all = || -> Result<T> {
        let (file, unfinished) = files::create(path)?;
        let (value, mut out) = write(BufWriter::new(file))?;
        out.flush()?;
        unfinished.finish()?;
        Ok(value)
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}
