//! `prlx cost`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx_trace::Level;
use prlx_trace::device::tracks::Form;

use super::device::DeviceArgs;
use super::parse;
use super::profile::AutoMarker;

/// `prlx cost`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CostArgs {
    /// Launch files to measure (docs/launch-file.md)
    #[arg(required = true)]
    pub launches: Vec<PathBuf>,
    /// Measure this recorder: `fingerprint`, `path`, `values` or `events`; may be repeated [default: these
    /// four, unless --probe or --markers is given]
    #[arg(long, value_parser = measured)]
    pub level: Vec<Level>,
    /// Measure this probe program: a tool's name, a file, or a program as text; may be repeated
    #[arg(long, value_name = "PROGRAM")]
    pub probe: Vec<OsString>,
    /// Measure the markers of the source, recorded in these forms [default: all]
    #[arg(long, value_enum, value_name = "FORM,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "records,spans,sums,ring")]
    pub markers: Vec<MarkerForm>,
    /// With --markers: also insert markers, as `prlx profile --auto` does
    #[arg(long, value_enum, value_name = "KIND,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = AutoMarker::USUAL, requires = "markers")]
    pub auto: Vec<AutoMarker>,
    /// Also measure a kernel of the same name and parameters in this PTX file; may be repeated
    #[arg(long, value_name = "PTX")]
    pub also: Vec<PathBuf>,
    /// Number of measured rounds; each runs every form of the kernel once [default: 21 on a GPU; 1 on the CPU
    /// device, which counts instructions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: Option<u32>,
    /// Keep the GPU's caches between runs, instead of flushing them
    #[arg(long)]
    pub warm: bool,
    /// Device memory for recorded streams, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    pub memory: u64,
    /// Print the results as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceArgs,
}

impl CostArgs {
    /// The levels to measure: the given ones, or all if nothing else is measured.
    pub fn levels(&self) -> Vec<Level> {
        if self.level.is_empty() && self.probe.is_empty() && self.markers.is_empty() {
            vec![Level::Fingerprint, Level::Path, Level::Values, Level::Events]
        } else {
            self.level.clone()
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  prlx cost launch.toml --device cuda
  prlx cost launch.toml --probe global-bytes --level path
  prlx cost launch.toml --markers=records,sums --auto";

/// What a marker records.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkerForm {
    /// One record for each begin and each end
    Records,
    /// One record for each region, when it ends
    Spans,
    /// The total time of each region
    Sums,
    /// The last 60 records
    Ring,
}

impl MarkerForm {
    /// The name in results, and the form in tracks.
    pub fn form(self) -> (&'static str, Form) {
        match self {
            MarkerForm::Records => ("records", Form::Records),
            MarkerForm::Spans => ("spans", Form::Spans),
            MarkerForm::Sums => ("sums", Form::Sums),
            MarkerForm::Ring => ("ring", Form::Ring { entries: ENTRIES }),
        }
    }
}

/// Records of a ring: the default of `prlx profile --flight-recorder`.
const ENTRIES: u32 = 60;

fn measured(text: &str) -> Result<Level, String> {
    match parse::level(text)? {
        Level::Operands => {
            Err("level `operands` records a window around a finding, so its overhead is that of the window"
                .into())
        }
        level => Ok(level),
    }
}
