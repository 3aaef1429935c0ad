//! The command line, declared once: names, defaults and help texts.
//!
//! Parsing has no side effects; each command's work is in `commands/`.

mod cost;
mod legacy;
mod probe;
mod profile;
mod timeline;

use std::ffi::OsString;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use prlx::convert::Packing;
use prlx::device::{DeviceChoice, DeviceOptions};
use prlx::record::{LaunchSelection, RecorderOptions};
use prlx_analyze::Shard;
use prlx_analyze::gate::Rule;
use prlx_driver::session::Pattern;
use prlx_emu::Checks;
use prlx_isa::image::Target;
use prlx_trace::Level;
use prlx_trace::check::Check;
use prlx_trace::kernel::SiteClass;

pub use cost::CostArgs;
pub use legacy::LegacyArgs;
pub use probe::{
    ProbeArgs, ProbeCheckArgs, ProbeCommand, ProbeEngineArgs, ProbeExplainArgs, ProbeShowArgs, TableArgs,
};
pub use profile::{ProfileArgs, ProfileCommand, ProfileDiffArgs, ProfileFormat};
pub use timeline::{BufferArgs, TimelineArgs, ViewArgs};

/// Two runs of a GPU kernel were meant to agree: where did they first part, in which lanes, and why?
#[derive(Parser, Debug)]
#[command(name = "prlx", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// Colours and line drawing
    #[arg(long, value_enum, default_value_t = When::Auto, global = true)]
    pub color: When,
    /// No progress on the terminal
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 same (or done), 1 differs, 2 error, 3 unknown: something that could hide a difference was not seen.

Start here:  prlx compare examples/threshold/good.toml examples/threshold/bad.toml";

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a launch file and show what its buffers hold afterwards
    Run(RunArgs),
    /// Run a launch file, or any CUDA program, with a recorder and keep the recording
    Record(RecordArgs),
    /// Compare two recordings: of launch files, or of programs
    Diff(DiffArgs),
    /// Write a recording in another format, and say what that cannot hold
    Convert(ConvertArgs),
    /// Put the parts of a report together that `diff --shard` made
    Merge(MergeArgs),
    /// Run two launch files, or two programs, and say where they first part
    Compare(CompareArgs),
    /// Hold a new recording against a golden one: it may differ only where you allow it
    Assert(AssertArgs),
    /// Run a launch file or a program many times, and say which outcomes there are and where they part
    Repeat(RepeatArgs),
    /// Ask SQL of the tables of a recording, or of two and what differs between them (docs/query.md)
    #[cfg(feature = "query")]
    Query(QueryArgs),
    /// Measure what recording costs a kernel here, at each level
    Cost(CostArgs),
    /// Ask a kernel anything: a small program counts, sums and keeps what you name
    Probe(ProbeArgs),
    /// Weave a probe into one kernel of a binary, step by step, with every step kept on disk
    ProbeEngine(ProbeEngineArgs),
    /// Say where the cycles go inside kernels, from markers in their source or put there from outside
    Profile(Box<ProfileArgs>),
    /// Where the cycles go inside a kernel: of a recording with markers, or another profiler's buffer
    Timeline(TimelineArgs),
    /// Write the recorder's code into PTX
    Instrument(InstrumentArgs),
    /// Show what is in a file: PTX, cubin, fatbin, program, launch file or recording
    Inspect(InspectArgs),
    /// What of GPU, driver and compilers is here, and what that allows
    Doctor(DoctorArgs),
}

/// When to use colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// On terminals, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Never
    Never,
}

