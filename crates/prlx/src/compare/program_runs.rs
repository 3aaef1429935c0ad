//! Runs the programs of a comparison, each as often as the comparison needs it.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use prlx_driver::session::{LaunchPart, Options, Session};

use crate::Monitor;
use crate::diff::match_processes;
use crate::record::{self, ProgramOutput, Supervisor};

/// Two programs that run more than once.
pub(super) struct Programs<'a> {
    pub(super) commands: [&'a [OsString]; 2],
    /// Where recordings go.
    pub(super) folder: &'a Path,
    /// Overwrite recordings that are there.
    pub(super) force: bool,
    pub(super) supervisor: Supervisor,
}

impl Programs<'_> {
    /// Runs side `side` once more and records only the launch with this number, of the process with file
    /// `file` of the session `before`. Returns the new session and the position of that process's file in it;
    /// `None` if the process is not there.
    pub(super) fn record_launch(
        &self,
        side: usize,
        suffix: &str,
        (before, file, number): (&Session, usize, u64),
        options: Options,
        monitor: &Monitor<'_>,
    ) -> Result<(Session, Option<usize>)> {
        let launches = vec![(number, number + 1)];
        let part = LaunchPart::default();
        let options = Options { part, launches, skip: 0, count: None, time: None, digest: None, ..options };
        let made = self.record(side, suffix, &options, monitor)?;
        let same = match_processes(&[before.clone(), made.clone()]).pairs;
        let now = same.into_iter().find(|(then, _)| *then == file).map(|(_, now)| now);
        Ok((made, now))
    }

    /// Runs side `side` once more; the name of its recording ends in `suffix`.
    pub(super) fn record(
        &self,
        side: usize,
        suffix: &str,
        options: &Options,
        monitor: &Monitor<'_>,
    ) -> Result<Session> {
        monitor.check()?;
        let name = ["a", "b"][side];
        let options = Options { folder: self.folder.join(format!("{name}{suffix}.prlx")), ..options.clone() };
        if self.force {
            record::remove_recording(&options.folder)?;
        }
        let output = ProgramOutput::ToStderr;
        let ended = record::run_program(self.commands[side], &options, output, &self.supervisor, monitor)?;
        if ended.stopped {
            bail!("stopped by a signal, while {} ran", name.to_uppercase());
        }
        if let Some(how) = ended.failure() {
            monitor.warn(&format!("{} {how}", name.to_uppercase()));
        }
        Ok(Session::open(&options.folder)?)
    }
}
