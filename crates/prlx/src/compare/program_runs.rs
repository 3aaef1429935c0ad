//! Runs the programs of a comparison, each as often as the comparison needs it.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use prlx_driver::session::{Options, Session};

use crate::Monitor;
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
