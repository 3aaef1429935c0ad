//! `prlx profile`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use prlx::profile::{MarkerHint, ProfileOptions};
use prlx_trace::device::tracks::{Form, MOST_ENTRIES};
use prlx_trace::mark::Via;

use super::{BufferArgs, ChoiceArgs, DeviceArgs, ViewArgs};

/// `prlx profile`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "prlx profile [OPTIONS] LAUNCH…\n       prlx profile [OPTIONS] -- COMMAND…\n       prlx profile diff [OPTIONS] A B",
    after_help = MARKERS
)]
pub struct ProfileArgs {
    /// Something other than recording
    #[command(subcommand)]
    pub subcommand: Option<ProfileCommand>,
    /// Launch files (see docs/launch-file.md)
    #[arg(value_name = "LAUNCH", required_unless_present = "command", conflicts_with = "command")]
    pub launches: Vec<PathBuf>,
    /// Also mark, with no source touched: waits, arrivals and asynchronous work, or those of these kinds
    #[arg(long, value_enum, value_name = "KIND,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = AutoMarker::USUAL)]
    pub auto: Vec<AutoMarker>,
    /// Also mark a source line, as a region
    #[arg(long, value_name = "FILE:LINE", value_parser = line)]
    pub line: Vec<(String, u32)>,
    /// Every lane has a track of its own, not only the lowest of its warp or the one that leads its group
    #[arg(long)]
    pub lanes: bool,
    /// One record of a region, as it ends, in place of two: 2.5 instructions an end of a region and not 3; no record of what is open where a kernel hangs
    /// (docs/markers.md)
    #[arg(long, conflicts_with_all = ["sums", "flight_recorder"])]
    pub spans: bool,
    /// Add up how long regions take, in place of a record of each visit: 1.5 to 2 instructions an end of a region, and nothing in memory before the
    /// kernel's end (docs/markers.md)
    #[arg(long)]
    pub sums: bool,
    /// Keep the last N records of each track in place of the first ones: what warps did last before a hang, a fault or a kill
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "60", conflicts_with = "sums",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ENTRIES)))]
    pub flight_recorder: Option<u32>,
    /// Also on the CPU device: hold the source's regions against the machine code that ptxas makes of the kernel, and say what left them
    #[arg(long)]
    pub machine_code: bool,
    /// Only these warps: FIRST..END
    #[arg(long, value_name = "FIRST..END", value_parser = super::seeds)]
    pub warps: Option<std::ops::Range<u64>>,
    /// Of a program: only kernels of this name (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Device memory for tracks, in MiB; what finds no room is counted [default: 256; on a GPU 1024; of a program 512 for each device]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub memory: Option<u64>,
    /// Record by code written into the kernel, as on a GPU, instead of by the CPU device's own eyes (which moves nothing in the
    /// schedule)
    #[arg(long)]
    pub rewritten: bool,
    /// Keep the recording: a file; of a program a new folder
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is kept
    #[arg(long, value_enum, default_value_t = ProfileFormat::Prlx, requires = "output")]
    pub format: ProfileFormat,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub view: ViewArgs,
    /// Any CUDA program and its arguments, after `--` (docs/internals/preload.md)
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl ProfileArgs {
    /// The options of the library.
    pub fn options(&self) -> ProfileOptions {
        let auto: Vec<Via> = self.auto.iter().map(|a| a.via()).collect();
        ProfileOptions {
            hint: MarkerHint::new(&auto, &self.line),
            auto,
            lines: self.line.clone(),
            lanes: self.lanes,
            form: match (self.sums, self.flight_recorder) {
                (true, _) => Form::Sums,
                (false, Some(entries)) => Form::Ring { entries },
                (false, None) if self.spans => Form::Spans,
                (false, None) => Form::Records,
            },
            warps: self.warps.as_ref().map(|w| (w.start, w.end)),
            memory: self.memory,
            rewritten: self.rewritten,
            machine_code: self.machine_code,
            device: self.device.options(),
        }
    }
}

/// What else there is to do with profiles.
#[derive(Subcommand, Debug)]
pub enum ProfileCommand {
    /// Hold two against each other: which regions take longer or shorter, and whether that is more than chance
    Diff(ProfileDiffArgs),
}

/// `prlx profile diff`.
#[derive(Args, Debug)]
#[command(after_help = VERDICTS)]
pub struct ProfileDiffArgs {
    /// The first: a recording with markers, or another profiler's buffer
    pub a: PathBuf,
    /// The one that comes later, or is new
    pub b: PathBuf,
    /// Changes below this many percent do not count
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub least: f64,
    #[command(flatten)]
    pub buffer: BufferArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

const VERDICTS: &str = "\
  prlx profile diff old.prlx new.prlx --least 5
  prlx profile diff old.npy new.npy --names load,mma,store

Exit codes: 0 same or faster, 1 slower, 2 error, 3 unknown: too little was seen to tell a change from chance (docs/profile.md).";

/// What `-o` writes.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileFormat {
    /// A recording
    Prlx,
    /// A buffer as TVM's CudaProfiler writes, as NumPy's .npy
    Cudaprofiler,
}

const MARKERS: &str = "\
Markers are labels in PTX, put there by include/prlx.cuh or one line of inline assembly (docs/markers.md):

  prlx profile launch.toml                      markers of the source
  prlx profile --auto launch.toml               and waits, arrivals, copies, products
  prlx profile --auto=barrier,trip launch.toml  and these
  prlx profile --line gemm.cu:42 launch.toml    and this line
  prlx profile --auto -- ./app                  any CUDA program
  prlx profile --auto --flight-recorder -- ./app   what its warps did last

Exit codes: 0 done, 2 error; of a program its own.";

/// What is marked from outside.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoMarker {
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

impl AutoMarker {
    /// Those that are marked where no kind is named.
    pub const USUAL: &str = "barrier,mbarrier,tma,cp-async,wgmma";

    /// As recordings say it.
    pub fn via(self) -> Via {
        match self {
            AutoMarker::Barrier => Via::Barrier,
            AutoMarker::Mbarrier => Via::Mbarrier,
            AutoMarker::Tma => Via::Tma,
            AutoMarker::CpAsync => Via::CpAsync,
            AutoMarker::Wgmma => Via::Wgmma,
            AutoMarker::Trip => Via::Trip,
            AutoMarker::Function => Via::Function,
        }
    }
}

fn line(text: &str) -> Result<(String, u32), String> {
    let parts = text.rsplit_once(':').and_then(|(file, line)| Some((file.to_owned(), line.parse().ok()?)));
    parts
        .filter(|(file, line)| !file.is_empty() && *line > 0)
        .ok_or_else(|| "it is FILE:LINE, as in gemm.cu:42".to_owned())
}
