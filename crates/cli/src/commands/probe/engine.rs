//! `prlx probe-engine`: inserts a probe into one kernel of a binary, step by step.

use std::process::ExitCode;

use anyhow::Result;
use prlx::probe::{EngineOptions, run_engine};

use crate::args::ProbeEngineArgs;
use crate::ui::Ui;

/// Does all steps.
pub fn run(args: &ProbeEngineArgs, ui: &Ui) -> Result<ExitCode> {
    let options = EngineOptions {
        workdir: args.workdir.clone(),
        kernel: args.kernel.clone(),
        probe: args.probe.clone(),
        arch: args.arch,
    };
    run_engine(&options, &ui.monitor())?;
    Ok(ExitCode::SUCCESS)
}