/// `prlx run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Launch file (see docs/launch-file.md)
    pub launch: PathBuf,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Run it under many schedules, FIRST..END, say which outcomes there are, and where the two most frequent part
    #[arg(long, value_name = "FIRST..END", value_parser = seeds, conflicts_with_all = ["seed", "check"])]
    pub seeds: Option<Range<u64>>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl RunArgs {
    /// The comparison that `--seeds` asks for.
    pub fn under_seeds(&self) -> CompareArgs {
        let recorder = RecorderArgs { level: Level::Path, ..RecorderArgs::default() };
        CompareArgs {
            a: Some(self.launch.clone()),
            b: None,
            command_a: None,
            command_b: None,
            recorder,
            choice: ChoiceArgs::default(),
            device: self.device.clone(),
            report: ReportArgs { json: self.json, findings: 1, ..ReportArgs::default() },
            seeds: self.seeds.clone(),
            no_zoom: false,
            keep: None,
        }
    }
}

/// `prlx record`.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// Launch file; or none, and a program after `--`
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    pub file: Option<PathBuf>,
    /// Where the recording goes: a file; of a program a new folder [default of a program: its name with .prlx]
    #[arg(long, short, required_unless_present = "program")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub recorder: RecorderArgs,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Any CUDA program and its arguments, after `--` (docs/sessions.md)
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// Which launches of a program are recorded.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Of a program")]
pub struct ChoiceArgs {
    /// Only launches FIRST-LAST of each process, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_parser = span)]
    pub launch: Vec<(u64, u64)>,
    /// Leave out the first N launches that all else wants
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub skip: u64,
    /// Record at most N launches of each process
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Only launches in this time, in seconds since their process started: FIRST-LAST
    #[arg(long, value_name = "FIRST-LAST", value_parser = time)]
    pub time: Option<(u64, u64)>,
    /// Digest what pointers lead to, before and after each launch, MIB of it at most [default: 256]: finds the first launch
    /// that gets the same and leaves something else
    #[arg(long, value_name = "MIB", num_args = 0..=1, require_equals = true, default_missing_value = "256")]
    pub digest: Option<u64>,
    /// Host memory of each process for what was recorded and is not yet written, in MiB [default: 1024]
    #[arg(long, value_name = "MIB")]
    pub host_memory: Option<u64>,
}

impl ChoiceArgs {
    /// The options of the library.
    pub fn selection(&self) -> LaunchSelection {
        LaunchSelection {
            launches: self.launch.clone(),
            skip: self.skip,
            count: self.count,
            time: self.time,
            digest: self.digest,
            host_memory: self.host_memory,
        }
    }

    /// Fails if an option is given, because a launch file has one launch.
    pub fn refuse_for_launch_file(&self) -> anyhow::Result<()> {
        let all = [
            ("--launch", !self.launch.is_empty()),
            ("--skip", self.skip > 0),
            ("--count", self.count.is_some()),
            ("--time", self.time.is_some()),
            ("--digest", self.digest.is_some()),
            ("--host-memory", self.host_memory.is_some()),
        ];
        match all.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => anyhow::bail!("{name} is for programs: a launch file has one launch"),
            None => Ok(()),
        }
    }
}

/// `prlx diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// The first recording: a file, or the folder of a program's
    pub a: PathBuf,
    /// The second recording
    pub b: PathBuf,
    /// Only kernels of this name (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = pattern)]
    pub kernel: Vec<Pattern>,
    /// Only launches FIRST-LAST of the first recording's processes, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_parser = span)]
    pub launch: Vec<(u64, u64)>,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Compare only every N-th pair of launches, from pair I on (0 to N-1): a part of the report, for `prlx merge`
    #[arg(long, value_name = "I/N", value_parser = shard, requires = "output")]
    pub shard: Option<Shard>,
    /// Write the report into this file, as JSON, instead of printing it
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub legacy: LegacyArgs,
}

/// `prlx convert`.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// A recording: a file, or the folder of a program's; of PRLX 0.x a file
    pub input: PathBuf,
    /// Where the new one goes
    #[arg(long, short)]
    pub output: PathBuf,
    /// Format of the new one
    #[arg(long, value_enum, default_value_t = ConvertFormat::Plain)]
    pub to: ConvertFormat,
    /// Which launch of an own recording a file of PRLX 0.x holds [default: 0]
    #[arg(long, value_name = "N")]
    pub launch: Option<u64>,
    /// Write the table of an own recording's sites into this file, as prlx-sites.json has them
    #[arg(long, value_name = "FILE")]
    pub sites: Option<PathBuf>,
}

