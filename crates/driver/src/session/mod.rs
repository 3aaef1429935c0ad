//! Sessions: the recording of a program, a folder with a file for each of its processes.
//!
//! Whoever starts the program says what to record in one environment variable ([`Options`]); the recorder inside each process
//! makes a file of its own in the folder ([`create`]) and appends to it; when the program has ended, an index
//! ([`Index`], `session.json`) is put beside them. [`Session`] is what reads it all; a single recording counts as one of one
//! process.
//!
//! Holds: no file is written by two processes; a folder without an index, or with files that were cut off, is still read.
//! Misses: folders on file systems that several hosts share have one index, that of the host that ended last.

mod index;
mod options;
mod pattern;

pub use index::{Entry, INDEX, Index};
pub use options::{Choice, Closer, Options, VARIABLE};
pub use pattern::Pattern;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use prlx_trace::ids::Nanos;
use prlx_trace::{Bytes, Process, Trace};
use xxhash_rust::xxh3::Xxh3;

use crate::{Error, ErrorKind};

/// How files of processes end.
const EXTENSION: &str = "prlx";
/// How the files end that hold what the tables of a process are while it runs. One that is left tells of a process that did not end
/// by itself.
pub const LIVE: &str = "live";
/// Why a launch is not recorded whose module as a whole was left as it is: what was wrong with that is said of the process.
pub const PASSED: &str = "its module was not rewritten";
/// As much of a file as surely holds its process.
const FRONT: usize = 64 << 10;

/// A recording: a folder of a session, or a single file.
#[derive(Clone, PartialEq, Debug)]
pub struct Session {
    /// What was opened.
    pub path: PathBuf,
    /// What was said of the session when the program had ended; `None`: nothing, or it is a single file.
    pub index: Option<Index>,
    /// Its files: by rank, then by start, then by name.
    pub files: Vec<ProcessFile>,
}

/// A file of a session.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessFile {
    /// Where it is.
    pub path: PathBuf,
    /// The process; `None` for a recording of a launch file, or when nothing can be read.
    pub process: Option<Process>,
}

impl Session {
    /// Looks at a folder, or at a single file.
    ///
    /// # Errors
    /// When there is nothing there that is a recording, or the index is damaged.
    pub fn open(path: &Path) -> Result<Session, Error> {
        let path = path.to_owned();
        if !path.is_dir() {
            let file = ProcessFile { process: process_of(&path), path: path.clone() };
            return Ok(Session { files: vec![file], path, index: None });
        }
        let index = Index::read(&path)?;
        let unreadable = |e: io::Error| refuse(format!("cannot read {}: {e}", path.display()));
        let mut files = Vec::new();
        for entry in fs::read_dir(&path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            if file.extension().is_some_and(|e| e == EXTENSION) && file.is_file() {
                files.push(ProcessFile { process: process_of(&file), path: file });
            }
        }
        if files.is_empty() && index.is_none() {
            return Err(refuse(format!("{} is a folder without a recording in it", path.display())));
        }
        let key = |f: &ProcessFile| {
            let p = f.process.as_ref();
            (p.is_none(), p.and_then(|p| p.rank).unwrap_or(u32::MAX), p.map(|p| p.started))
        };
        files.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path)));
        Ok(Session { path, index, files })
    }

    /// Whether it is a folder, not a single file.
    pub fn is_folder(&self) -> bool {
        self.files.first().is_none_or(|f| f.path != self.path)
    }

    /// A digest of what its processes did, in their order ([`Trace::root`]), and how many launches there were. `None` if there is
    /// nothing to make it of, or a file can't be read.
    pub fn root(&self) -> (Option<u64>, u64) {
        let traces: Vec<_> = self.files.iter().map(|f| self.read_index(f)).collect();
        let launches = traces.iter().flatten().map(|t| t.launches.len() as u64).sum();
        let mut hash = Xxh3::new();
        for trace in &traces {
            let Some(root) = trace.as_ref().ok().and_then(Trace::root) else { return (None, launches) };
            hash.update(&root.to_le_bytes());
        }
        (Some(hash.digest()), launches)
    }

    /// Reads a file of it; one that was cut off says so ([`Trace::cut`]), and what its process left [beside](LIVE) it when it was killed is
    /// in it. Its frames stay in the file, which must not be written to while they may be asked for.
    ///
    /// # Errors
    /// When one can't be read, or is no recording.
    pub fn read(&self, file: &ProcessFile) -> Result<Trace, Error> {
        let read = |file: &ProcessFile| {
            map(&file.path).and_then(|bytes| Trace::read_mapped(&bytes).map_err(|e| no_recording(file, &e)))
        };
        let mut trace = read(file)?;
        let left = ProcessFile { path: file.path.with_extension(LIVE), process: None };
        if trace.cut.is_some() && self.is_folder() && left.path.is_file() {
            beside(&mut trace, read(&left)?);
        }
        Ok(trace)
    }

    /// The same without streams.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn read_index(&self, file: &ProcessFile) -> Result<Trace, Error> {
        map(&file.path)
            .and_then(|bytes| Trace::read_index((*bytes).as_ref()).map_err(|e| no_recording(file, &e)))
    }
}

/// Puts what a process left when it was killed behind what was in its file: a launch that is there counts as it is there.
fn beside(trace: &mut Trace, mut left: Trace) {
    let known: HashSet<u64> = trace.launches.iter().map(|r| r.launch.number).collect();
    left.launches.retain(|r| !known.contains(&r.launch.number));
    left.marks.retain(|m| !known.contains(&m.launch));
    trace.append(left, 0);
}

/// A file's bytes, of which only those that are looked at are loaded.
///
/// # Errors
/// When it can't be read.
pub fn map(path: &Path) -> Result<Bytes, Error> {
    let mapped = || -> io::Result<Bytes> {
        let file = File::open(path)?;
        // What has no length, as a pipe, can only be read.
        if !file.metadata()?.is_file() {
            return Ok(Arc::new(fs::read(path)?));
        }
        #[allow(unsafe_code, reason = "mapping a file")]
        // SAFETY: bytes that another process changes while they are mapped may be read in either state, and all reading is
        // checked; a file that is cut meanwhile ends this process by a signal, as it would any program that maps it.
        Ok(Arc::new(unsafe { memmap2::Mmap::map(&file) }?))
    };
    mapped().map_err(|e| refuse(format!("cannot read {}: {e}", path.display())))
}

fn no_recording(file: &ProcessFile, e: &prlx_trace::Error) -> Error {
    refuse(format!("{} is no recording that can be read: {e}", file.path.display()))
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::File, message)
}

/// The process that a file is of, from its front alone.
fn process_of(path: &Path) -> Option<Process> {
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

/// Makes the file of a process in a session's folder. One that is there already is never touched: a process that replaces
/// itself by another program has two.
///
/// # Errors
/// When the folder can't be written to.
pub fn create(folder: &Path, process: &Process) -> io::Result<(File, PathBuf)> {
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
