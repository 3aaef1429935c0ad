//! Check of asynchronous copies and products in flight: their destination must not be accessed, their source
//! not be written.
//!
//! Asynchronous work begins at its instruction. It is over when a thread has waited for it: for its group, in
//! the thread that owns the group; or for the phase of its mbarrier, in any thread of the CTA. Until then its
//! bytes and accumulators are marked, no matter when the copy really happens. Findings therefore do not
//! depend on the schedule.
//!
//! # Invariants
//! In global memory only accesses of the CTA that began the copy count. Races with other CTAs belong to the
//! race check.
//!
//! # Limitations
//! Effects of multicasts in other CTAs are not checked. `cp.async` in flight when its thread ends is not
//! reported; it does no harm.

mod conflicts;
mod copies;
mod ops;
pub mod products;
mod report;
mod tensor;

use prlx_isa::ptx;
use prlx_isa::ptx::opcode;
use prlx_isa::view::Operand;

use super::accesses::{AccessKind, WarpAccess};
use super::facts::Facts;
use super::findings::{self, FindingLog, WarpStep};
use super::proxy::Proxy;
use crate::code::{Op, WarpOpKind};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;
use crate::mem::access::each;
use ops::{AsyncOps, Span, WaitGroup};

/// What a step means for this check, beyond its [`Op`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StepRole {
    /// The step has no other meaning.
    None,
    /// `cp.async.bulk.commit_group`
    Commit,
    /// `cp.async.bulk.wait_group`: how many groups may stay in flight, and whether only the sources must have
    /// been read (`.read`).
    Wait(u32, bool),
    /// `fence.proxy.async`
    Fence,
}

/// The check of asynchronous work of a launch.
#[derive(Debug)]
pub struct AsyncCheck {
    ops: AsyncOps,
    /// The role of each step.
    roles: Vec<StepRole>,
}

impl AsyncCheck {
    /// The check at the start of a launch.
    pub fn new(launch: &Launch<'_>) -> AsyncCheck {
        AsyncCheck {
            ops: AsyncOps::new(Proxy::new(launch.code)),
            roles: (0..launch.code.steps.len() as u32).map(|s| role(launch, s)).collect(),
        }
    }
    /// Lanes are about to run a step that makes these accesses.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        (facts, log): (&Facts, &mut FindingLog),
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let ops = &mut self.ops;
        ops.check_registers(launch, facts, log, here);
        let op = launch.code.steps[here.step as usize].op;
        for access in accesses {
            ops.check_access(launch, log, cta, access, here);
            if !matches!(op, Op::BulkCopy(_) | Op::TensorCopy(_) | Op::LaneCopy(_))
                && access.kind != AccessKind::Read
            {
                ops.proxy.wrote(launch, cta, access, here);
            }
        }
        match op {
            Op::LaneCopy(_) => ops.track_lane_copies(launch, cta, accesses, here),
            Op::LaneCopyCommit => each(here.lanes, |l| ops.warp_ops(here).copies[l] += 1),
            Op::LaneCopyWait(left) => ops.wait_lane_groups(here, left),
            Op::BulkCopy(_) | Op::TensorCopy(_) => {
                ops.track_bulk_copies(launch, log, warp, cta, accesses, here)
            }
            Op::AsyncStore(_) => ops.track_async_stores(launch, warp, cta, accesses, here),
            Op::Mbarrier(i) => ops.mbarrier_step(launch, warp, cta, i, accesses, here),
            Op::Exchange(i) => {
                ops.proxy.synced(here);
                match launch.code.warp_ops[i as usize].kind {
                    WarpOpKind::Wgmma(what) => ops.wgmma_step(launch, (facts, log), warp, cta, what, here),
                    WarpOpKind::Tensor(t) => {
                        let op = &launch.code.tensor_warp_ops[t as usize];
                        ops.tensor_warp_step(launch, log, warp, op, here);
                    }
                    _ => {}
                }
            }
            Op::Tensor(i) => ops.tensor_step(launch, log, warp, cta, i, here),
            _ => match self.roles[here.step as usize] {
                StepRole::None => {}
                StepRole::Commit => each(here.lanes, |l| ops.warp_ops(here).bulks[l] += 1),
                StepRole::Wait(left, read) => ops.wait_bulk_groups(here, left, read),
                StepRole::Fence => ops.proxy.fence(here),
            },
        }
    }
    /// A CTA has ended, and its shared memory with it.
    pub fn end(&mut self, launch: &Launch<'_>, log: &mut FindingLog, cta: u64) {
        let own = |s: &Span| matches!(*s, Span::Shared { cta: c, .. } if c == cta);
        let theirs = |s: &Span| matches!(*s, Span::Shared { cta: c, .. } if c != cta);
        let mut ended: Vec<u64> = Vec::new();
        for (&n, p) in &self.ops.in_flight {
            // The CTA that receives data waits for it.
            let gone = p.by.cta == cta && !p.writes.iter().any(theirs);
            if gone || p.reads.iter().chain(&p.writes).any(own) {
                ended.push(n);
            }
        }
        ended.sort_unstable();
        for n in ended {
            let Some(p) = self.ops.in_flight.get(&n) else { continue };
            let engine =
                matches!(p.group, WaitGroup::BulkCopy(..) | WaitGroup::Tensor(_) | WaitGroup::Mbarrier);
            if let (true, Some(span)) = (engine, p.reads.iter().chain(&p.writes).find(|s| own(s))) {
                report::unfinished(launch, log, p, *span);
            }
            self.ops.complete(n);
        }
        self.ops.warps.retain(|k, _| k.0 != cta);
        self.ops.phases.retain(|k, _| k.0 != cta);
        self.ops.shared.remove(&cta);
        self.ops.tensor.remove(&cta);
        self.ops.proxy.end(cta);
    }
    /// A barrier of the CTA has completed, and these lanes waited at it.
    pub fn passed_barrier(&mut self, who: WarpStep) {
        self.ops.proxy.synced(who);
    }
}

/// The role of a step, from its instruction.
fn role(launch: &Launch<'_>, step: u32) -> StepRole {
    let Some(i) = findings::instruction(launch, step).filter(|_| launch.code.steps[step as usize].cost > 0)
    else {
        return StepRole::None;
    };
    let f = opcode(i);
    match f.op {
        Some(ptx::Op::Fence) if f.has("proxy") && f.has("async") => StepRole::Fence,
        Some(ptx::Op::Cp) if f.has("bulk") && f.has("commit_group") => StepRole::Commit,
        Some(ptx::Op::Cp) if f.has("bulk") && f.has("wait_group") => match i.operands.first() {
            Some(Operand::Int(n)) => StepRole::Wait(u32::try_from(*n).unwrap_or(0), f.has("read")),
            _ => StepRole::None,
        },
        _ => StepRole::None,
    }
}
