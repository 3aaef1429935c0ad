//! The options of a recording, and what a recording returns.

use prlx_trace::kernel::Module;
use prlx_trace::mark::Marks;
use prlx_trace::{Recording, TableContents, Trace};

use crate::driver::LaunchStats;
use crate::error::Error;
use crate::run::Output;

/// Options of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordOptions {
    /// Device memory for streams or tracks in bytes. What does not fit is counted as dropped or lost.
    pub pool: u64,
    /// Whether to run the original code as well: it gives the dilation, and shows whether both runs leave the
    /// same bytes.
    pub run_original: bool,
}

impl Default for RecordOptions {
    fn default() -> Self {
        RecordOptions { pool: 64 << 20, run_original: false }
    }
}

/// Result of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// Launch description and streams.
    pub recording: Recording,
    /// Outputs of the job from the instrumented run; empty if the launch was stopped.
    pub outputs: Vec<Output>,
    /// Cost of the instrumented run.
    pub stats: LaunchStats,
    /// Contents of a probe program's tables and records at the end.
    pub tallies: Vec<TableContents>,
    /// Tracks that the markers wrote, if the plan has markers.
    pub marks: Option<Marks>,
    /// Run of the original code, if it was asked for.
    pub original: Option<OriginalRun>,
    /// Error that stopped the kernel while it ran. [`Launch::fault`](prlx_trace::Launch::fault) has the same
    /// text; this one also has advice.
    pub fault: Option<Error>,
    /// Faults found in the bytes that the kernel left.
    pub damage: Vec<String>,
}

/// A run of the original code beside the instrumented run.
#[derive(Clone, PartialEq, Debug)]
pub struct OriginalRun {
    /// Cost of the run.
    pub stats: LaunchStats,
    /// Names of the buffers whose content differs between the two runs. Either the kernel is not
    /// deterministic, or the instrumentation is wrong.
    pub changed: Vec<String>,
}

impl Recorded {
    /// A recording of this launch alone; `module` is the plan's.
    pub fn into_trace(self, module: Module) -> Trace {
        let producer = concat!("prlx ", env!("CARGO_PKG_VERSION")).to_owned();
        let launches = vec![self.recording];
        let marks = self.marks.into_iter().collect();
        Trace { producer, modules: vec![module], launches, tallies: self.tallies, marks, ..Trace::default() }
    }
}
