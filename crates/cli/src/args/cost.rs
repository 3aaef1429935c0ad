//! `prlx cost`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use prlx_trace::Level;

use super::{DeviceArgs, level};

/// `prlx cost`.
#[derive(Args, Debug)]
pub struct CostArgs {
    /// Launch files
    #[arg(required = true)]
    pub launches: Vec<PathBuf>,
    /// Only this recorder, `print`, `path` or `events`; may be repeated [default: all three, unless there is --probe]
    #[arg(long, value_parser = measured)]
    pub level: Vec<Level>,
    /// This probe program: a tool's name, a file, or a program as text; may be repeated. Without --level, programs alone are
    /// measured
    #[arg(long, value_name = "PROGRAM")]
    pub probe: Vec<OsString>,
    /// Rounds that count, each with one run of every form of the kernel [default: 21 on a GPU; 1 on the CPU device, which
    /// counts instructions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Leave the GPU's caches as the run before left them, instead of filling them with something else
    #[arg(long)]
    pub warm: bool,
    /// Device memory for streams, for each level, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub memory: u64,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl CostArgs {
    /// The levels to measure.
    pub fn levels(&self) -> Vec<Level> {
        if self.level.is_empty() && self.probe.is_empty() {
            vec![Level::Print, Level::Path, Level::Events]
        } else {
            self.level.clone()
        }
    }
}

fn measured(text: &str) -> Result<Level, String> {
    match level(text)? {
        Level::Operands => Err("level `operands` costs what its window costs: there is none here".into()),
        level => Ok(level),
    }
}