/// What a recording is converted to.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConvertFormat {
    /// A file of PRLX 0.x, 16 bytes an event; of an own recording at level `events`
    Plain,
    /// The same with 8 bytes an event, without values
    Compact,
    /// The same as one zstd frame
    Packed,
    /// Launches over time, for ui.perfetto.dev (docs/timeline.md)
    Perfetto,
    /// Launches over time, in Chrome's JSON format
    Chrome,
    /// Launches, warps, sites and visits as tables: a new folder of Parquet files (docs/tables.md)
    #[cfg(feature = "parquet")]
    Parquet,
}

impl ConvertFormat {
    /// The packing of a file of PRLX 0.x; `None` for other formats.
    pub fn packing(self) -> Option<Packing> {
        match self {
            ConvertFormat::Plain => Some(Packing::Plain),
            ConvertFormat::Compact => Some(Packing::Compact),
            ConvertFormat::Packed => Some(Packing::Packed),
            _ => None,
        }
    }
}

/// `prlx query`.
#[cfg(feature = "query")]
#[derive(Args, Debug)]
pub struct QueryArgs {
    /// The query, as 'select kernel, count(*) from launches group by kernel'
    pub sql: String,
    /// A recording, or two: files, or folders of programs'
    #[arg(required = true, num_args = 1..=2, value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Print CSV
    #[arg(long)]
    pub csv: bool,
}

/// `prlx merge`.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Parts, as `diff --shard` wrote them, in any order
    #[arg(required = true)]
    pub parts: Vec<PathBuf>,
    /// Print the report as JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
}

