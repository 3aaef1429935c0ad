//! One numbering for both modules' functions, loops and sites.

use prlx_trace::kernel::Module;
use prlx_trace::{FuncId, LoopId, SiteId};

/// One side's numbers in the common numbering.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CommonIds {
    pub sites: Vec<u32>,
    pub functions: Vec<u32>,
    /// By function.
    pub loops: Vec<Vec<u32>>,
}

impl CommonIds {
    pub fn identity(m: &Module) -> CommonIds {
        CommonIds {
            sites: (0..m.sites.len() as u32).collect(),
            functions: (0..m.functions.len() as u32).collect(),
            loops: m.functions.iter().map(|f| (0..f.loops.len() as u32).collect()).collect(),
        }
    }
    pub fn site(&self, s: SiteId) -> u32 {
        self.sites.get(s.index()).copied().unwrap_or(s.0)
    }
    pub fn function(&self, f: FuncId) -> u32 {
        self.functions.get(f.index()).copied().unwrap_or(f.0)
    }
    pub fn loop_of(&self, f: FuncId, l: LoopId) -> u32 {
        self.loops.get(f.index()).and_then(|ls| ls.get(l.index())).copied().unwrap_or(l.0)
    }
}

/// The next number.
pub(crate) fn next(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}
