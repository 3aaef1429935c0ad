//! Reads input files and writes output files.
//!
//! # Invariants
//! - An input never blocks or runs without end: named pipes, devices and sockets are refused. A pipe that the
//!   shell opened for this process (`/dev/fd/63`, `/dev/stdin`) is read up to 1 GiB.
//! - An output appears under its name only when it is complete. Until then an older file stays as it is. The
//!   unfinished file has a name that no other process has, and is removed on every way out. If the process is
//!   killed, the next output of the same name removes it.
//! - After [`protect_inputs`], no output replaces a file that was read.
//!
//! # Limitations
//! Outputs to pipes and devices are written directly.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use tempfile::TempPath;

/// What errors say of an output that would replace an input.
const INPUT: &str = "it is an input of this command, and would be replaced";

/// Maximum number of bytes that are read from a pipe.
const MOST_PIPED: u64 = 1 << 30;

/// Device and number of each file that was read.
type Inputs = Mutex<HashSet<(u64, u64)>>;

/// The files that this process read, if its inputs are protected.
static INPUTS: OnceLock<Inputs> = OnceLock::new();

/// From now on, an output that would replace a file that this process has read is refused. For processes that
/// run one command: there, such an output is a mistake that destroys data.
pub fn protect_inputs() {
    INPUTS.get_or_init(Inputs::default);
}

/// Whether a file was read by this process, and its inputs are protected.
fn is_input(file: &fs::Metadata) -> bool {
    let inputs = INPUTS.get().map(|i| i.lock().unwrap_or_else(PoisonError::into_inner));
    inputs.is_some_and(|inputs| inputs.contains(&(file.dev(), file.ino())))
}

/// Opens a file for reading.
///
/// # Errors
/// If it cannot be opened, or if it is no file that ends.
pub fn open(path: &Path) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    if let Some(inputs) = INPUTS.get().filter(|_| metadata.is_file()) {
        let mut inputs = inputs.lock().unwrap_or_else(PoisonError::into_inner);
        inputs.insert((metadata.dev(), metadata.ino()));
    }
    let kind = metadata.file_type();
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
pub struct Unfinished(Option<Part>);

/// The unfinished file of an output.
#[derive(Debug)]
struct Part {
    path: TempPath,
    target: PathBuf,
    /// Holds the lock that shows other processes that the file is in use.
    _locked: File,
}

/// Starts an output file.
///
/// # Errors
/// If its folder or an older file of this name cannot be written to, or if it is a protected input.
pub fn create(path: &Path) -> io::Result<(File, Unfinished)> {
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|m| !m.is_file()) {
        return Ok((File::create(path)?, Unfinished(None)));
    }
    if old.as_ref().is_some_and(is_input) {
        return Err(io::Error::other(INPUT));
    }
    // A link stays, and the file that it leads to is replaced.
    let target = if old.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    if old.is_some() {
        OpenOptions::new().write(true).open(&target)?;
    }
    let permissions = old.map_or(Permissions::from_mode(0o666), |m| m.permissions());
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    remove_leftovers(folder, &name);
    let part = tempfile::Builder::new()
        .prefix(&format!(".{name}.{}.", std::process::id()))
        .suffix(PART)
        .permissions(permissions)
        .tempfile_in(folder)
        // Without the name of the unfinished file, which `tempfile` adds.
        .map_err(|e| fs::metadata(folder).err().unwrap_or_else(|| e.kind().into()))?;
    let (file, path) = part.into_parts();
    let locked = file.try_clone()?;
    // On a file system without locks, the process ID in the name must do.
    let _ = locked.try_lock();
    Ok((file, Unfinished(Some(Part { path, target, _locked: locked }))))
}

/// The end of the names of unfinished files.
const PART: &str = ".part";

/// Removes the unfinished files of an output that killed processes left: their names hold a process ID that
/// is not in use, and nobody holds their locks. Two checks, because containers have process IDs of their own.
/// Failures do not matter: the files are only in the way.
fn remove_leftovers(folder: &Path, name: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let Some(pid) = file.to_str().and_then(|file| process_of(file, name)) else { continue };
        let regular = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !regular || Path::new("/proc").join(pid.to_string()).exists() {
            continue;
        }
        if OpenOptions::new().write(true).open(entry.path()).is_ok_and(|f| f.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The process that writes, or wrote, an unfinished file `.NAME.PID.RANDOM.part` of the output `name`.
fn process_of(file: &str, name: &str) -> Option<u32> {
    let rest = file.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(PART)?;
    let (pid, random) = rest.split_once('.')?;
    let written_by_us = random.len() == 6 && random.bytes().all(|b| b.is_ascii_alphanumeric());
    pid.parse().ok().filter(|_| written_by_us)
}

impl Unfinished {
    /// Gives the complete file its name.
    ///
    /// # Errors
    /// If it cannot be renamed, or if the older file was read in the meantime and is protected.
    pub fn finish(self) -> io::Result<()> {
        if self.0.as_ref().and_then(|part| fs::metadata(&part.target).ok()).is_some_and(|old| is_input(&old))
        {
            return Err(io::Error::other(INPUT));
        }
        match self.0 {
            Some(part) => part.path.persist(part.target).map_err(|e| e.error),
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
    fn only_the_leftovers_of_ended_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let pid = ended.id();
        ended.wait().unwrap();
        let make = |name: String| {
            let path = folder.path().join(name);
            (fs::write(&path, "unfinished").unwrap(), path).1
        };
        let left = make(format!(".out.{pid}.aB3dE6.part"));
        let kept = [
            make(format!(".out.{}.aB3dE6.part", std::process::id())),
            make(format!(".other.{pid}.aB3dE6.part")),
            make(format!(".out.{pid}.aB3dE6")),
            make(format!(".out.{pid}.not-ours.part")),
            make(".out.x.aB3dE6.part".to_owned()),
            make(format!(".out.{pid}.locked.part")),
        ];
        let in_use = File::open(kept.last().unwrap()).unwrap();
        in_use.lock().unwrap();
        write(&path, b"new").unwrap();
        assert!(!left.exists());
        kept.iter().for_each(|path| assert!(path.exists(), "{}", path.display()));
        // Its own unfinished file says whose it is.
        let (_, unfinished) = create(&path).unwrap();
        let own = &unfinished.0.as_ref().unwrap().path;
        let name = own.file_name().unwrap().to_str().unwrap();
        assert_eq!(process_of(name, "out"), Some(std::process::id()));
        drop(unfinished);
        drop(in_use);
        write(&path, b"newer").unwrap();
        assert!(!kept.last().unwrap().exists());
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
