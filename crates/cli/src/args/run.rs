//! `prlx run`.

use std::ops::Range;
use std::path::PathBuf;

use clap::Args;

use super::compare::CompareArgs;
use super::device::{ContractArgs, DeviceArgs};
use super::parse;
use super::part::PartArgs;
use super::recorder::{LaunchSelectionArgs, RecorderArgs};
use super::report::ReportArgs;
use super::tolerance::ToleranceArgs;

/// `prlx run`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Launch file (docs/launch-file.md)
    pub launch: PathBuf,
    /// Run under the schedules FIRST to END-1, list the outcomes, and compare the two most frequent ones
    #[arg(long, value_name = "FIRST..END", value_parser = parse::seeds, conflicts_with = "seed")]
    pub seeds: Option<Range<u64>>,
    /// Let the launch file write its outputs outside of its own folder
    #[arg(long)]
    pub allow_writes_outside: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub tolerance: ToleranceArgs,
    #[command(flatten)]
    pub contract: ContractArgs,
}

const EXAMPLES: &str = "\
Examples:
  prlx run examples/threshold/good.toml                    on the CPU device
  prlx run examples/threshold/good.toml --device cuda      on a GPU
  prlx run examples/threshold/good.toml --check all        with all checks
  prlx run examples/threshold/good.toml --seeds 0..200     under 200 schedules
  prlx run examples/threshold/good.toml --check all --seeds 0..8";

impl RunArgs {
    /// The comparison that `--seeds` asks for.
    pub fn under_seeds(&self) -> CompareArgs {
        let recorder = RecorderArgs::default();
        CompareArgs {
            a: Some(self.launch.clone()),
            b: None,
            command_a: None,
            command_b: None,
            recorder,
            part: PartArgs::default(),
            selection: LaunchSelectionArgs::default(),
            device: self.device.clone(),
            contract: self.contract,
            report: ReportArgs { json: self.json, findings: 1, ..ReportArgs::default() },
            seeds: self.seeds.clone(),
            no_zoom: false,
            tolerance: self.tolerance.clone(),
            no_explain: false,
            no_outputs: false,
            printed: false,
            keep: None,
            force: false,
        }
    }
}
