//! Options of a comparison.

use prlx_analyze::report::FindingKind;

/// Options of the comparison of two 0.x launches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whether differing values are differences, not only differing paths.
    pub values: bool,
    /// Compare even if the kernels have different names.
    pub force: bool,
    /// Inclusive ranges of warps to compare; empty for all.
    pub warps: Vec<(u32, u32)>,
    /// Kinds of findings to keep; empty for all.
    pub kinds: Vec<FindingKind>,
    /// Sites whose findings are kept; empty for all.
    pub sites: Vec<u32>,
    /// Maximum number of findings.
    pub findings: usize,
    /// Maximum number of single differences to list.
    pub listed: usize,
    /// Show operands as floating point.
    pub float: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            values: false,
            force: false,
            warps: Vec::new(),
            kinds: Vec::new(),
            sites: Vec::new(),
            findings: 64,
            listed: 0,
            float: false,
        }
    }
}
