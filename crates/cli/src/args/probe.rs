//! `prlx probe`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prlx_isa::image::Target;

use super::DeviceArgs;

/// `prlx probe`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "prlx probe [OPTIONS] PROGRAM LAUNCH…\n       prlx probe [OPTIONS] PROGRAM -- COMMAND…\n       prlx probe [OPTIONS] -f FILE LAUNCH…\n       prlx probe list|check|explain|show …",
    after_help = PROGRAMS
)]
pub struct ProbeArgs {
    /// Something other than running it
    #[command(subcommand)]
    pub subcommand: Option<ProbeCommand>,
    /// The program, as text or as a tool's name (unless -f names its file); then launch files
    #[arg(value_name = "PROGRAM LAUNCH…", required_unless_present_any = ["file", "command"])]
    pub words: Vec<OsString>,
    /// The program is in this file; one of Neutrino's, if its name ends in .toml
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Only kernels of this name (`*` and `?` match) [default: the one that is launched; of a program all]
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Probe by code written into the kernel, as on a GPU, instead of by the CPU device's own eyes (which moves nothing in
    /// the schedule)
    #[arg(long)]
    pub rewritten: bool,
    /// Also keep the recording, for `prlx probe show`: a file; of a program a new folder
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Of a program: device memory for tables and records, in MiB for each device of a process [default: 256]
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
    /// Of a program: print the tables on standard error every so many seconds while it runs
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<Duration>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub show: TableArgs,
    /// Any CUDA program and its arguments, after `--` (docs/internals/preload.md)
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

const PROGRAMS: &str = "\
A program is clauses, `tracepoint /predicate/ { action }` (docs/probes.md):

  prlx probe 'inst:ld.global { @bytes[line] = sum(size); }' launch.toml
  prlx probe 'branch { @n[line, taken]++; }' good.toml bad.toml
  prlx probe 'kernel:end { @cycles = hist(clock); }' launch.toml --device cuda
  prlx probe 'inst:ld.global { @bytes[line] = sum(size); }' -- ./app        any CUDA program
  prlx probe global-bytes launch.toml                        a tool in the box; `prlx probe list` has them

Exit codes: 0 done, 2 error; of a program its own. Values that found no room are said below their table.";

/// What else there is to do with probes.
#[derive(Subcommand, Debug)]
pub enum ProbeCommand {
    /// The tools in the box, and what programs are written with: tracepoints, builtins, functions
    List,
    /// Read a program and say what is wrong with it; with a module, where it lands
    Check(ProbeCheckArgs),
    /// Show the code that would go into a module, and what it costs
    Explain(ProbeExplainArgs),
    /// Print the tables of a recording
    Show(ProbeShowArgs),
}

/// `prlx probe check`.
#[derive(Args, Debug)]
pub struct ProbeCheckArgs {
    /// The program, as text or as a tool's name (unless -f names its file); then PTX files, files that hold PTX, or launch files
    #[arg(value_name = "PROGRAM MODULE…", required_unless_present = "file")]
    pub words: Vec<OsString>,
    /// The program is in this file; one of Neutrino's, if its name ends in .toml
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print it as PRLX understands it
    #[arg(long)]
    pub print: bool,
}

/// `prlx probe explain`.
#[derive(Args, Debug)]
pub struct ProbeExplainArgs {
    /// The program, as text or as a tool's name (unless -f names its file); then a PTX file, a file that holds PTX, or a launch file
    #[arg(value_name = "PROGRAM MODULE", required = true)]
    pub words: Vec<OsString>,
    /// The program is in this file; one of Neutrino's, if its name ends in .toml
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Only kernels of this name (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Show the code of at most this many places of a clause
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub places: usize,
}

/// `prlx probe show`.
#[derive(Args, Debug)]
pub struct ProbeShowArgs {
    /// Recordings, as `prlx probe -o` keeps them
    #[arg(required = true)]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub show: TableArgs,
}

/// `prlx probe-engine`.
#[derive(Args, Debug)]
#[command(after_help = STEPS)]
pub struct ProbeEngineArgs {
    /// A folder with `original.bin`: a cubin, a fatbin, a program, or PTX
    pub workdir: PathBuf,
    /// The kernel's name as the code has it (`*` and `?` match, if one kernel does)
    pub kernel: String,
    /// The probe: a file, a tool's name, or a program [default: probe.toml or probe.prlx in the folder, then
    /// NEUTRINO_PROBES, which holds the text of a .toml]
    #[arg(long, value_name = "PROBE")]
    pub probe: Option<OsString>,
    /// Assemble for this architecture, as sm_90 [default: the code's own]
    #[arg(long, value_name = "SM", value_parser = super::target)]
    pub arch: Option<Target>,
}

const STEPS: &str = "\
Files, in the order in which they are made (docs/probe-engine.md):

  original.asm   the PTX that original.bin holds
  pruned.asm     the kernel and what it reaches
  probed.asm     that, with the probe woven in
  pruned.bin     machine code of pruned.asm
  probed.bin     machine code of probed.asm
  kernel.info    what it takes to launch probed.bin
  process.log    each step: what it did, and how long it took

Exit codes: 0 done, 2 error: the message and the log name the step and the file.";

/// How tables are shown.
#[derive(Args, Debug, Clone, Default)]
pub struct TableArgs {
    /// Show at most this many rows of a table; the others come together in one
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print JSON (docs/tallies.md)
    #[arg(long)]
    pub json: bool,
    /// Also write each table into this folder, as NAME.csv
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Also write each table into this folder, as NAME.parquet
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Also write all tables into FILE, as a page with the source, warm where it is warm
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| (0.01..=1e6).contains(s));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a number of seconds, 0.01 at least".to_owned())
}
