//! Writes files, with errors that name them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file.
pub fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let all = || -> io::Result<()> {
        let (file, unfinished) = prlx_driver::files::create(path)?;
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        unfinished.finish()
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}
