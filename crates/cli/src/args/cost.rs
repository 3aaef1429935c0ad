//! `prlx cost`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx_trace::Level;
use prlx_trace::device::tracks::Form;

use super::profile::AutoMarker;
use super::{DeviceArgs, level};

/// `prlx cost`.
#[derive(Args, Debug)]
pub struct CostArgs {
    /// Launch files
    #[arg(required = true)]
    pub launches: Vec<PathBuf>,
    /// Only this recorder, `fingerprint`, `path` or `events`; may be repeated [default: all three, unless there is --probe or
    /// --markers]
    #[arg(long, value_parser = measured)]
    pub level: Vec<Level>,
    /// This probe program: a tool's name, a file, or a program as text; may be repeated. Without --level, programs alone are
    /// measured
    #[arg(long, value_name = "PROGRAM")]
    pub probe: Vec<OsString>,
    /// Markers that leave records, spans, sums, or a ring of the last 60, over markers that nobody reads; with commas [default: all]
    #[arg(long, value_enum, value_name = "FORM,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "records,spans,sums,ring")]
    pub markers: Vec<MarkerForm>,
    /// Also markers from outside, as `prlx profile` puts them
    #[arg(long, value_enum, value_name = "KIND,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = AutoMarker::USUAL, requires = "markers")]
    pub auto: Vec<AutoMarker>,
    /// This file's PTX too, which has a kernel of the same name and parameters, as one more form; may be repeated
    #[arg(long, value_name = "PTX")]
    pub also: Vec<PathBuf>,
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
        if self.level.is_empty() && self.probe.is_empty() && self.markers.is_empty() {
            vec![Level::Fingerprint, Level::Path, Level::Events]
        } else {
            self.level.clone()
        }
    }
}

/// What markers leave.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkerForm {
    /// A record of each
    Records,
    /// A record of each region, as it ends
    Spans,
    /// What regions take together
    Sums,
    /// The last records
    Ring,
}

impl MarkerForm {
    /// Its name, and as tracks have it.
    pub fn form(self) -> (&'static str, Form) {
        match self {
            MarkerForm::Records => ("records", Form::Records),
            MarkerForm::Spans => ("spans", Form::Spans),
            MarkerForm::Sums => ("sums", Form::Sums),
            MarkerForm::Ring => ("ring", Form::Ring { entries: ENTRIES }),
        }
    }
}

/// As a flight recorder keeps by default.
const ENTRIES: u32 = 60;

fn measured(text: &str) -> Result<Level, String> {
    match level(text)? {
        Level::Operands => Err("level `operands` costs what its window costs: there is none here".into()),
        level => Ok(level),
    }
}