/// `prlx compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The first launch file
    #[arg(required_unless_present = "command_a", conflicts_with = "command_a")]
    pub a: Option<PathBuf>,
    /// The second launch file; with --seeds it may be left out
    #[arg(required_unless_present_any = ["seeds", "command_a"], conflicts_with = "command_a")]
    pub b: Option<PathBuf>,
    /// The first program and its arguments, as a shell would split them (docs/sessions.md)
    #[arg(long = "a", value_name = "COMMAND", value_parser = words, requires = "command_b", conflicts_with = "seeds")]
    pub command_a: Option<CommandWords>,
    /// The second program and its arguments
    #[arg(long = "b", value_name = "COMMAND", value_parser = words, requires = "command_a")]
    pub command_b: Option<CommandWords>,
    #[command(flatten)]
    pub recorder: RecorderArgs,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub report: ReportArgs,
    /// Run under many schedules, FIRST..END, say which outcomes there are, and where the two most frequent part
    #[arg(long, value_name = "FIRST..END", value_parser = seeds, conflicts_with_all = ["seed", "check", "rewritten"])]
    pub seeds: Option<Range<u64>>,
    /// Do not run again at level `operands` around the first finding
    #[arg(long)]
    pub no_zoom: bool,
    /// Keep both recordings in this folder, as a.prlx and b.prlx (folders, if they are of programs)
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// `prlx repeat`.
#[derive(Args, Debug)]
pub struct RepeatArgs {
    /// Launch file; or none, and a program after `--`
    #[arg(required_unless_present = "program", conflicts_with = "program")]
    pub file: Option<PathBuf>,
    /// How often; of a launch file on the CPU device each run has a schedule of its own, from its seed on
    #[arg(long = "runs", short = 'n', value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=100_000))]
    pub runs: u64,
    #[command(flatten)]
    pub recorder: RecorderArgs,
    #[command(flatten)]
    pub choice: ChoiceArgs,
    #[command(flatten)]
    pub device: DeviceArgs,
    /// Print JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most this many findings
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub findings: usize,
    /// Keep all recordings in this folder, as run-0.prlx and so on
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Any CUDA program and its arguments, after `--` (docs/sessions.md)
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// `prlx assert`.
#[derive(Args, Debug)]
#[command(after_help = RULES)]
pub struct AssertArgs {
    /// The golden recording: a file, or the folder of a program's
    pub golden: PathBuf,
    /// The new recording
    pub new: PathBuf,
    /// What may differ; may be repeated
    #[arg(long, value_name = "RULE", value_parser = Rule::from_str)]
    pub allow: Vec<Rule>,
    /// A file of rules, one a line; `#` begins a comment
    #[arg(long, value_name = "FILE")]
    pub allow_file: Vec<PathBuf>,
    /// Pass with at most this many findings that no rule allows
    #[arg(long, value_name = "N")]
    pub max_findings: Option<u64>,
    /// Pass if these findings are of at most this many visits
    #[arg(long, value_name = "N")]
    pub max_visits: Option<u64>,
    /// Pass if these findings are of at most this many lanes
    #[arg(long, value_name = "N")]
    pub max_lanes: Option<u64>,
    /// Only kernels of this name (`*` and `?` match; or a regular expression between two `/`)
    #[arg(long, value_name = "NAME", value_parser = pattern)]
    pub kernel: Vec<Pattern>,
    /// Only launches FIRST-LAST of the golden recording's processes, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_parser = span)]
    pub launch: Vec<(u64, u64)>,
    /// Compare values too, of recordings of PRLX 0.x
    #[arg(long)]
    pub values: bool,
    /// Write JUnit XML into FILE: a test case for each launch
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print annotations for GitHub's workflows, too
    #[arg(long)]
    pub github: bool,
    /// Print JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most this many findings
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    pub findings: usize,
    /// Also write the report into FILE, as a page (docs/html.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

const RULES: &str = "\
Rules:
  FILE:LINE, FILE:FIRST-LAST  findings on these lines
  function=NAME               findings in functions of this name (`*` and `?` match)
  kernel=NAME                 findings in kernels of this name
  kind=KIND                   findings of this kind: Branch, ActiveMask, Value, Path, ExtraEvents
  site=ID                     findings at this site of recordings of PRLX 0.x
  output=NAME                 what outputs of this name hold

Exit codes: 0 passed, 1 failed, 2 error, 3 unknown: what was seen may pass, but not everything was seen.";

/// `prlx instrument`.
#[derive(Args, Debug)]
pub struct InstrumentArgs {
    /// PTX file; or a cubin, fatbin or program that holds PTX
    pub input: PathBuf,
    /// Which image of a file that holds several, as `inspect` numbers them
    #[arg(long, value_name = "N")]
    pub image: Option<usize>,
    /// Where the rewritten PTX goes; `-` for standard output
    #[arg(long, short, default_value = "-")]
    pub output: PathBuf,
    #[command(flatten)]
    pub recorder: RecorderArgs,
}

/// `prlx inspect`.
#[derive(Args, Debug)]
pub struct InspectArgs {
    /// PTX file, cubin, fatbin, program, launch file or recording (a file, or the folder of a program's)
    pub input: PathBuf,
    /// Show the PTX of this image of a cubin, fatbin or program, not the list of its images
    #[arg(long, value_name = "N")]
    pub image: Option<usize>,
    /// Mark the images that the driver takes for this architecture, as `sm_90`
    #[arg(long, value_name = "ARCH", value_parser = target)]
    pub arch: Option<Target>,
    /// What to show [default: launches of a folder, kernels of all else]
    #[arg(long, value_enum)]
    pub show: Option<Show>,
    /// Only kernels and functions of this name (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
}

/// What `inspect` shows.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// A line for each kernel and function
    Kernels,
    /// Basic blocks and edges
    Cfg,
    /// The loop nest
    Loops,
    /// Decisions and other sites, and how each is recorded
    Sites,
    /// Processes and launches of a recording
    Launches,
    /// Everything in a recording, as text
    Streams,
}

/// `prlx doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Where it runs.
#[derive(Args, Debug, Clone)]
pub struct DeviceArgs {
    /// Machine: `cpu` is the CPU device, `cuda` an NVIDIA GPU (`cuda:1` the second), `auto` a GPU if there is one
    #[arg(long, value_name = "MACHINE", default_value = "cpu", value_parser = machine)]
    pub device: DeviceChoice,
    /// Schedule seed of the CPU device; overrides the launch file's (but for random data, which stay as they are)
    #[arg(long)]
    pub seed: Option<u64>,
    /// Most steps of a CTA on the CPU device before it counts as stuck
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// Longest time of a kernel on a GPU, in seconds, before it counts as stuck; what a flight recorder holds is then read all the same
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    /// Checks while the kernel runs, joined by commas: bounds, init, race, sync, async, notes; or all (docs/checks.md)
    #[arg(long, value_name = "LIST", value_parser = checks)]
    pub check: Option<Checks>,
    /// Host threads of the CPU device under seed 0 (under any other seed it is always one); with --seeds, schedules that run
    /// side by side [default: one a core; one if the order of CTAs can show in the results, as with atomics that give
    /// something back]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Most memory of the CPU device: buffers, CTAs under way, what checks note, what is printed and recorded, in MiB [default: 16384]
    #[arg(long, value_name = "MIB")]
    pub max_memory: Option<u64>,
    /// Correct an approximate operation of the CPU device by what hardware gives (docs/internals/calibration.md); may be repeated
    #[arg(long, value_name = "FILE")]
    pub calibration: Vec<PathBuf>,
}

/// What is recorded.
#[derive(Args, Debug, Clone, Default)]
pub struct RecorderArgs {
    /// Recorder: `fingerprint` hashes, `path` every decision of every lane, `events` 16-byte events with exact masks,
    /// `operands` all that compares see
    #[arg(long, default_value = "path", value_parser = level)]
    pub level: Level,
    /// Record every decision, also those that can be computed again
    #[arg(long)]
    pub no_elide: bool,
    /// Only kernels of this name (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Only functions of this name
    #[arg(long, value_name = "NAME")]
    pub function: Vec<String>,
    /// Only sites on these lines: FILE:LINE or FILE:FIRST-LAST
    #[arg(long, value_name = "FILE:LINES", value_parser = lines)]
    pub line: Vec<(String, Range<u32>)>,
    /// Only sites of this class
    #[arg(long, value_name = "CLASS", value_parser = class)]
    pub class: Vec<SiteClass>,
    /// Only warps FIRST-LAST of the grid
    #[arg(long, value_name = "FIRST-LAST", value_parser = span)]
    pub warps: Option<(u64, u64)>,
    /// Record by code written into the kernel, as on a GPU, instead of by the CPU device's own eyes (which moves nothing in
    /// the schedule)
    #[arg(long)]
    pub rewritten: bool,
    /// Only CTAs FIRST-LAST of the grid
    #[arg(long, value_name = "FIRST-LAST", value_parser = span, conflicts_with = "warps")]
    pub ctas: Option<(u64, u64)>,
    /// Device memory for streams of rewritten code, in MiB [default: 64; of a program 256 for each device]
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
}

impl RecorderArgs {
    /// The options of the library.
    pub fn options(&self) -> RecorderOptions {
        RecorderOptions {
            level: self.level,
            no_elide: self.no_elide,
            kernels: self.kernel.clone(),
            functions: self.function.clone(),
            lines: self.line.clone(),
            classes: self.class.clone(),
            warps: self.warps,
            ctas: self.ctas,
            rewritten: self.rewritten,
            memory: self.memory,
        }
    }

