//! `prlx repeat`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::device::DeviceArgs;
use super::part::PartArgs;
use super::recorder::{LaunchSelectionArgs, RecorderArgs};
use super::tolerance::ToleranceArgs;

/// `prlx repeat`.
#[derive(Args, Debug)]
#[command(
    override_usage = "prlx repeat [OPTIONS] LAUNCH\n       prlx repeat [OPTIONS] -- PROGRAM…",
    after_help = EXAMPLES
)]
pub struct RepeatArgs {
    /// Launch file (docs/launch-file.md)
    #[arg(value_name = "LAUNCH", required_unless_present = "program", conflicts_with = "program")]
    pub file: Option<PathBuf>,
    /// A CUDA program and its arguments (docs/sessions.md)
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// Number of runs. On the CPU device, each run of a launch file has the next schedule seed.
    #[arg(long = "runs", short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub runs: u64,
    /// Print JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most N findings
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub findings: usize,
    /// Also count as differences what only the schedule decides: active lanes, and decisions that follow from
    /// the order of atomics although the outputs agree (docs/verdicts.md)
    #[arg(long)]
    pub strict: bool,
    /// Keep all recordings in this directory, as run-0.prlx and so on
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Programs: overwrite the recordings of an earlier run with --keep
    #[arg(long, requires = "keep")]
    pub force: bool,
    #[command(flatten)]
    pub recorder: RecorderArgs,
    #[command(flatten)]
    pub part: PartArgs,
    #[command(flatten)]
    pub selection: LaunchSelectionArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
}

const EXAMPLES: &str = "\
Examples:
  prlx repeat -n 50 launch.toml                            50 schedules of the CPU device
  prlx repeat -n 50 --digest -- python train_step.py       a program";
