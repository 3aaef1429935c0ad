//! Options of a comparison.

use prlx_analyze::report::FindingKind;

/// How to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Values count too, not only the path.
    pub values: bool,
    /// Compare kernels of different names.
    pub force: bool,
    /// Only these warps, first to last; none: all.
    pub warps: Vec<(u32, u32)>,
    /// Only findings of these kinds; none: all.
    pub kinds: Vec<FindingKind>,
    /// Only findings at these sites; none: all.
    pub sites: Vec<u32>,
    /// Findings that are kept.
    pub findings: usize,
    /// Single differences that are listed.
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
