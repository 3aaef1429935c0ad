//! Runs launch files with a probe program, and prints its tables.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::probe::{ProbeOptions, SelectedScript, probe_launch_files};
use prlx::record;

use super::tables;
use crate::args::ProbeArgs;
use crate::failure;
use crate::report;
use crate::ui::Ui;

/// Runs them one after the other; the tables are over all of them.
pub fn run(args: &ProbeArgs, selected: &SelectedScript<'_>, ui: &Ui) -> Result<ExitCode> {
    if selected.rest.is_empty() {
        bail!("name a launch file after the probe program, or a program to run after `--`");
    }
    if args.interval.is_some() {
        bail!("--interval is for programs: the tables of a launch file are read when it ends");
    }
    if args.memory.is_some() {
        bail!("--memory is for programs: a launch file allocates what its tables and records need");
    }
    if args.device.check.is_some() {
        bail!("--check checks the unchanged kernel: use it with `prlx run`");
    }
    let launches: Vec<PathBuf> = selected.rest.iter().map(PathBuf::from).collect();
    let options = ProbeOptions {
        kernels: args.kernel.clone(),
        device: args.device.options(),
        rewritten: args.rewritten,
    };
    let probed = probe_launch_files(&launches, selected, &options, &ui.monitor())?;
    if let Some(output) = &args.output {
        record::save(&probed.trace, output)?;
    }
    let names: Vec<String> = launches.iter().map(|p: &PathBuf| Path::display(p).to_string()).collect();
    if !args.show.json {
        probed.printed.iter().try_for_each(|text| report::print_text(text, ui))?;
    }
    let title = format!("Probes of {}", names.join(", "));
    let stopped = probed.stopped.as_deref();
    tables::print(&probed.tables, Some(&probed.printed), stopped, &title, &args.show, ui)?;
    match probed.stopped {
        Some(why) => Ok(failure::stopped(&why, ui)),
        None => Ok(ExitCode::SUCCESS),
    }
}
