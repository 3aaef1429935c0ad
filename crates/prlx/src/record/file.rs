//! Writes recordings to files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use prlx_driver::workers::WORKERS;
use prlx_trace::Trace;

/// Writes a recording and returns its size in bytes.
///
/// The file appears under its name only when it is complete. A pipe or a device is written directly.
///
/// # Errors
/// If the file cannot be written.
pub fn save(trace: &Trace, path: &Path) -> Result<u64> {
    let special = fs::metadata(path).is_ok_and(|m| !m.is_file());
    let mut part = path.as_os_str().to_owned();
    part.push(if special { "" } else { ".part" });
    let part = Path::new(&part);
    let write = || -> Result<u64> {
        let mut file = Counted { file: BufWriter::new(File::create(part)?), bytes: 0 };
        trace.write_parallel(&mut file, &WORKERS)?;
        file.flush()?;
        if !special {
            file.file.get_ref().sync_all()?;
            fs::rename(part, path)?;
        }
        Ok(file.bytes)
    };
    write()
        .inspect_err(|_| {
            if !special {
                drop(fs::remove_file(part));
            }
        })
        .with_context(|| format!("cannot write {}", path.display()))
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
