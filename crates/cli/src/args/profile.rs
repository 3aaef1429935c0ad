//! `prlx profile`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use prlx::profile::{MarkerHint, ProfileOptions};
use prlx_trace::device::tracks::{Form, MOST_ENTRIES};
use prlx_trace::mark::Via;

use super::device::DeviceArgs;
use super::parse;
use super::recorder::LaunchSelectionArgs;
use super::timeline::{BufferArgs, ViewArgs};

/// `prlx profile`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "prlx profile [OPTIONS] LAUNCH…\n       prlx profile [OPTIONS] -- COMMAND…\n       prlx profile diff [OPTIONS] A B",
    after_help = MARKERS
)]
pub struct ProfileArgs {
    /// A command other than recording
    #[command(subcommand)]
    pub subcommand: Option<ProfileCommand>,
    /// Launch files (docs/launch-file.md)
    #[arg(value_name = "LAUNCH", required_unless_present = "command", conflicts_with = "command")]
    pub launches: Vec<PathBuf>,
    /// A CUDA program and its arguments (docs/sessions.md)
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Also insert markers, without changing the source: around waits, arrivals and asynchronous work, or
    /// code of these kinds
    #[arg(long, value_enum, value_name = "KIND,…", num_args = 0..=1, require_equals = true, value_delimiter = ',',
          default_missing_value = AutoMarker::USUAL)]
    pub auto: Vec<AutoMarker>,
    /// Also mark a source line, as a region
    #[arg(long, value_name = "FILE:LINE", value_parser = line)]
    pub line: Vec<(String, u32)>,
    /// Record a track for every lane, not only for the lowest lane of a warp or the leader of a group
    #[arg(long)]
    pub lanes: bool,
    /// Write one record for each region, when it ends, instead of two: 2.5 instructions for each marker
    /// instead of 3. A kernel that hangs leaves no record of open regions (docs/markers.md).
    #[arg(long, conflicts_with_all = ["sums", "flight_recorder"])]
    pub spans: bool,
    /// Add up the time of each region instead of recording each visit: 1.5 to 2 instructions for each marker,
    /// and no memory traffic before the kernel ends (docs/markers.md)
    #[arg(long)]
    pub sums: bool,
    /// Keep the last N records of each track instead of the first ones: what warps did before a hang, a fault
    /// or a kill
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "60", conflicts_with = "sums",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ENTRIES)))]
    pub flight_recorder: Option<u32>,
    /// Compare regions with the machine code from ptxas, and report instructions that left them; on a GPU
    /// this is the default
    #[arg(long)]
    pub machine_code: bool,
    /// Record only these warps of the grid, as 0-3,9
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::range)]
    pub warps: Vec<(u64, u64)>,
    /// Programs: record only kernels whose names match (`*` and `?` match; or a regular expression between
    /// two `/`)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Device memory for tracks, in MiB; records that do not fit are counted [default: 256; on a GPU 1024;
    /// for a program 512 on each device]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(..=1 << 20))]
    pub memory: Option<u64>,
    /// On the CPU device, record with instrumented code, as on a GPU. By default the CPU device records by
    /// itself, which does not change the schedule.
    #[arg(long)]
    pub rewritten: bool,
    /// Keep the recording: a file, or a new directory for a program
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Programs: overwrite the directory of an earlier recording
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Format of the kept recording
    #[arg(long, value_enum, default_value_t = ProfileFormat::Prlx, requires = "output")]
    pub format: ProfileFormat,
    #[command(flatten)]
    pub selection: LaunchSelectionArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub view: ViewArgs,
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
            warps: self.warps.clone(),
            memory: self.memory,
            rewritten: self.rewritten,
            machine_code: self.machine_code,
            device: self.device.options(),
        }
    }
}

/// The other commands for profiles.
#[derive(Subcommand, Debug)]
pub enum ProfileCommand {
    /// Compare two timelines: which regions take longer or shorter, and whether the change is significant
    Diff(ProfileDiffArgs),
}

/// `prlx profile diff`.
#[derive(Args, Debug)]
#[command(after_help = VERDICTS)]
pub struct ProfileDiffArgs {
    /// First timeline: a recording with markers, or another profiler's buffer
    pub a: PathBuf,
    /// Second timeline: the new one
    pub b: PathBuf,
    /// Ignore changes below so many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub least: f64,
    #[command(flatten)]
    pub buffer: BufferArgs,
    #[command(flatten)]
    pub view: ViewArgs,
}

const VERDICTS: &str = "\
Exit codes: 0 same or faster, 1 slower, 2 error, 3 unknown: too few samples for a significant result
(docs/profile.md).

Examples:
  prlx profile diff old.prlx new.prlx --least 5
  prlx profile diff old.npy new.npy --names load,mma,store";

/// The format of a kept recording.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileFormat {
    /// A recording of PRLX
    Prlx,
    /// A buffer of TVM's CudaProfiler, as a .npy file
    Cudaprofiler,
}

const MARKERS: &str = "\
Markers are labels in PTX. include/prlx.cuh or one line of inline assembly defines them (docs/markers.md).

Exit codes: 0 done, 2 wrong option or file, 4 a kernel faulted or did not end; for a program, its own.

Examples:
  prlx profile launch.toml                        markers of the source
  prlx profile --auto launch.toml                 also waits, arrivals, copies, matrix products
  prlx profile --auto=barrier,trip launch.toml    also barriers and loop iterations
  prlx profile --line gemm.cu:42 launch.toml      also this line
  prlx profile --auto -- ./app                    a CUDA program
  prlx profile --auto --flight-recorder -- ./app  the last records of each warp";

/// What gets markers without a change of the source.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoMarker {
    /// Barriers of CTAs and clusters
    Barrier,
    /// Waits and arrivals at mbarriers
    Mbarrier,
    /// Tensor and bulk copies (TMA)
    Tma,
    /// `cp.async`
    CpAsync,
    /// Matrix products of warp groups
    Wgmma,
    /// Iterations of loops
    Trip,
    /// Bodies of functions
    Function,
}

impl AutoMarker {
    /// The kinds of `--auto` without a value.
    pub const USUAL: &str = "barrier,mbarrier,tma,cp-async,wgmma";

    /// The kind in recordings.
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
