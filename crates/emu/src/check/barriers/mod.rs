//! Check of synchronisation: barriers, warp exchanges, mbarriers, and deadlocks of a CTA, a cluster or the
//! grid.

mod cta_barriers;
mod deadlock;
mod exchanges;
mod mbarriers;
mod polling;

use prlx_trace::check::Space;

use crate::code::{Atomic, MemAccess, Op, Plane};
use crate::exec::cta_state::CtaState;
use crate::exec::deadlock::{PausedCta, WaitingLanes};
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access;

use crate::check::accesses::{self, WarpAccess};
use crate::check::findings::{self, FindingLog, WarpStep};
use cta_barriers::Barriers;
use mbarriers::Mbarriers;
use polling::{PollTarget, Polling};

/// The check of synchronisation, with the state of the running CTAs.
#[derive(Debug, Default)]
pub struct BarrierCheck {
    barriers: Barriers,
    mbarriers: Mbarriers,
    polling: Polling,
}

impl BarrierCheck {
    /// Checks a step that lanes are about to run; returns the lanes that may run it.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) -> u32 {
        let code = launch.code;
        match (code.steps[here.step as usize].op, accesses) {
            (Op::Mbarrier(_), [t]) => {
                return self.mbarriers.step(launch, log, warp, cta, (t, &mut self.polling), here);
            }
            (Op::Barrier(i), _) => {
                self.barriers.arrive(launch, log, warp, &code.barriers[i as usize], here);
                self.polling.busy(here);
            }
            (Op::Ld(i), [t]) if code.mems[i as usize].strong => self.polls(launch, warp, cta, t, here),
            (Op::Atom(i), [t])
                if !update_changes_memory(launch, warp, cta, &code.atoms[i as usize], t, here) =>
            {
                self.polls(launch, warp, cta, t, here);
            }
            (Op::St(i), [t]) if !store_changes_memory(launch, warp, cta, &code.mems[i as usize], t, here) => {
            }
            (Op::Exchange(_), _) => self.polling.busy(here),
            (
                Op::St(_)
                | Op::Atom(_)
                | Op::LaneCopy(_)
                | Op::LaneCopyWait(_)
                | Op::BulkCopy(_)
                | Op::BulkWait(..)
                | Op::TensorCopy(_)
                | Op::TensorMap(_)
                | Op::AsyncStore(_),
                _,
            ) => {
                self.polling.changed();
                self.polling.busy(here);
            }
            _ => {}
        }
        here.lanes
    }
    /// Lanes read memory that other threads may change.
    fn polls(&mut self, launch: &Launch<'_>, warp: &Warp, cta: &CtaState, t: &WarpAccess, here: WarpStep) {
        let r = visible_memory(launch, cta, &warp.local);
        self.polling.reads(warp, here, |l| {
            let (space, at) = (accesses::space(t.space, t.addr.0[l]), accesses::within(t.space, t.addr.0[l]));
            let value = t.at(&r, l).map_or(0, |(region, at)| region.load(at, t.bytes[l].min(8) as u8));
            PollTarget::Memory { space, at, bytes: t.bytes[l], value }
        });
    }
    /// Asynchronous copies may change memory without a step.
    pub fn memory_may_change(&mut self) {
        self.polling.changed();
    }
    /// Lanes arrive at an exchange; returns the lanes that may take part.
    pub fn arrive_exchange(
        &self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        here: WarpStep,
    ) -> u32 {
        let op = launch.code.warp_op(here.step);
        op.map_or(here.lanes, |op| exchanges::named(launch, log, warp, op, here))
    }
    /// All lanes of an exchange have arrived; returns the lanes that read a lane which takes no part.
    pub fn complete_exchange(
        &self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        here: WarpStep,
    ) -> u32 {
        let op = launch.code.warp_op(here.step);
        op.map_or(0, |op| exchanges::shuffled(launch, log, warp, op, here))
    }
    /// A barrier of a CTA is complete.
    pub fn barrier_complete(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        cta: u64,
        id: usize,
        warps: &[Warp],
    ) {
        self.barriers.complete(launch, log, cta, id as u32, warps);
    }
    /// The waiting threads, if all threads of these CTAs wait forever. `grid`: these are all CTAs of the
    /// grid; otherwise other CTAs may still change global memory.
    pub fn polling_deadlock(
        &self,
        launch: &Launch<'_>,
        parts: &[PausedCta<'_>],
        grid: bool,
    ) -> Option<Vec<WaitingLanes>> {
        let mut polling = Vec::new();
        for part in parts {
            let under_way = !part.state.transfers.is_empty() || part.warps.iter().any(|w| w.copies.any());
            if under_way {
                return None;
            }
            for w in part.warps {
                polling.extend(self.polling.waiting(part.state.index, w)?);
            }
        }
        if polling.is_empty() || !grid && polling.iter().any(|a| !a.what.inside()) {
            return None;
        }
        let name = |space: Space, at: u64| match findings::allocation(launch, space, at) {
            Some(a) => format!("`{}` + {}", a.name, at.wrapping_sub(a.base)),
            None => "no allocation".into(),
        };
        let words = |a: &polling::PollingLanes| {
            let WarpStep { cta, warp, lanes, step } = a.who;
            WaitingLanes { cta, warp, lanes, step, what: a.what.words(name) }
        };
        let mut all = crate::exec::deadlock::waiting(launch, parts);
        all.extend(polling.iter().map(words));
        all.sort_by_key(|w| (w.cta, w.warp));
        Some(all)
    }
    /// Reports that no thread of `whole` can continue.
    pub fn report_deadlock(
        &self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        whole: &str,
        waiting: &[WaitingLanes],
    ) {
        deadlock::report(launch, log, whole, waiting);
    }
    /// A CTA has ended.
    pub fn end(&mut self, cta: u64) {
        self.barriers.end(cta);
        self.mbarriers.end(cta);
        self.polling.end(cta);
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
