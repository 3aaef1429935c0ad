//! Work that instructions of AMD's leave under way, and the counters that instructions wait for.

use prlx_isa::amdgpu::inst::Reg;

/// A counter of work under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Vector memory operations that return; before RDNA, stores too (`vmcnt`, `loadcnt`).
    Load,
    /// Stores, and atomics that return nothing (`vscnt`, `storecnt`).
    Store,
    /// LDS and scalar memory (`lgkmcnt`).
    LdsAndScalar,
    /// LDS, on RDNA 4 (`dscnt`).
    Lds,
    /// Scalar memory, on RDNA 4 (`kmcnt`).
    Scalar,
}

impl Counter {
    /// The instruction that waits for it.
    pub fn wait(self, split: bool) -> &'static str {
        match self {
            Counter::Load if split => "s_wait_loadcnt",
            Counter::Store if split => "s_wait_storecnt",
            Counter::Load => "s_waitcnt vmcnt",
            Counter::Store => "s_waitcnt_vscnt",
            Counter::LdsAndScalar => "s_waitcnt lgkmcnt",
            Counter::Lds => "s_wait_dscnt",
            Counter::Scalar => "s_wait_kmcnt",
        }
    }
}

/// What an instruction uses, leaves under way and waits for.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Counters that its work counts at, until it is complete at one of them.
    pub issues: Vec<Counter>,
    /// Registers that its work writes when it completes.
    pub late: Vec<Reg>,
    /// Whether its work completes in the order of issue.
    pub in_order: bool,
    /// Whether its work writes LDS when it completes.
    pub to_lds: bool,
    /// Counters that it waits for, and how much may stay under way.
    pub waits: Vec<(Counter, u32)>,
    /// Registers that it reads.
    pub reads: Vec<Reg>,
    /// Registers that it writes.
    pub writes: Vec<Reg>,
}
