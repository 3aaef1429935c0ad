//! One numbering for the functions, loops and sites of both modules: A's numbers, then what only B has.

use prlx_trace::kernel::Module;
use prlx_trace::{FuncId, LoopId, SiteId};

/// The common numbers of one side's functions, loops and sites, by their own numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CommonIds {
    pub sites: Vec<u32>,
    pub functions: Vec<u32>,
    /// By function and loop.
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

/// Returns `n` and increments it.
pub(crate) fn next(n: &mut u32) -> u32 {
    *n += 1;
    *n - 1
}
