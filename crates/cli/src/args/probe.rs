//! `prlx probe`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prlx_isa::image::Target;

use super::device::DeviceArgs;
use super::parse;

/// `prlx probe`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    override_usage = "prlx probe [OPTIONS] PROGRAM LAUNCH…\n       prlx probe [OPTIONS] PROGRAM -- COMMAND…\n       prlx probe [OPTIONS] -f FILE LAUNCH…\n       prlx probe list|check|explain|show …",
    after_help = PROGRAMS
)]
pub struct ProbeArgs {
    /// A command other than running a program
    #[command(subcommand)]
    pub subcommand: Option<ProbeCommand>,
    /// Probe program, as text or as a tool's name (unless -f gives a file); then launch files
    #[arg(value_name = "PROGRAM LAUNCH…", required_unless_present_any = ["file", "command"])]
    pub words: Vec<OsString>,
    /// A CUDA program and its arguments (docs/sessions.md)
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Read the probe program from this file; a `.toml` file is a probe of Neutrino
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Probe only kernels whose names match (`*` and `?` match) [default: the launched kernel; in a program
    /// all]
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// On the CPU device, probe with instrumented code, as on a GPU. By default the CPU device runs the probe
    /// by itself, which does not change the schedule.
    #[arg(long)]
    pub rewritten: bool,
    /// Also keep the recording, for `prlx probe show`: a file, or a new directory for a program
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Programs: overwrite the directory of an earlier recording
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Programs: device memory for tables and records, in MiB for each device of a process [default: 256]
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
    /// Programs: print the tables on standard error every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub interval: Option<Duration>,
    #[command(flatten)]
    pub device: DeviceArgs,
    #[command(flatten)]
    pub show: TableArgs,
}

const PROGRAMS: &str = "\
A probe program consists of clauses, `tracepoint /predicate/ { action }` (docs/probes.md).

Exit codes: 0 done, 2 wrong option or file, 4 a kernel faulted or did not end; for a program, its own. A line
below a table counts values that did not fit.

Examples:
  prlx probe 'inst:ld.global { @bytes[line] = sum(size); }' launch.toml
  prlx probe 'branch { @n[line, taken]++; }' good.toml bad.toml
  prlx probe 'kernel:end { @cycles = hist(clock); }' launch.toml --device cuda
  prlx probe 'inst:ld.global { @bytes[line] = sum(size); }' -- ./app
  prlx probe global-bytes launch.toml                      a tool; `prlx probe list` has them all";

/// The other commands for probe programs.
#[derive(Subcommand, Debug)]
pub enum ProbeCommand {
    /// List the tools, tracepoints, aggregates, builtins and functions
    #[command(after_help = "Example:\n  prlx probe list")]
    List,
    /// Check a probe program, and show where it matches in modules
    Check(ProbeCheckArgs),
    /// Show the code that a probe program inserts into a module, and its size
    Explain(ProbeExplainArgs),
    /// Print the tables of recordings
    Show(ProbeShowArgs),
}

/// `prlx probe check`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  prlx probe check 'inst:ld.global { @n++; }' kernel.ptx")]
pub struct ProbeCheckArgs {
    /// Probe program, as text or as a tool's name (unless -f gives a file); then PTX files, files with PTX,
    /// or launch files
    #[arg(value_name = "PROGRAM MODULE…", required_unless_present = "file")]
    pub words: Vec<OsString>,
    /// Read the probe program from this file; a `.toml` file is a probe of Neutrino
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print the program as PRLX parsed it
    #[arg(long)]
    pub print: bool,
}

/// `prlx probe explain`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  prlx probe explain 'inst:ld.global { @n++; }' kernel.ptx")]
pub struct ProbeExplainArgs {
    /// Probe program, as text or as a tool's name (unless -f gives a file); then a PTX file, a file with PTX,
    /// or a launch file. Without one, the program itself is printed
    #[arg(value_name = "PROGRAM MODULE", required_unless_present = "file")]
    pub words: Vec<OsString>,
    /// Read the probe program from this file; a `.toml` file is a probe of Neutrino
    #[arg(long, short = 'f', value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Explain only kernels whose names match (`*` and `?` match)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Show the code at no more than N places of a clause
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub places: usize,
}

/// `prlx probe show`.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  prlx probe show app.prlx --csv tables")]
pub struct ProbeShowArgs {
    /// Recordings that `prlx probe -o` kept
    #[arg(required = true)]
    pub recordings: Vec<PathBuf>,
    #[command(flatten)]
    pub show: TableArgs,
}

/// `prlx probe-engine`.
#[derive(Args, Debug)]
#[command(after_help = STEPS)]
pub struct ProbeEngineArgs {
    /// Directory with `original.bin`: a cubin, a fatbin, a program, or PTX
    pub workdir: PathBuf,
    /// Name of the kernel in the code (`*` and `?` match, if one kernel does)
    pub kernel: String,
    /// Probe program: a file, a tool's name, or a text [default: probe.toml or probe.prlx in the directory,
    /// then the variable NEUTRINO_PROBES, which holds the text of a .toml file]
    #[arg(long, value_name = "PROBE")]
    pub probe: Option<OsString>,
    /// Assemble for this architecture, as `sm_90` [default: the code's own]
    #[arg(long, value_name = "SM", value_parser = parse::target)]
    pub arch: Option<Target>,
}

const STEPS: &str = "\
Files, in the order of the steps (docs/probe-engine.md):

  original.asm   the PTX in original.bin
  pruned.asm     the kernel, and the functions and variables that it uses
  probed.asm     pruned.asm with the probe inserted
  pruned.bin     machine code of pruned.asm
  probed.bin     machine code of probed.asm
  kernel.info    parameters and memory that a launch of probed.bin needs
  process.log    each step, and its time

Exit codes: 0 done, 2 error: the message and the log name the step and the file.

Example:
  prlx probe-engine work 'gemm*' --probe probe.toml";

/// How tables are shown.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Table options")]
pub struct TableArgs {
    /// Show at most N rows of a table; one more row sums up the others
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print JSON (docs/tallies.md)
    #[arg(long)]
    pub json: bool,
    /// Also write each table into this directory, as NAME.csv
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Also write each table into this directory, as NAME.parquet
    #[arg(long, value_name = "DIR", value_parser = crate::features::parquet_path)]
    pub parquet: Option<PathBuf>,
    /// Also write all tables as an HTML page, with a heat map over the source
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| (0.01..=1e6).contains(s));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "a number of seconds, 0.01 at least".to_owned())
}
