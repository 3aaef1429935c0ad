//! Options for the recorder, and for the launches of a program that it records.

use std::ops::Range;

use anyhow::{Result, bail};
use clap::Args;
use prlx::device::DeviceChoice;
use prlx::record::{LaunchSelection, RecorderOptions};
use prlx_driver::session::LaunchPart;
use prlx_plan::RegisterChoice;
use prlx_trace::kernel::SiteClass;
use prlx_trace::{Level, Nanos};

use super::device::DeviceArgs;
use super::parse;

/// What is recorded.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Recorder options")]
pub struct RecorderArgs {
    /// Record hashes (`fingerprint`), every branch decision of every thread (`path`), these and bits of a
    /// hash of what each thread stores (`values`), events of 16 bytes with exact active masks (`events`), or
    /// all operands (`operands`) [default: path; `compare` of programs begins with hashes and digests of all
    /// launches, and records decisions of those that these leave in doubt]
    #[arg(long, value_parser = parse::level)]
    pub level: Option<Level>,
    /// Record every decision, also those that can be reconstructed
    #[arg(long)]
    pub no_elide: bool,
    /// Record only kernels whose names match (`*` and `?` match any text and any character)
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// Launch files: record only functions whose names match
    #[arg(long, value_name = "NAME")]
    pub function: Vec<String>,
    /// Launch files: record only sites on these source lines: FILE:LINE or FILE:FIRST-LAST
    #[arg(long, value_name = "FILE:LINES", value_parser = parse::lines)]
    pub line: Vec<(String, Range<u32>)>,
    /// Launch files: record only sites of this class
    #[arg(long, value_name = "CLASS", value_parser = parse::class)]
    pub class: Vec<SiteClass>,
    /// Launch files: record only these warps of the grid, as 0-3,9
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::range)]
    pub warps: Vec<(u64, u64)>,
    /// Launch files: record only these CTAs of the grid, as 0-3,9
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse::range, conflicts_with = "warps")]
    pub ctas: Vec<(u64, u64)>,
    /// On the CPU device, record with instrumented code, as on a GPU. By default the CPU device records by
    /// itself, which does not change the schedule.
    #[arg(long)]
    pub rewritten: bool,
    /// Device memory for recorded streams, in MiB [default: 64 for a launch file; for a program an eighth of
    /// what is free on each device, from 256 to 2048]
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u64>,
    /// Launch files: hold the outputs in the recording, up to MIB altogether, so that `diff` and `assert`
    /// compare them as numbers [default: 16]
    #[arg(long, value_name = "MIB")]
    pub outputs: Option<u64>,
    /// Tests of AMD code: which registers inserted code takes (`free`, `dead`, `saved` or `scarce`)
    #[arg(long, hide = true, default_value = "free", value_parser = parse::registers)]
    pub registers: RegisterChoice,
}

impl RecorderArgs {
    fn level(&self) -> Level {
        self.level.unwrap_or(Level::Path)
    }

    /// The options of the library.
    pub fn options(&self) -> RecorderOptions {
        RecorderOptions {
            level: self.level(),
            no_elide: self.no_elide,
            kernels: self.kernel.clone(),
            functions: self.function.clone(),
            lines: self.line.clone(),
            classes: self.class.clone(),
            warps: self.warps.clone(),
            ctas: self.ctas.clone(),
            rewritten: self.rewritten,
            memory: self.memory,
            outputs: self.outputs,
            registers: self.registers,
        }
    }

    /// What the user should know about the filters: at level `path` they restrict little.
    pub fn filter_note(&self) -> Option<&'static str> {
        let filtered = !self.line.is_empty() || !self.class.is_empty();
        (filtered && self.level() == Level::Path).then_some(
            "at level `path`, --line and --class restrict guards and selects only: decisions that steer branches \
             are always recorded",
        )
    }

    /// Fails if an option is given that only launches have.
    pub fn refuse_for_code(&self) -> Result<()> {
        let only_launches = [
            ("--warps", !self.warps.is_empty()),
            ("--ctas", !self.ctas.is_empty()),
            ("--rewritten", self.rewritten),
            ("--memory", self.memory.is_some()),
            ("--outputs", self.outputs.is_some()),
        ];
        match only_launches.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for a launch: it changes nothing in the code"),
            None => Ok(()),
        }
    }

    /// Fails if an option is given, here or in `device`, that only launch files have.
    pub fn refuse_for_program(&self, device: &DeviceArgs) -> Result<()> {
        let only_launch_files = [
            ("--function", !self.function.is_empty()),
            ("--line", !self.line.is_empty()),
            ("--class", !self.class.is_empty()),
            ("--warps", !self.warps.is_empty()),
            ("--ctas", !self.ctas.is_empty()),
            ("--rewritten", self.rewritten),
            ("--outputs", self.outputs.is_some()),
            ("--device", device.device != DeviceChoice::Cpu),
            ("--seed", device.seed.is_some()),
            ("--check", device.check.is_some()),
            ("--max-steps", device.max_steps.is_some()),
            ("--max-memory", device.max_memory.is_some()),
            ("--threads", device.threads.is_some()),
            ("--timeout", device.timeout.is_some()),
        ];
        match only_launch_files.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!(
                "{name} is for launch files: a program is recorded as it runs, on the devices that it chooses"
            ),
            None => Ok(()),
        }
    }
}

/// Which launches of a program are recorded.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Program options")]
pub struct LaunchSelectionArgs {
    /// Record only launches FIRST-LAST of each process, counted from 0
    #[arg(long, value_name = "FIRST-LAST", value_delimiter = ',', value_parser = parse::range)]
    pub launch: Vec<(u64, u64)>,
    /// Skip the first N launches that match the other filters
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub skip: u64,
    /// Record at most N launches of each process
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Record only launches in this time, in seconds since their process started: FIRST-LAST
    #[arg(long, value_name = "FIRST-LAST", value_parser = parse::time_range)]
    pub time: Option<(Nanos, Nanos)>,
    /// Digest the memory behind pointer parameters before and after each launch, at most MIB of it [default:
    /// 256]. This finds the first launch with equal inputs and different outputs.
    #[arg(long, value_name = "MIB", num_args = 0..=1, require_equals = true, default_missing_value = "256")]
    pub digest: Option<u64>,
    /// Host memory of each process for recorded data that is not yet written, in MiB [default: 1024]
    #[arg(long, value_name = "MIB")]
    pub host_memory: Option<u64>,
    /// Leave the environment of the program alone. By default, PRLX makes its compilers keep PTX and source
    /// lines, which changes no instruction (docs/gpu.md)
    #[arg(long)]
    pub no_env: bool,
}

impl LaunchSelectionArgs {
    /// The options of the library, for a part of the launches.
    pub fn options(&self, part: LaunchPart) -> LaunchSelection {
        LaunchSelection {
            part,
            launches: self.launch.clone(),
            skip: self.skip,
            count: self.count,
            time: self.time,
            digest: self.digest,
            host_memory: self.host_memory,
            no_env: self.no_env,
        }
    }

    /// Fails if an option is given, because a launch file has one launch.
    pub fn refuse_for_launch_file(&self) -> Result<()> {
        let all = [
            ("--launch", !self.launch.is_empty()),
            ("--skip", self.skip > 0),
            ("--count", self.count.is_some()),
            ("--time", self.time.is_some()),
            ("--digest", self.digest.is_some()),
            ("--host-memory", self.host_memory.is_some()),
            ("--no-env", self.no_env),
        ];
        match all.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("{name} is for programs: a launch file has one launch"),
            None => Ok(()),
        }
    }
}
