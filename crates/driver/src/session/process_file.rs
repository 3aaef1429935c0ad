//! The file of one process in a session's folder: creates, names and maps it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use prlx_trace::{Bytes, Process, Trace};

use crate::error::{Error, ErrorKind};
use crate::files;

/// Extension of the recording of a process.
pub(super) const EXTENSION: &str = "prlx";

/// Extension of the live file, which holds a copy of a process's tables and tracks while it runs. The file is
/// removed at the process's end; one that is left belongs to a process that was killed.
pub const LIVE_EXTENSION: &str = "live";

/// Part of the reason why a launch is not recorded whose context was lost before it was copied.
pub const LOST: &str = "lost with its context";

/// How the reason begins why a launch was not recorded that needs more device memory than there is.
pub const NO_ROOM: &str = "there was no room";

/// Reason for not recording launches of a module that was not instrumented at all. The process reports what
/// was wrong with the module.
pub const MODULE_NOT_REWRITTEN: &str = "its module was not rewritten";

/// Begin of the extension of a folder that holds a captured launch. The launch's number follows.
const CAPTURE_PREFIX: &str = "launch-";

/// Extension of files with what a launch changed in memory.
pub const CHANGES_EXTENSION: &str = "changes";

/// Number of bytes at the start of a file that always include the description of the process.
const FRONT: usize = 64 << 10;

/// A file of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Description of the process; `None` for a recording of a launch file, and if it cannot be read.
    pub process: Option<Process>,
}

/// Maps a file into memory, so that only the parts that are used are loaded.
///
/// # Errors
/// If the file cannot be read.
pub fn map_file(path: &Path) -> Result<Bytes, Error> {
    let mapped = || -> io::Result<Bytes> {
        let file = files::open(path)?;
        // A pipe has no length and cannot be mapped.
        if !file.metadata()?.is_file() {
            return Ok(Arc::new(files::read(path)?));
        }
        #[allow(unsafe_code, reason = "mapping a file")]
        // SAFETY: A mapping is sound as long as nobody truncates the file. If another process writes to it,
        // this process reads the old or the new bytes, and all readers check what they read. If another
        // process truncates it, the kernel ends this process with SIGBUS, as it ends any program that maps
        // the file.
        Ok(Arc::new(unsafe { memmap2::Mmap::map(&file) }?))
    };
    mapped().map_err(|e| refuse(format!("cannot read {}: {e}", path.display())))
}

pub(super) fn unreadable_recording(file: &ProcessFile, e: &prlx_trace::Error) -> Error {
    refuse(format!("{} is no recording that can be read: {e}", file.path.display()))
}

pub(super) fn refuse(message: String) -> Error {
    Error::new(ErrorKind::File, message)
}

/// Reads the description of the process from the start of a file.
pub(super) fn process_of(path: &Path) -> Option<Process> {
    let mut front = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(files::open(path).ok()?, FRONT as u64), &mut front).ok()?;
    Trace::read_index(&front).ok()?.process
}

/// Describes this process, without its devices and versions, which the caller knows.
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
        started: since.into(),
        ..Process::default()
    }
}

/// Folder of a captured launch of the process with this recording.
pub fn capture_folder(recording: &Path, launch: u64) -> PathBuf {
    recording.with_extension(format!("{CAPTURE_PREFIX}{launch}"))
}

/// File with the [memory changes](crate::memory_changes) of a launch of the process with this recording.
pub fn memory_changes_file(recording: &Path, launch: u64) -> PathBuf {
    recording.with_extension(format!("{launch}.{CHANGES_EXTENSION}"))
}

/// Number of the launch that a folder holds, if it is the folder of a captured launch.
pub fn captured_launch(folder: &Path) -> Option<u64> {
    folder.extension()?.to_str()?.strip_prefix(CAPTURE_PREFIX)?.parse().ok()
}

/// Creates the file of a process in a session's folder: `HOST.PID.prlx`, with `rankN.` before it for a
/// process of a distributed run. An existing file is never overwritten: a process that replaces itself with
/// `exec` has two files.
///
/// # Errors
/// If the folder cannot be written to.
pub fn create_process_file(folder: &Path, process: &Process) -> io::Result<(File, PathBuf)> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let host: String = process.host.chars().take(64).map(plain).collect();
    let rank = process.rank.or(process.local_rank).map_or_else(String::new, |rank| format!("rank{rank}."));
    let mut n = 0u32;
    loop {
        let again = if n == 0 { String::new() } else { format!(".{n}") };
        let path = folder.join(format!("{rank}{host}.{}{again}.{EXTENSION}", process.pid));
        match File::options().write(true).create_new(true).open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < 1000 => n += 1,
            file => return Ok((file?, path)),
        }
    }
}
