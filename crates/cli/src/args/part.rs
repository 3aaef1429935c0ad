//! Options for a part of a program's launches.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use prlx_driver::session::{LaunchBound, LaunchPart, RangePattern};

/// The first and the last launch of a part, and the range that its launches lie in.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Program options")]
pub struct PartArgs {
    /// Only from this launch of each process on: its number, its kernel's NAME (`*` and `?` match), NAME#N,
    /// the N-th launch of such a kernel, counted from 0, or nvtx:RANGE, the first launch in an NVTX range, as
    /// in `nvtx:step_3` or `nvtx:step#2`, the third range of this name
    #[arg(long, value_name = "LAUNCH", value_parser = LaunchBound::from_str)]
    pub from: Option<LaunchBound>,
    /// Only up to this launch, named as for --from; NAME is the first such launch after the begin, and
    /// nvtx:RANGE the last launch in the first such range
    #[arg(long, value_name = "LAUNCH", value_parser = LaunchBound::from_str)]
    pub to: Option<LaunchBound>,
    /// Only launches in NVTX ranges with this name: NAME (`*` and `?` match), NAME@DOMAIN, or NAME#N, the
    /// N-th range of this name that contains a launch, counted from 0
    #[arg(long, value_name = "NAME", value_parser = RangePattern::from_str)]
    pub range: Option<RangePattern>,
}

impl PartArgs {
    /// The part; all launches without an option.
    pub fn options(&self) -> LaunchPart {
        LaunchPart { from: self.from.clone(), to: self.to.clone(), range: self.range.clone() }
    }

    /// Fails if an option is given, because a launch file has one launch.
    pub fn refuse_for_launch_file(&self) -> Result<()> {
        if !self.options().is_all() {
            bail!("--from, --to and --range are for programs: a launch file has one launch");
        }
        Ok(())
    }
}
