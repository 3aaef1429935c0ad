//! The options of a recording, and what a recording returns.

use prlx_trace::kernel::Module;
use prlx_trace::mark::Marks;
use prlx_trace::{Recording, TableContents, Trace};

use crate::driver::LaunchStats;
use crate::error::Error;
use crate::run::Output;

/// How to record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordOptions {
    /// Bytes of device memory for streams, or for tracks; what does not fit is counted as dropped, or lost.
    pub pool: u64,
    /// Also run the original code: for the dilation, and to see that both leave the same bytes.
    pub run_original: bool,
    /// Let the machine do the plan's actions instead of the code, where it can (`Driver::observe`).
    pub hooks: bool,
}

impl Default for RecordOptions {
    fn default() -> Self {
        RecordOptions { pool: 64 << 20, run_original: false, hooks: false }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorded {
    /// The launch and its streams.
    pub recording: Recording,
    /// The job's outputs, from the instrumented run; none if it was stopped.
    pub outputs: Vec<Output>,
    /// What the instrumented run cost.
    pub stats: LaunchStats,
    /// What a probe program's tables and records held at the end.
    pub tallies: Vec<TableContents>,
    /// What its markers left, if it has any.
    pub marks: Option<Marks>,
    /// The run of the original code.
    pub original: Option<OriginalRun>,
    /// What stopped the kernel while it ran, as the launch's own fault says too, with advice.
    pub fault: Option<Error>,
    /// What was wrong with the bytes that the kernel left.
    pub damage: Vec<String>,
}

/// A run of the original code beside the instrumented one.
#[derive(Clone, PartialEq, Debug)]
pub struct OriginalRun {
    /// What it cost.
    pub stats: LaunchStats,
    /// Names of the buffers whose bytes differ between the two runs: the kernel is not deterministic, or the
    /// instrumentation is wrong.
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
