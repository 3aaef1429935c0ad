//! The file of one process in a session's folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use prlx_trace::ids::Nanos;
use prlx_trace::{Bytes, Process, Trace};

use crate::error::{Error, ErrorKind};

/// How files of processes end.
pub(super) const EXTENSION: &str = "prlx";

/// How the files end that hold what the tables of a process are while it runs. One that is left tells of a
/// process that did not end by itself.
pub const LIVE_EXTENSION: &str = "live";

/// Why a launch is not recorded whose module as a whole was left as it is: what was wrong with that is said
/// of the process.
pub const MODULE_NOT_REWRITTEN: &str = "its module was not rewritten";

/// As much of a file as surely holds its process.
const FRONT: usize = 64 << 10;

/// A file of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessFile {
    /// Where it is.
    pub path: PathBuf,
    /// The process; `None` for a recording of a launch file, or when nothing can be read.
    pub process: Option<Process>,
}

/// A file's bytes, of which only those that are looked at are loaded.
///
/// # Errors
/// When it can't be read.
pub fn map_file(path: &Path) -> Result<Bytes, Error> {
    let mapped = || -> io::Result<Bytes> {
        let file = File::open(path)?;
        // What has no length, as a pipe, can only be read.
        if !file.metadata()?.is_file() {
            return Ok(Arc::new(fs::read(path)?));
        }
        #[allow(unsafe_code, reason = "mapping a file")]
        // SAFETY: bytes that another process changes while they are mapped may be read in either state, and
        // all reading is checked; a file that is cut meanwhile ends this process by a signal, as it would any
        // program that maps it.
        Ok(Arc::new(unsafe { memmap2::Mmap::map_file(&file) }?))
    };
    mapped().map_err(|e| refuse(format!("cannot read {}: {e}", path.display())))
}

pub(super) fn unreadable_recording(file: &ProcessFile, e: &prlx_trace::Error) -> Error {
    refuse(format!("{} is no recording that can be read: {e}", file.path.display()))
}

pub(super) fn refuse(message: String) -> Error {
    Error::new(ErrorKind::File, message)
}

/// The process that a file is of, from its front alone.
pub(super) fn process_of(path: &Path) -> Option<Process> {
    let mut front = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(File::open(path).ok()?, FRONT as u64), &mut front).ok()?;
    Trace::read_index(&front).ok()?.process
}

/// This process, as its recording says it: without devices and versions, which the caller knows.
pub fn this_process() -> Process {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.trim().parse().ok());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let command = fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = command.strip_suffix(b"\0").unwrap_or(&command).split(|b| *b == 0);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Process {
        pid: std::process::id(),
        host: host.trim().to_owned(),
        rank: number("RANK"),
        local_rank: number("LOCAL_RANK"),
        world_size: number("WORLD_SIZE"),
        command: words.map(|w| String::from_utf8_lossy(w).into_owned()).collect(),
        started: Nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)),
        ..Process::default()
    }
}

/// Makes the file of a process in a session's folder. One that is there already is never touched: a process
/// that replaces itself by another program has two.
///
/// # Errors
/// When the folder can't be written to.
pub fn create_process_file(folder: &Path, process: &Process) -> io::Result<(File, PathBuf)> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let host: String = process.host.chars().take(64).map(plain).collect();
    let mut n = 0u32;
    loop {
        let again = if n == 0 { String::new() } else { format!(".{n}") };
        let path = folder.join(format!("{host}.{}{again}.{EXTENSION}", process.pid));
        match File::options().write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < 1000 => n += 1,
            file => return Ok((file?, path)),
        }
    }
}