    /// Fails if an option is given, here or in `device`, that only launch files have.
    pub fn refuse_for_program(&self, device: &DeviceArgs) -> anyhow::Result<()> {
        let only_files = [
            ("--function", !self.function.is_empty()),
            ("--line", !self.line.is_empty()),
            ("--class", !self.class.is_empty()),
            ("--warps", self.warps.is_some()),
            ("--ctas", self.ctas.is_some()),
            ("--rewritten", self.rewritten),
            ("--device", device.device != DeviceChoice::Cpu),
            ("--seed", device.seed.is_some()),
            ("--check", device.check.is_some()),
            ("--max-steps", device.max_steps.is_some()),
            ("--max-memory", device.max_memory.is_some()),
            ("--threads", device.threads.is_some()),
            ("--timeout", device.timeout.is_some()),
        ];
        match only_files.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => anyhow::bail!(
                "{name} is for launch files: a program is recorded as it runs, on the devices that it chooses"
            ),
            None => Ok(()),
        }
    }
}

impl DeviceArgs {
    /// The options of the library.
    pub fn options(&self) -> DeviceOptions {
        DeviceOptions {
            device: self.device,
            seed: self.seed,
            max_steps: self.max_steps,
            max_memory: self.max_memory,
            timeout: self.timeout,
            check: self.check,
            threads: self.threads,
            calibration: self.calibration.clone(),
        }
    }
}

