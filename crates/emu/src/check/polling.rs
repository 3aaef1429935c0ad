//! Lanes that run a loop in vain: they will never leave it unless another thread writes memory.
//!
//! This is proved: a lane takes the same backward branch with the same registers twice, and no memory changed
//! in between. The registers are compared at some of the visits, at exponentially growing distances.
//!
//! # Invariants
//! - Anything that may change memory visible to others resets every lane.
//! - A loop with a warp exchange also depends on the other lanes. It is in vain only if the whole warp
//!   repeats its state in one step.
//! - Waiting lanes count as stuck only if they wait while every looping lane runs a whole cycle.
//!
//! # Limitations
//! Loops that count their iterations, that change memory, or that use a barrier with a reduction are not
//! recognised, nor are loops with exchanges in warps whose lanes have diverged.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::code::{Atomic, MatrixOp, MbarrierKind, MemAccess, Op, Plane, WarpOpKind};
use crate::exec::cta_state::CtaState;
use crate::exec::deadlock::{self, PausedCta, WaitingLanes};
use crate::exec::launch::Launch;
use crate::exec::spin;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::{self, each};
use prlx_lanes::LANES;

use crate::check::accesses::WarpAccess;
use crate::check::findings::WarpStep;

/// Iterations after which the registers of a lane are compared.
const FIRST_VISITS: u32 = 64;

/// The loop of a lane.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// The number of changes of memory at the first iteration.
    changes: u64,
    /// Iterations since memory changed.
    times: u32,
    /// A hash of the registers at an earlier iteration; 0: none.
    before: u64,
    /// When that was, and whether the lane has done a warp exchange since.
    since: u64,
    exchanged: bool,
    /// When the registers were equal again the last two times, the later one last; 0: not yet.
    again: [u64; 2],
    /// The first and the last step of the loop.
    range: (u32, u32),
    /// When the lane last arrived at a barrier or an exchange.
    arrived: u64,
}

/// The loops of the lanes of running CTAs.
#[derive(Debug, Default)]
pub struct Polling {
    /// By CTA and warp.
    lanes: FxHashMap<(u64, u32), [Cycle; LANES]>,
    /// How often memory was changed.
    changes: u64,
    /// Iterations and arrivals so far.
    now: u64,
    /// The 64-bit planes in which a recording plan counts iterations. They are no registers of the kernel.
    counters: Vec<bool>,
}

impl Polling {
    /// The loops of a launch before its first step.
    pub fn new(launch: &Launch<'_>) -> Polling {
        let mut counters = vec![false; usize::from(launch.code.planes.1)];
        for &(first, n) in launch.code.hooks.iter().map(|hook| &hook.counters) {
            counters.iter_mut().skip(usize::from(first)).take(usize::from(n)).for_each(|c| *c = true);
        }
        Polling { counters, ..Polling::default() }
    }
    /// Lanes are about to run a step.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let code = launch.code;
        match (code.steps[here.step as usize].op, accesses) {
            (Op::Bra(to), _) if to <= here.step => self.iteration(warp, here, to),
            (Op::Barrier(i), _) => {
                if code.barriers[i as usize].reduces() {
                    self.changed();
                }
                self.arrives(here, false);
            }
            (Op::Atom(i), [t])
                if !update_changes_memory(launch, warp, cta, &code.atoms[i as usize], t, here) => {}
            (Op::St(i), [t]) if !store_changes_memory(launch, warp, cta, &code.mems[i as usize], t, here) => {
            }
            (Op::Mbarrier(i), _) if matches!(code.mbarriers[i as usize].kind, MbarrierKind::Test { .. }) => {}
            (Op::Exchange(i), _) => {
                if let WarpOpKind::Matrix(m) = code.warp_ops[i as usize].kind
                    && matches!(code.matrix[m as usize], MatrixOp::Store { .. } | MatrixOp::Tile(_))
                {
                    self.changed();
                }
                if matches!(code.warp_ops[i as usize].kind, WarpOpKind::Tensor(_)) {
                    self.changed();
                }
            }
            (
                Op::St(_)
                | Op::Atom(_)
                | Op::Mbarrier(_)
                | Op::LaneCopy(_)
                | Op::LaneCopyWait(_)
                | Op::BulkCopy(_)
                | Op::BulkWait(..)
                | Op::TensorCopy(_)
                | Op::TensorMap(_)
                | Op::AsyncStore(_)
                | Op::Tensor(_),
                _,
            ) => self.changed(),
            _ => {}
        }
    }
    /// Memory is about to change, or may have.
    pub fn changed(&mut self) {
        self.changes += 1;
    }
    /// Lanes arrive at a barrier or at a warp exchange.
    pub fn arrives(&mut self, here: WarpStep, exchange: bool) {
        self.now += 1;
        let lanes = self.lanes.entry((here.cta, here.warp)).or_default();
        each(here.lanes, |l| {
            lanes[l].arrived = self.now;
            lanes[l].exchanged |= exchange;
        });
    }
    /// Lanes branch back to the step `to`.
    fn iteration(&mut self, warp: &Warp, here: WarpStep, to: u32) {
        self.now += 1;
        let lanes = self.lanes.entry((here.cta, here.warp)).or_default();
        let mut equal = 0u32;
        each(here.lanes, |l| {
            let c = &mut lanes[l];
            if c.changes != self.changes {
                *c = Cycle { changes: self.changes, arrived: c.arrived, ..Cycle::default() };
            }
            c.times = c.times.saturating_add(1);
            let base = 1 << c.times.ilog2();
            if c.times < FIRST_VISITS || c.times - base > FIRST_VISITS + base / 8 {
                return;
            }
            let registers = registers(warp, &self.counters, l, here.step);
            if c.times == base && c.again[1] == 0 {
                (c.before, c.since, c.exchanged) = (registers, self.now, false);
            } else if c.before == registers {
                equal |= 1 << l;
            }
        });
        let first = lanes[equal.trailing_zeros() as usize & 31].since;
        let mut whole = equal == warp.alive;
        each(equal, |l| whole &= lanes[l].since == first);
        each(equal, |l| {
            let c = &mut lanes[l];
            if !c.exchanged || whole {
                c.range = (to, here.step);
                c.again = [c.again[1], self.now];
            }
        });
    }
    /// The waiting threads, if all threads of these CTAs wait or loop forever. `grid`: these are all CTAs of
    /// the grid; otherwise other CTAs may still change global memory.
    pub fn deadlock(
        &self,
        launch: &Launch<'_>,
        parts: &[PausedCta<'_>],
        grid: bool,
    ) -> Option<Vec<WaitingLanes>> {
        let mut loops = Vec::new();
        let mut first = u64::MAX;
        let mut last_arrival = 0;
        for part in parts {
            let engines = part.state.transfers.is_empty() && part.state.tensor_work.is_empty();
            if !engines || part.warps.iter().any(|w| w.copies.any()) {
                return None;
            }
            for w in part.warps.iter().filter(|w| w.alive != 0) {
                let Some(lanes) = self.lanes.get(&(part.state.index, w.index)) else {
                    if w.ready() != 0 {
                        return None;
                    }
                    continue;
                };
                let ready = w.ready();
                let (mut in_vain, mut arrival) = (0, 0);
                each(w.alive, |l| {
                    let c = &lanes[l];
                    if c.again[0] != 0 && c.changes == self.changes {
                        in_vain |= 1 << l;
                        first = first.min(c.again[0]);
                    } else {
                        arrival = arrival.max(c.arrived);
                    }
                });
                if ready & !in_vain != 0 {
                    return None;
                }
                last_arrival = last_arrival.max(arrival);
                each(ready, |l| loops.push((part, w, l, lanes[l].range)));
            }
        }
        if loops.is_empty() || last_arrival > first {
            return None;
        }
        let mut all = deadlock::waiting(launch, parts);
        for (part, w, l, range) in loops {
            let polled = spin::reads(launch, part.state, w, range, l);
            if polled.global && !grid {
                return None;
            }
            let what = format!("waits for {}", polled.what.awaited(launch));
            deadlock::add(&mut all, (part.state.index, w.index, l), polled.step, what);
        }
        all.sort_by_key(|w| (w.cta, w.warp));
        Some(all)
    }
    /// Forgets a CTA.
    pub fn end(&mut self, cta: u64) {
        self.lanes.retain(|k, _| k.0 != cta);
    }
}

