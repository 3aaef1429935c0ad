//! One file for each command: it calls the library, and prints the result.

mod amd_images;
mod assert;
mod compare;
mod convert;
mod cost;
mod diff;
mod diff_legacy;
mod doctor;
mod dump;
mod images;
mod inspect;
mod inspect_old;
mod instrument;
mod manual;
mod merge;
mod new;
mod probe;
mod profile;
#[cfg(feature = "query")]
mod query;
mod record;
mod repeat;
mod run;
mod timeline;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::Command;
use crate::ui::Ui;

/// Runs a command, and returns the exit code of the process.
pub fn run(command: Command, ui: &Ui) -> Result<ExitCode> {
    match command {
        Command::New(args) => new::run(&args, ui),
        Command::Run(args) => run::run(&args, ui),
        Command::Record(args) => record::run(&args, ui),
        Command::Diff(args) => diff::run(&args, ui),
        Command::Convert(args) => convert::run(&args, ui),
        Command::Merge(args) => merge::run(&args, ui),
        Command::Assert(args) => assert::run(&args, ui),
        Command::Compare(args) => compare::run(&args, ui),
        Command::Repeat(args) => repeat::run(&args, ui),
        #[cfg(feature = "query")]
        Command::Query(args) => query::run(&args, ui),
        #[cfg(not(feature = "query"))]
        Command::Query(_) => Err(crate::features::missing("the command `query`", "query")),
        Command::Cost(args) => cost::run(&args, ui),
        Command::Probe(args) => probe::run(&args, ui),
        Command::ProbeEngine(args) => probe::run_engine(&args, ui),
        Command::Profile(args) => profile::run(&args, ui),
        Command::Timeline(args) => timeline::run(&args, ui),
        Command::Instrument(args) => instrument::run(&args, ui),
        Command::Inspect(args) => inspect::run(&args, ui),
        Command::Doctor(args) => doctor::run(&args, ui),
        Command::Man(args) => manual::man(&args),
        Command::Completions(args) => manual::completions(&args),
    }
}
