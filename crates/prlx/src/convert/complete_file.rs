//! Writes files that appear under their names only when they are complete.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// The writer of a file that is not complete yet.
pub type Out = BufWriter<File>;

/// Writes a file through `write`, which returns a value and the writer.
///
/// # Errors
/// If the file cannot be written, or `write` fails.
pub fn write_complete<T>(path: &Path, write: impl FnOnce(Out) -> Result<(T, Out)>) -> Result<T> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let all = || -> Result<T> {
        let (value, mut out) = write(BufWriter::new(File::create(part)?))?;
        out.flush()?;
        fs::rename(part, path)?;
        Ok(value)
    };
    all()
        .inspect_err(|_| drop(fs::remove_file(part)))
        .with_context(|| format!("cannot write {}", path.display()))
}
