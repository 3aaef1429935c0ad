//! What all CTAs of one launch share.

use prlx_driver::LaunchConfig;
use prlx_isa::view::Module;
use prlx_trace::Dim3;

use super::simd::SimdFunctions;
use crate::code::Code;
use crate::hooks::recorder::Observe;
use crate::mem::heap::Heap;
use crate::mem::{Memory, Region};

/// All that CTAs of one launch share.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The decoded kernel.
    pub code: &'a Code,
    /// The module of the kernel.
    pub module: &'a Module,
    /// The text of the module.
    pub source: &'a str,
    /// The global allocations.
    pub memory: &'a Memory,
    /// Where `malloc` takes from.
    pub heap: &'a Heap,
    /// Shape and seed.
    pub config: &'a LaunchConfig,
    /// CTAs of a cluster.
    pub cluster: Dim3,
    /// Whether somebody asked for clusters: the launch or the kernel.
    pub explicit: bool,
    /// The parameters of the kernel.
    pub params: &'a Region,
    /// Bytes of a lane's local memory.
    pub stride: u64,
    /// Warps of a CTA.
    pub warps: u32,
    /// Steps that a CTA may take.
    pub max_steps: u64,
    /// What `%globaltimer` shows at its first.
    pub epoch: u64,
    /// What to write down.
    pub observe: Option<Observe<'a>>,
    /// Hot functions for this host.
    pub simd: SimdFunctions,
}
