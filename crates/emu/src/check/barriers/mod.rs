//! Check of synchronisation: barriers, warp exchanges, mbarriers, and deadlocks of a CTA, a cluster or the
//! grid.

mod cta_barriers;
mod deadlock;
mod exchanges;
mod mbarriers;

use crate::code::Op;
use crate::exec::cta_state::CtaState;
use crate::exec::deadlock::WaitingLanes;
use crate::exec::launch::Launch;
use crate::exec::warp_state::Warp;

use crate::check::accesses::WarpAccess;
use crate::check::findings::{FindingLog, WarpStep};
use cta_barriers::Barriers;
use mbarriers::Mbarriers;

/// The check of synchronisation, with the state of the running CTAs.
#[derive(Debug, Default)]
pub struct BarrierCheck {
    barriers: Barriers,
    mbarriers: Mbarriers,
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
        match (launch.code.steps[here.step as usize].op, accesses) {
            (Op::Mbarrier(_), [t]) => return self.mbarriers.step(launch, log, warp, cta, t, here),
            (Op::Barrier(i), _) => {
                self.barriers.arrive(launch, log, warp, &launch.code.barriers[i as usize], here);
            }
            _ => {}
        }
        here.lanes
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
    }
}
