//! `prlx profile`: shows where the cycles go, from markers.

mod diff;
mod launch_files;
mod program;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::{ProfileArgs, ProfileCommand, ProfileFormat};
use crate::ui::Ui;

/// Runs the command.
pub fn run(args: &ProfileArgs, ui: &Ui) -> Result<ExitCode> {
    match &args.subcommand {
        Some(ProfileCommand::Diff(args)) => diff::run(args, ui),
        None if args.sums && (args.view.span_file().is_some() || args.view.html.is_some()) => {
            let option = args.view.span_file().unwrap_or("--html");
            bail!("{option} needs single visits, and --sums records only totals")
        }
        None if args.sums && args.format == ProfileFormat::Cudaprofiler => {
            bail!("--format cudaprofiler needs single visits, and --sums records only totals")
        }
        None if args.sums && args.machine_code => {
            bail!("--machine-code needs marker records, and --sums records only totals")
        }
        None if args.machine_code && !args.command.is_empty() => {
            bail!("--machine-code is for launch files")
        }
        None if args.command.is_empty() => launch_files::run(args, ui),
        None => program::run(args, ui),
    }
}
