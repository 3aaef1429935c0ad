//! `session.json`: what is said of a session when its program has ended.
//!
//! # Limitations
//! Nothing in it is needed to read the files; it says what they can't know: the command, and how it ended.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use prlx_trace::Trace;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::session::process_file::{ProcessFile, refuse};

/// Its name in the folder.
pub const INDEX: &str = "session.json";

const FORMAT: &str = "prlx-session";

/// The number that changes when a key changes its meaning or goes; new keys do not change it.
const VERSION: u32 = 1;

/// What is said of a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionIndex {
    format: String,
    version: u32,
    /// The command, program first.
    pub command: Vec<String>,
    /// What the program gave back; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How long it took, in nanoseconds.
    pub nanos: u64,
    /// A line for each file.
    pub processes: Vec<ProcessEntry>,
}

/// What is said of a file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProcessEntry {
    /// Its name in the folder.
    pub file: String,
    /// The process.
    pub pid: Option<u32>,
    /// Its host.
    pub host: Option<String>,
    /// Its rank, if it has one.
    pub rank: Option<u32>,
    /// Why not all of it can be read: how it was cut off, or why it is no recording.
    pub incomplete: Option<String>,
    /// Launches, those too that were not recorded.
    pub launches: u64,
    /// Launches that were recorded.
    pub recorded: u64,
    /// Elements that did not fit.
    pub dropped: u64,
    /// How long the recorded launches ran, each by itself, where that is known: nanoseconds.
    #[serde(default)]
    pub ran: u64,
    /// Launches that were not recorded, by reason.
    pub skipped: BTreeMap<String, u64>,
}

impl ProcessEntry {
    /// Of a file and what can be read of it.
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
    /// Of a program that ran.
    pub fn new(
        command: Vec<String>,
        code: Option<i32>,
        signal: Option<i32>,
        nanos: u64,
        processes: Vec<ProcessEntry>,
    ) -> SessionIndex {
        SessionIndex { format: FORMAT.into(), version: VERSION, command, code, signal, nanos, processes }
    }
    /// Puts it into the session's folder, whole or not at all.
    ///
    /// # Errors
    /// When that can't be written to.
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
    /// That of a folder, if it has one.
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
