//! Writes recordings to files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::files;
use prlx_driver::workers::WORKERS;
use prlx_trace::Trace;

/// Writes a recording and returns its size in bytes.
///
/// The file appears under its name only when it is complete. A pipe or a device is written directly.
///
/// # Errors
/// If the file cannot be written.
pub fn save(trace: &Trace, path: &Path) -> Result<u64> {
    let write = || -> Result<u64> {
        let (file, unfinished) = files::create(path)?;
        let mut file = Counted { file: BufWriter::new(file), bytes: 0 };
        trace.write_parallel(&mut file, &WORKERS)?;
        file.flush()?;
        if file.file.get_ref().metadata()?.is_file() {
            file.file.get_ref().sync_all()?;
        }
        unfinished.finish()?;
        Ok(file.bytes)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// A file that counts the bytes written to it.
struct Counted {
    file: BufWriter<File>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
