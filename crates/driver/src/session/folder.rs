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

/// A recording: a folder of a session, or a single file.
#[derive(Clone, PartialEq, Debug)]
pub struct Session {
    /// What was opened.
    pub path: PathBuf,
    /// What was said of the session when the program had ended; `None`: nothing, or it is a single file.
    pub index: Option<SessionIndex>,
    /// Its files: by rank, then by start, then by name.
    pub files: Vec<ProcessFile>,
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

    /// Whether it is a folder, not a single file.
    pub fn is_folder(&self) -> bool {
        self.files.first().is_none_or(|f| f.path != self.path)
    }

    /// A digest of what its processes did, in their order ([`Trace::root`]), and how many launches there
    /// were. `None` if there is nothing to make it of, or a file can't be read.
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

    /// Reads a file of it; one that was cut off says so ([`Trace::cut`]), and what its process left
    /// [beside](LIVE_EXTENSION) it when it was killed is in it. Its frames stay in the file, which must not be written
    /// to while they may be asked for.
    ///
    /// # Errors
    /// When one can't be read, or is no recording.
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

    /// The same without streams.
    ///
    /// # Errors
    /// As [`Session::read`].
    pub fn read_index(&self, file: &ProcessFile) -> Result<Trace, Error> {
        map_file(&file.path).and_then(|bytes| {
            Trace::read_index((*bytes).as_ref()).map_err(|e| unreadable_recording(file, &e))
        })
    }
}

/// Puts what a process left when it was killed behind what was in its file: a launch that is there counts as
/// it is there.
fn append_live_file(trace: &mut Trace, mut left: Trace) {
    let known: HashSet<u64> = trace.launches.iter().map(|r| r.launch.number).collect();
    left.launches.retain(|r| !known.contains(&r.launch.number));
    left.marks.retain(|m| !known.contains(&m.launch));
    trace.append(left, 0);
}
