//! Reads a session: a folder of recordings, or a single recording.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use prlx_trace::Trace;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;
use crate::session::index::SessionIndex;
use crate::session::process_file::{
    EXTENSION, LIVE_EXTENSION, ProcessFile, map_file, process_of, refuse, unreadable_recording,
};

/// A recording: the folder of a session, or a single file.
#[derive(Clone, PartialEq, Debug)]
pub struct Session {
    /// The folder or the file that was opened.
    pub path: PathBuf,
    /// Index of the session; `None` if the folder has none, or for a single file.
    pub index: Option<SessionIndex>,
    /// Files of the session, ordered by rank, then start time, then name.
    pub files: Vec<ProcessFile>,
}

impl Session {
    /// Opens a folder or a single file.
    ///
    /// # Errors
    /// If there is no recording at `path`, or the index is damaged.
    pub fn open(path: &Path) -> Result<Session, Error> {
        let path = path.to_owned();
        if !path.is_dir() {
            let file = ProcessFile { process: process_of(&path), path: path.clone() };
            return Ok(Session { files: vec![file], path, index: None });
        }
        let index = SessionIndex::read(&path)?;
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

    /// Whether the session is a folder instead of a single file.
    pub fn is_folder(&self) -> bool {
        self.files.first().is_none_or(|f| f.path != self.path)
    }

    /// Returns a digest of what all processes recorded, in their order ([`Trace::root`]), and the number of
    /// launches. The digest is `None` if a file has none or cannot be read.
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

    /// Reads one file of the session. A truncated file has [`Trace::cut`] set, and the launches in the [live
    /// file](LIVE_EXTENSION) of a killed process are added to it. Frames are read from the file on demand, so
    /// the file must not be written to while the trace is in use.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a recording.
    pub fn read(&self, file: &ProcessFile) -> Result<Trace, Error> {
        let read = |file: &ProcessFile| {
            map_file(&file.path)
                .and_then(|bytes| Trace::read_mapped(&bytes).map_err(|e| unreadable_recording(file, &e)))
        };
        let mut trace = read(file)?;
        let left = ProcessFile { path: file.path.with_extension(LIVE_EXTENSION), process: None };
        if trace.cut.is_some() && self.is_folder() && left.path.is_file() {
            append_live_file(&mut trace, read(&left)?);
        }
        Ok(trace)
    }

    /// Reads one file of the session without its streams.
    ///
    /// # Errors
    /// The same as [`Session::read`].
    pub fn read_index(&self, file: &ProcessFile) -> Result<Trace, Error> {
        map_file(&file.path).and_then(|bytes| {
            Trace::read_index((*bytes).as_ref()).map_err(|e| unreadable_recording(file, &e))
        })
    }
}

/// Adds what the live file of a killed process holds. A launch that both files have is taken from the
/// recording.
fn append_live_file(trace: &mut Trace, mut left: Trace) {
    let known: HashSet<u64> = trace.launches.iter().map(|r| r.launch.number).collect();
    left.launches.retain(|r| !known.contains(&r.launch.number));
    left.marks.retain(|m| !known.contains(&m.launch));
    trace.append(left, 0);
}