/// Whether a store changes memory.
fn store_changes_memory(
    launch: &Launch<'_>,
    warp: &Warp,
    cta: &CtaState,
    mem: &MemAccess,
    t: &WarpAccess,
    here: WarpStep,
) -> bool {
    let r = visible_memory(launch, cta, &warp.local);
    let mut changes = false;
    access::each(here.lanes, |l| {
        let Some((region, at)) = t.at(&r, l).filter(|_| !changes) else { return };
        let pieces = mem.planes.iter().enumerate();
        changes = pieces.into_iter().any(|(k, &plane)| {
            let keep = u64::MAX >> (64 - 8 * u32::from(mem.size.clamp(1, 8)));
            let at = at + k as u64 * u64::from(mem.size);
            matches!(plane, Plane::W128(_))
                || region.load(at, mem.size) != access::value(&warp.planes, plane, l) & keep
        });
    });
    changes
}

/// Whether an atomic changes memory.
fn update_changes_memory(
    launch: &Launch<'_>,
    warp: &Warp,
    cta: &CtaState,
    atom: &Atomic,
    t: &WarpAccess,
    here: WarpStep,
) -> bool {
    let [value] = atom.values[..] else { return true };
    if matches!(value, Plane::W128(_)) {
        return true;
    }
    let r = visible_memory(launch, cta, &warp.local);
    let (mut changes, size) = (false, atom.mem.size);
    access::each(here.lanes, |l| {
        let Some((region, at)) = t.at(&r, l) else { return };
        let old = region.load(at, size);
        let swap = atom.swap.map_or(0, |s| access::value(&warp.planes, s, l));
        changes |= access::rmw(atom.rmw, size, old, access::value(&warp.planes, value, l), swap) != old;
    });
    changes
}

/// A hash of the state that determines what a lane does next; never 0.
fn registers(warp: &Warp, counters: &[bool], l: usize, step: u32) -> u64 {
    let mut h = FxHasher::default();
    (step, warp.frames[l].len(), warp.stack_pointer[l], warp.alloca_bytes[l], warp.planes.carry >> l & 1)
        .hash(&mut h);
    warp.planes.w32.iter().for_each(|p| h.write_u32(p.0[l]));
    for (p, counter) in warp.planes.w64.iter().zip(counters) {
        h.write_u64(if *counter { 0 } else { p.0[l] });
    }
    warp.planes.pred.iter().for_each(|p| h.write_u32(p >> l & 1));
    h.finish() | 1
}
