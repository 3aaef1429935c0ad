//! `session.json`: the command of a session, how it ended, and a summary of each file.
//!
//! # Limitations
//! The files can be read without the index. It holds only what they cannot know.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use prlx_trace::{Nanos, Trace};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::session::process_file::{ProcessFile, refuse};

/// Name of the index in the session's folder.
pub const INDEX: &str = "session.json";

const FORMAT: &str = "prlx-session";

/// Version of the format. It changes when a key is removed or changes its meaning; new keys do not change it.
const VERSION: u32 = 1;

/// The index of a session, written when its program has ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionIndex {
    format: String,
    version: u32,
    /// Command line, program first.
    pub command: Vec<String>,
    /// Exit code of the program; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Signal that ended the program.
    pub signal: Option<i32>,
    /// Wall time of the program.
    pub nanos: Nanos,
    /// One entry for each file.
    pub processes: Vec<ProcessEntry>,
}

/// Summary of one file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessEntry {
    /// Name of the file in the session's folder.
    pub file: String,
    /// ID of the process on its host.
    pub pid: Option<u32>,
    /// Host name of the process.
    pub host: Option<String>,
    /// Rank of the process in its job, if it has one.
    pub rank: Option<u32>,
    /// Why the file cannot be read in full: how it is truncated, or why it is not a recording.
    pub incomplete: Option<String>,
    /// Number of launches, including those that were not recorded.
    pub launches: u64,
    /// Number of recorded launches.
    pub recorded: u64,
    /// Number of elements that were dropped for lack of memory.
    pub dropped: u64,
    /// Sum of the run times of the recorded launches, as far as they are known.
    #[serde(default)]
    pub ran: u64,
    /// Number of launches that were not recorded, by reason.
    pub skipped: BTreeMap<String, u64>,
}

impl ProcessEntry {
    /// Summarises a file. `trace` is its content, or why it cannot be read.
    pub fn new(file: &ProcessFile, trace: &Result<Trace, Error>) -> ProcessEntry {
        let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let process = file.process.as_ref();
        let mut entry = ProcessEntry {
            file: name,
            pid: process.map(|p| p.pid),
            host: process.map(|p| p.host.clone()),
            rank: process.and_then(|p| p.rank),
            ..ProcessEntry::default()
        };
        match trace {
            Err(e) => entry.incomplete = Some(e.message.clone()),
            Ok(trace) => {
                entry.incomplete = trace.cut.as_ref().map(ToString::to_string);
                for launch in trace.launches.iter().map(|r| &r.launch) {
                    entry.launches += 1;
                    entry.dropped = entry.dropped.saturating_add(launch.totals.dropped);
                    entry.ran = entry.ran.saturating_add(launch.totals.instrumented);
                    match &launch.skipped {
                        None => entry.recorded += 1,
                        Some(why) => *entry.skipped.entry(why.clone()).or_default() += 1,
                    }
                }
            }
        }
        entry
    }
}

impl SessionIndex {
    /// The index of a program that has ended.
    pub fn new(
        command: Vec<String>,
        code: Option<i32>,
        signal: Option<i32>,
        nanos: Nanos,
        processes: Vec<ProcessEntry>,
    ) -> SessionIndex {
        SessionIndex { format: FORMAT.into(), version: VERSION, command, code, signal, nanos, processes }
    }
    /// Writes the index into the session's folder. The file appears complete or not at all.
    ///
    /// # Errors
    /// If the folder cannot be written to.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let part = folder.join(format!("{INDEX}.part"));
        std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, folder.join(INDEX))).inspect_err(
            |_| {
                let _ = std::fs::remove_file(&part);
            },
        )
    }
    /// Reads the index of a folder, if it has one.
    pub(super) fn read(folder: &Path) -> Result<Option<SessionIndex>, Error> {
        let path = folder.join(INDEX);
        let wrong = |what: String| Err(refuse(format!("{}: {what}", path.display())));
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return wrong(e.to_string()),
        };
        match serde_json::from_slice::<SessionIndex>(&text) {
            Err(e) => wrong(e.to_string()),
            Ok(i) if i.format != FORMAT => wrong(format!("it is a `{}`, not a `{FORMAT}`", i.format)),
            Ok(i) if i.version != VERSION => {
                wrong(format!("it is of version {}; this prlx reads {VERSION}", i.version))
            }
            Ok(index) => Ok(Some(index)),
        }
    }
}
