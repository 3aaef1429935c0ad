//! The data that all CTAs of a launch share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use prlx_driver::{Error, ErrorKind, LaunchConfig};
use prlx_isa::view::Module;
use prlx_lanes::LANES;
use prlx_trace::{Dim3, LaneMask, Printed, WarpSize};

use super::loops::Loops;
use super::simd::SimdFunctions;
use crate::code::Code;
use crate::hooks::recorder::Observe;
use crate::mem::heap::Heap;
use crate::mem::{Memory, Region};

/// The budget of a wait, whatever the step limit.
const LEAST_WAIT: u64 = 500_000_000;

/// Bytes of the workspace of the grid barrier (`grid_workspace` in CUDA's `driver_abi.h`).
pub const WORKSPACE_BYTES: u64 = 8;

/// Offset of the barrier in the workspace. The word before it holds the size of the workspace.
const WORKSPACE_BARRIER: u64 = 4;

/// The most steps of a warp's turn under seed 0 in a cooperative launch, whose CTAs poll often.
const COOPERATIVE_TURN: u32 = 1 << 10;

/// The data that all CTAs of a launch share.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The decoded kernel.
    pub code: &'a Code,
    /// The module of the kernel.
    pub module: &'a Module,
    /// The text of the module.
    pub source: &'a str,
    /// Where the lines of `source` end, if anything has asked for a line.
    pub line_ends: OnceLock<Vec<usize>>,
    /// The loops of the kernel, if anything has asked for them.
    pub loops: OnceLock<Loops>,
    /// The global allocations.
    pub memory: &'a Memory,
    /// The heap of `malloc`.
    pub heap: &'a Heap,
    /// Shape and seed.
    pub config: &'a LaunchConfig,
    /// The shape of a cluster, in CTAs.
    pub cluster: Dim3,
    /// Whether the launch or the kernel asks for clusters (`%is_explicit_cluster`).
    pub explicit: bool,
    /// The address of the workspace of the grid barrier: all CTAs are resident then, as in a cooperative
    /// launch. `None` in any other launch.
    pub grid_workspace: Option<u64>,
    /// The parameters of the kernel.
    pub params: &'a Region,
    /// The bytes of local memory of a lane.
    pub stride: u64,
    /// The lanes of a warp.
    pub warp_size: WarpSize,
    /// The number of warps of a CTA; of halves, where a warp has 64 lanes.
    pub warps: u32,
    /// The most warp instructions that a CTA may execute.
    pub max_steps: u64,
    /// The most warp instructions that all CTAs together may execute.
    pub max_launch_steps: u64,
    /// Warp instructions that all CTAs have executed; counted only if they are limited.
    pub executed: AtomicU64,
    /// The most steps of a warp's turn under seed 0.
    pub turn: u32,
    /// The value of `%globaltimer` at the first step, in nanoseconds.
    pub epoch: u64,
    /// Whether the caller wants the launch to end.
    pub cancel: &'a AtomicBool,
    /// The clusters that run, ascending; `None`: all.
    pub chosen: Option<Vec<u64>>,
    /// The recording plan, if hooks run.
    pub observe: Option<Observe<'a>>,
    /// What its threads have printed.
    pub printed: Mutex<Printed>,
    /// Bytes of text that are kept at most.
    pub max_printed: u64,
    /// The hot functions for the vector instruction set of the host.
    pub simd: SimdFunctions,
}

impl Launch<'_> {
    /// The line of `source` that holds the byte `at`, from 1.
    pub fn line(&self, at: usize) -> u32 {
        let ends =
            self.line_ends.get_or_init(|| self.source.match_indices('\n').map(|(end, _)| end).collect());
        ends.partition_point(|end| *end < at) as u32 + 1
    }
    /// The loops of the kernel.
    pub fn loops(&self) -> &Loops {
        self.loops.get_or_init(|| Loops::of(self.code, self.module))
    }
    /// How many of [`Warp`](super::warp_state::Warp) are one warp: 1, or 2 for the halves of a warp of 64
    /// lanes.
    pub fn halves(&self) -> u32 {
        self.warp_size.lanes() as u32 / LANES as u32
    }
    /// The number of the warp that has a half, and lanes of the half as lanes of the warp.
    pub fn whole_warp(&self, half: u32, lanes: u32) -> (u32, LaneMask) {
        let halves = self.halves();
        (half / halves, LaneMask(u64::from(lanes) << (half % halves * LANES as u32)))
    }
    /// Makes the launch cooperative: gives it the workspace at this address, which becomes zeros.
    pub fn begin_grid_barrier(&mut self, workspace: u64) {
        if let Some((region, offset)) = self.memory.range(workspace, WORKSPACE_BYTES) {
            region.write(offset, &[0; WORKSPACE_BYTES as usize]);
            self.grid_workspace = Some(workspace);
            self.turn = self.turn.min(COOPERATIVE_TURN);
        }
    }
    /// The phase of the grid barrier: the upper bit of its word, which CTAs poll. `None` if the launch has no
    /// grid barrier.
    pub fn barrier_phase(&self) -> Option<bool> {
        let (region, offset) = self.memory.range(self.grid_workspace?, WORKSPACE_BYTES)?;
        Some(region.load(offset + WORKSPACE_BARRIER, 4) >> 31 == 1)
    }
    /// Fails if the caller wants the launch to end.
    pub fn check_cancelled(&self) -> Result<(), Error> {
        match self.cancel.load(Relaxed) {
            true => {
                Err(Error::new(ErrorKind::Cancelled, format!("kernel `{}` was cancelled", self.code.name)))
            }
            false => Ok(()),
        }
    }
    /// Counts warp instructions that a CTA has executed. Returns whether the launch has executed too many.
    pub fn exceeds_limit(&self, steps: u64) -> bool {
        self.max_launch_steps != u64::MAX
            && self.executed.fetch_add(steps, Relaxed).saturating_add(steps) > self.max_launch_steps
    }
    /// The budget that a CTA, or a launch that only waits, may use up. It counts an atomic or a volatile
    /// access as many instructions, so that a long wait ends sooner than long work.
    pub fn max_wait(&self) -> u64 {
        self.max_steps.saturating_mul(8).max(LEAST_WAIT)
    }
    /// The same, for a launch that only waits and in which no memory changes. Only a clock or a counter can
    /// then end a wait.
    pub fn max_quiet_wait(&self) -> u64 {
        self.max_steps.saturating_mul(2).max(LEAST_WAIT)
    }
}
