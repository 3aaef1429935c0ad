//! `prlx probe show`: prints the tables of recordings.

use std::process::ExitCode;

use anyhow::Result;
use prlx::probe::tables_of_recordings;

use super::tables;
use crate::args::ProbeShowArgs;
use crate::ui::Ui;

/// Prints the tables of all recordings together.
pub fn run(args: &ProbeShowArgs, ui: &Ui) -> Result<ExitCode> {
    let found = tables_of_recordings(&args.recordings, &ui.monitor())?;
    let names: Vec<String> = args.recordings.iter().map(|p| p.display().to_string()).collect();
    tables::print(&found, None, None, &format!("Probes of {}", names.join(", ")), &args.show, ui)?;
    Ok(ExitCode::SUCCESS)
}