/// How a report is shown.
#[derive(Args, Debug, Clone, Default)]
pub struct ReportArgs {
    /// Print the report as JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most this many findings
    #[arg(long, short = 'n', visible_alias = "max-shown", value_name = "N", default_value_t = 10)]
    pub findings: usize,
    /// Also write the report into FILE, as a page with source, lanes over time and both sides' steps (docs/html.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write a flame graph of the places that differ into FILE, an SVG
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// Also write both sides' launches over time into FILE, for ui.perfetto.dev, with those that differ (docs/timeline.md)
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// The same in Chrome's JSON format
    #[arg(long, value_name = "FILE")]
    pub chrome: Option<PathBuf>,
    /// Also write the findings into FILE, a Parquet file (docs/tables.md)
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,
    /// Walk through the report on the terminal instead of printing it (docs/tui.md)
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with = "json")]
    pub tui: bool,
}

fn checks(text: &str) -> Result<Checks, String> {
    text.split(',').try_fold(Checks::NONE, |all, word| match word.trim() {
        "all" => Ok(Checks::all()),
        word => named(Check::ALL, Check::name, word).map(|c| all.with(c)).map_err(|e| format!("{e}, all")),
    })
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|s| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.ok_or_else(|| "it is a number of seconds, as 2.5".to_owned())
}

fn level(text: &str) -> Result<Level, String> {
    Level::from_word(text).map_or_else(|| named(Level::RECORDERS, Level::label, text), Ok)
}

fn class(text: &str) -> Result<SiteClass, String> {
    named(SiteClass::ALL, SiteClass::name, text)
}

fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str, text: &str) -> Result<T, String> {
    all.iter().copied().find(|&t| name(t) == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|&t| name(t)).collect();
        format!("one of {}", names.join(", "))
    })
}

fn target(text: &str) -> Result<Target, String> {
    Target::parse(text).ok_or_else(|| "an architecture, as sm_90".into())
}

fn machine(text: &str) -> Result<DeviceChoice, String> {
    match (text, text.strip_prefix("cuda:").map(str::parse)) {
        ("cpu", _) => Ok(DeviceChoice::Cpu),
        ("auto", _) => Ok(DeviceChoice::Auto),
        ("cuda", _) => Ok(DeviceChoice::Cuda(0)),
        (_, Some(Ok(ordinal))) => Ok(DeviceChoice::Cuda(ordinal)),
        _ => Err("cpu, cuda, cuda:N or auto".into()),
    }
}

fn lines(text: &str) -> Result<(String, Range<u32>), String> {
    let (file, lines) = text.rsplit_once(':').ok_or("FILE:LINE or FILE:FIRST-LAST")?;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |s: &str| s.parse::<u32>().map_err(|e| format!("`{s}`: {e}"));
    let (first, last) = (number(first)?, number(last)?);
    if first == 0 || last < first {
        return Err(format!("`{lines}` is no range of lines (they count from 1)"));
    }
    Ok((file.to_owned(), first..last.saturating_add(1)))
}

