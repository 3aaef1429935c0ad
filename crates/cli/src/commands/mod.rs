//! One file a command.

mod doctor;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::Command;
use crate::ui::Ui;

/// Runs a command and gives the process's exit code.
pub fn run(command: Command, ui: &Ui) -> Result<ExitCode> {
    match command {
        Command::Doctor(args) => doctor::run(&args, ui),
        _ => anyhow::bail!("not linked in yet"),
    }
}
