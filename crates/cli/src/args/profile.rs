//! `prlx profile`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prlx_trace::mark::Via;

use super::{DeviceArgs, ViewArgs};

/// `prlx profile`.
#[derive(Args, Debug)]
#[command(after_help = MARKERS)]
pub struct ProfileArgs {
    /// Launch files (see docs/launch-file.md)
    #[arg(value_name = "LAUNCH", required = true)]
    pub launches: Vec<PathBuf>,
    /// Also mark, with no source touched: waits, arrivals and asynchronous work, or those of these kinds
    #[arg(long, value_enum, value_name = "KIND,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = "barrier,mbarrier,tma,cp-async,wgmma")]
    pub auto: Vec<Auto>,
    /// Also mark a source line, as a region
    #[arg(long, value_name = "FILE:LINE", value_parser = line)]
    pub line: Vec<(String, u32)>,
    /// Every lane has a track of its own, not only the lowest of its warp or the one that leads its group
    #[arg(long)]
    pub lanes: bool,
    /// Only these warps: FIRST..END
    #[arg(long, value_name = "FIRST..END", value_parser = super::seeds)]
    pub warps: Option<std::ops::Range<u64>>,
    /// Device memory for tracks, in MiB; what finds no room is counted [default: 256; on a GPU 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub memory: Option<u64>,
    /// Record by code written into the kernel, as on a GPU, instead of by the CPU device's own eyes (which moves nothing in the
    /// schedule)
    #[arg(long)]
    pub rewritten: bool,
    /// Keep the recording
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

const MARKERS: &str = "\
Markers are labels in PTX, put there by include/prlx.cuh or one line of inline assembly (docs/markers.md):

  prlx profile launch.toml                      markers of the source
  prlx profile --auto launch.toml               and waits, arrivals, copies, products
  prlx profile --auto=barrier,trip launch.toml  and these
  prlx profile --line gemm.cu:42 launch.toml    and this line

Exit codes: 0 done, 2 error.";

/// What is marked from outside.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Auto {
    /// Barriers of CTA and cluster
    Barrier,
    /// mbarriers: waits and arrivals
    Mbarrier,
    /// Tensor and bulk copies
    Tma,
    /// `cp.async`
    CpAsync,
    /// Products of warp groups
    Wgmma,
    /// Trips of loops
    Trip,
    /// Functions
    Function,
}

impl Auto {
    /// As recordings say it.
    pub fn via(self) -> Via {
        match self {
            Auto::Barrier => Via::Barrier,
            Auto::Mbarrier => Via::Mbarrier,
            Auto::Tma => Via::Tma,
            Auto::CpAsync => Via::CpAsync,
            Auto::Wgmma => Via::Wgmma,
            Auto::Trip => Via::Trip,
            Auto::Function => Via::Function,
        }
    }
}

fn line(text: &str) -> Result<(String, u32), String> {
    let parts = text.rsplit_once(':').and_then(|(file, line)| Some((file.to_owned(), line.parse().ok()?)));
    parts
        .filter(|(file, line)| !file.is_empty() && *line > 0)
        .ok_or_else(|| "it is FILE:LINE, as in gemm.cu:42".to_owned())
}
