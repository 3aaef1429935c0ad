//! `prlx probe` and `prlx probe-engine`: run probe programs, and explain them.

mod check;
mod engine;
mod explain;
mod launch_files;
mod list;
mod program;
mod show;
mod tables;

pub use engine::run as run_engine;

use std::process::ExitCode;

use anyhow::Result;
use prlx::probe;

use crate::args::{ProbeArgs, ProbeCommand};
use crate::ui::Ui;

/// Runs the command.
pub fn run(args: &ProbeArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.subcommand {
        None => {
            let selected = probe::select(&args.words, args.file.as_deref(), &ui.monitor())?;
            if args.command.is_empty() {
                launch_files::run(args, &selected, ui)
            } else {
                program::run(args, &selected, ui)
            }
        }
        Some(ProbeCommand::List) => list::run(),
        Some(ProbeCommand::Check(args)) => check::run(args, ui),
        Some(ProbeCommand::Explain(args)) => explain::run(args, ui),
        Some(ProbeCommand::Show(args)) => show::run(args, ui),
    }
}