fn shard(text: &str) -> Result<Shard, String> {
    let (index, of) = text.split_once('/').ok_or("I/N, as 0/4")?;
    let number = |s: &str| s.parse::<u64>().map_err(|e| format!("`{s}`: {e}"));
    let (index, of) = (number(index)?, number(of)?);
    if index >= of {
        return Err(format!("`{text}`: parts count from 0 to N-1"));
    }
    Ok(Shard { index, of })
}

/// A command: the program and its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandWords(pub Vec<OsString>);

fn words(text: &str) -> Result<CommandWords, String> {
    match shlex::split(text) {
        None => Err("a quote is open, or a backslash ends it".into()),
        Some(words) if words.is_empty() => Err("there is no program in it".into()),
        Some(words) => Ok(CommandWords(words.into_iter().map(OsString::from).collect())),
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::new(text)
}

/// Seconds, as nanoseconds.
fn time(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = text.split_once('-').ok_or("FIRST-LAST, as 1.5-2")?;
    let nanos = |s: &str| match s.parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok((seconds * 1e9) as u64),
        _ => Err(format!("`{s}` is no number of seconds")),
    };
    let (first, last) = (nanos(first)?, nanos(last)?);
    if last <= first {
        return Err(format!("`{text}`: the last comes before the first"));
    }
    Ok((first, last))
}

/// Most schedules that are run at once.
const MAX_SEEDS: u64 = 1 << 20;

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (first, end) = text.split_once("..").ok_or("FIRST..END, as 0..200")?;
    let number = |s: &str| s.parse::<u64>().map_err(|e| format!("`{s}`: {e}"));
    let (first, end) = (number(first)?, number(end)?);
    match end.checked_sub(first) {
        None | Some(0) => Err(format!("`{text}` has no seed: the end is not one of them")),
        Some(n) if n > MAX_SEEDS => Err(format!("{n} seeds are more than {MAX_SEEDS}")),
        Some(_) => Ok(first..end),
    }
}

fn span(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |s: &str| s.parse::<u64>().map_err(|e| format!("`{s}`: {e}"));
    let (first, last) = (number(first)?, number(last)?);
    if last < first {
        return Err(format!("`{text}`: the last comes before the first"));
    }
    Ok((first, last.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn commands_are_split_as_a_shell_would() {
        let split = words("./app --name 'a b' \"c\\\"d\" e\\ f").unwrap();
        assert_eq!(split.0, ["./app", "--name", "a b", "c\"d", "e f"]);
        assert!(words("./app 'open").is_err() && words("  ").is_err());
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(time("0.5-2"), Ok((500_000_000, 2_000_000_000)));
        for wrong in ["2", "2-1", "1-1", "-1-2", "a-2", "0-inf", "nan-1"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn checks_add_up() {
        assert_eq!(checks("all"), Ok(Checks::all()));
        assert_eq!(checks("bounds"), Ok(Checks::NONE.with(Check::Bounds)));
        assert!(checks("bounds,bonds").is_err_and(|e| e.contains("bounds")));
    }

    #[test]
    fn ranges_are_inclusive_and_checked() {
        assert_eq!(span("3-5"), Ok((3, 6)));
        assert_eq!(span("7"), Ok((7, 8)));
        assert!(span("5-3").is_err());
        assert_eq!(seeds("3..5"), Ok(3..5));
        assert_eq!(shard("0/4"), Ok(Shard { index: 0, of: 4 }));
        assert!(["4/4", "0/0", "1", "-1/2"].iter().all(|s| shard(s).is_err()));
        assert!(["3..3", "5..3", "5", "0..2000000", "-1..2"].iter().all(|s| seeds(s).is_err()));
        assert_eq!(lines("a.cu:10-12"), Ok(("a.cu".into(), 10..13)));
        assert!(lines("a.cu:0").is_err());
        assert!(lines("a.cu").is_err());
    }
}
