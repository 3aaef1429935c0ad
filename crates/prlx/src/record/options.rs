//! What to record: the recorder, its filters, and the launches of a program.

use std::ops::Range;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use prlx_driver::session::{KernelPattern, LaunchPart, Options};
use prlx_plan::{Filter, RegisterChoice};
use prlx_trace::kernel::SiteClass;
use prlx_trace::{Level, Nanos};

/// Which recorder to use, and what it records. Empty lists and `None` mean everything.
#[derive(Clone, Debug, Default)]
pub struct RecorderOptions {
    /// The recorder's level.
    pub level: Level,
    /// Record every decision, also those that the decoder could reconstruct.
    pub no_elide: bool,
    /// Name patterns of kernels.
    pub kernels: Vec<String>,
    /// Name patterns of functions.
    pub functions: Vec<String>,
    /// Source lines of sites: a file and a half-open range of lines, counted from 1.
    pub lines: Vec<(String, Range<u32>)>,
    /// Classes of sites.
    pub classes: Vec<SiteClass>,
    /// Half-open ranges of warps of the grid.
    pub warps: Vec<(u64, u64)>,
    /// Half-open ranges of CTAs of the grid. Ignored if `warps` is given.
    pub ctas: Vec<(u64, u64)>,
    /// On the CPU device, record with instrumented code, as on a GPU, instead of by the device itself.
    pub rewritten: bool,
    /// Device memory for recorded streams, in MiB.
    pub memory: Option<u64>,
    /// Size in MiB up to which a recording of a launch file holds the outputs. `None` is
    /// [`RecorderOptions::OUTPUTS`].
    pub outputs: Option<u64>,
    /// Which registers code inserted into AMD code takes.
    pub registers: RegisterChoice,
}

impl RecorderOptions {
    /// Size in MiB up to which a recording of a launch file holds the outputs by default.
    pub const OUTPUTS: u64 = 16;
}

impl RecorderOptions {
    /// The filter of a plan, for CTAs of `warps_per_cta` warps.
    pub fn filter(&self, warps_per_cta: u64) -> Filter {
        let warps = |(first, end): &(u64, u64)| {
            (first.saturating_mul(warps_per_cta), end.saturating_mul(warps_per_cta))
        };
        let of_ctas = || self.ctas.iter().map(warps).collect();
        Filter {
            kernels: self.kernels.clone(),
            functions: self.functions.clone(),
            lines: self.lines.clone(),
            classes: self.classes.clone(),
            warps: if self.warps.is_empty() { of_ctas() } else { self.warps.clone() },
        }
    }
}

/// Which launches of each process of a program are recorded.
#[derive(Clone, Debug, Default)]
pub struct LaunchSelection {
    /// Part of the launches, by its first and last launch.
    pub part: LaunchPart,
    /// Half-open ranges of launch numbers, counted from 0; empty means all.
    pub launches: Vec<(u64, u64)>,
    /// Number of launches to skip, of those that match the other filters.
    pub skip: u64,
    /// Maximum number of launches to record.
    pub count: Option<u64>,
    /// Half-open range of times since the process started.
    pub time: Option<(Nanos, Nanos)>,
    /// Digest the memory that kernel parameters point to, up to so many MiB.
    pub digest: Option<u64>,
    /// Host memory for data that is recorded and not yet written, in MiB.
    pub host_memory: Option<u64>,
    /// Leave the environment of the program, and the options of its compilers, as they are.
    pub no_env: bool,
}

/// The options that the recorder inside a program gets.
///
/// # Errors
/// If the level is `operands`, which records a window around a finding, or a kernel pattern is malformed.
pub fn session_options(
    recorder: &RecorderOptions,
    selection: &LaunchSelection,
    folder: &Path,
) -> Result<Options> {
    if recorder.level == Level::Operands {
        bail!("level `operands` records a window around a finding; record a program at another level");
    }
    let defaults = Options::new(folder);
    Ok(Options {
        level: recorder.level,
        elide: !recorder.no_elide,
        kernels: patterns(&recorder.kernels)?,
        part: selection.part.clone(),
        launches: selection.launches.clone(),
        skip: selection.skip,
        count: selection.count,
        time: selection.time,
        memory: recorder.memory.map_or(defaults.memory, |m| m.saturating_mul(1 << 20)),
        host_memory: selection.host_memory.map_or(defaults.host_memory, |m| m.saturating_mul(1 << 20)),
        digest: selection.digest.map(|m| m.saturating_mul(1 << 20)),
        keep_ptx: !selection.no_env,
        ..defaults
    })
}

/// Parses name patterns of kernels.
///
/// # Errors
/// If one is malformed.
pub fn patterns(texts: &[String]) -> Result<Vec<KernelPattern>> {
    texts.iter().map(|t| KernelPattern::new(t).map_err(|e| anyhow!("--kernel {e}"))).collect()
}
