//! Reads input files and writes output files.
//!
//! # Invariants
//! - An input never blocks or runs without end: named pipes, devices and sockets are refused. A pipe that the
//!   shell opened for this process (`/dev/fd/63`, `/dev/stdin`) is read up to 1 GiB.
//! - An output appears under its name only when it is complete. Until then an older file stays as it is. The
//!   unfinished file has a name that no other process has, and is removed on every way out.
//!
//! # Limitations
//! A process that is killed leaves its unfinished file, whose name begins with a dot. Outputs to pipes and
//! devices are written directly.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// Maximum number of bytes that are read from a pipe.
const MOST_PIPED: u64 = 1 << 30;

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or if it is no file that ends.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    let opened = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"];
    let own_pipe = kind.is_fifo() && opened.iter().any(|p| path.to_str().is_some_and(|s| s.starts_with(p)));
    if kind.is_file() || kind.is_dir() || own_pipe {
        return File::open(path);
    }
    let what = if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, and a file is needed")))
}

/// Reads a whole file.
///
/// # Errors
/// As [`open`], or if a pipe gives too much.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    if file.metadata()?.file_type().is_fifo() {
        file.take(MOST_PIPED + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST_PIPED {
            return Err(io::Error::other("the pipe gives more than 1 GiB"));
        }
    } else {
        (&file).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Reads a whole text file.
///
/// # Errors
/// As [`read`], or if it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(read(path)?).map_err(wrong)
}

/// An output that is not complete yet.
#[derive(Debug)]
#[must_use = "a file that is not finished is removed"]
pub struct Unfinished(Option<(TempPath, PathBuf)>);

/// Starts an output file.
///
/// # Errors
/// If its folder or an older file of this name cannot be written to.
pub fn create(path: &Path) -> io::Result<(File, Unfinished)> {
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|m| !m.is_file()) {
        return Ok((File::create(path)?, Unfinished(None)));
    }
    // A link stays, and the file that it leads to is replaced.
    let target = if old.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    if old.is_some() {
        OpenOptions::new().write(true).open(&target)?;
    }
    let permissions = old.map_or(Permissions::from_mode(0o666), |m| m.permissions());
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let part = tempfile::Builder::new()
        .prefix(&format!(".{name}."))
        .suffix(".part")
        .permissions(permissions)
        .tempfile_in(folder)
        // Without the name of the unfinished file, which `tempfile` adds.
        .map_err(|e| fs::metadata(folder).err().unwrap_or_else(|| e.kind().into()))?;
    let (file, part) = part.into_parts();
    Ok((file, Unfinished(Some((part, target)))))
}

impl Unfinished {
    /// Gives the complete file its name.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Some((part, path)) => part.persist(path).map_err(|e| e.error),
            None => Ok(()),
        }
    }
}

/// Writes an output file.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, unfinished) = create(path)?;
    let mut out = BufWriter::new(file);
    out.write_all(bytes)?;
    out.flush()?;
    unfinished.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_whole_or_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let names = || {
            let entries = fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        write(&path, b"old").unwrap();
        // Two writers at a time do not disturb each other.
        let ((mut a, first), (mut b, second)) = (create(&path).unwrap(), create(&path).unwrap());
        a.write_all(b"first").unwrap();
        b.write_all(b"second").unwrap();
        assert_eq!((names().len(), fs::read(&path).unwrap().as_slice()), (3, &b"old"[..]));
        first.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first");
        drop(second);
        assert_eq!((names(), fs::read(&path).unwrap().as_slice()), (vec!["out".to_owned()], &b"first"[..]));
        // A link stays a link.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"third").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), link.is_symlink()), (&b"third"[..], true));
    }

    #[test]
    fn an_input_ends() {
        for device in ["/dev/zero", "/dev/urandom"] {
            let e = read(Path::new(device)).unwrap_err();
            assert_eq!(e.to_string(), "it is a device, and a file is needed");
        }
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(read(&pipe).unwrap_err().to_string(), "it is a named pipe, and a file is needed");
    }
}
