//! How threads meet: at barriers, in exchanges of a warp, at mbarriers; and whether all of them wait.

mod barriers;
mod exchange;
mod mbarriers;
mod stuck;

use crate::code::Op;
use crate::cta::{Block, Launch};
use crate::warp::Warp;

use super::found::{Found, Who};
use super::touch::Touch;
use barriers::Barriers;
use mbarriers::Mbarriers;

/// What is known of the CTAs under way.
#[derive(Debug, Default)]
pub struct Meet {
    barriers: Barriers,
    mbarriers: Mbarriers,
}

impl Meet {
    /// Lanes are about to run a step; those that may.
    pub fn step(
        &mut self,
        launch: &Launch<'_>,
        found: &mut Found,
        warp: &Warp,
        block: &Block,
        touches: &[Touch],
        here: Who,
    ) -> u32 {
        match (launch.code.steps[here.step as usize].op, touches) {
            (Op::Mbarrier(_), [t]) => return self.mbarriers.work(launch, found, warp, block, t, here),
            (Op::Bar(i), _) => self.barriers.arrive(launch, found, warp, &launch.code.bars[i as usize], here),
            (Op::St(_) | Op::Atom(_) | Op::Copy(_) | Op::Bulk(_) | Op::Tensor(_) | Op::Sync(_), _) => {}
            _ => return here.lanes,
        }
        self.mbarriers.busy(here);
        here.lanes
    }
    /// Lanes come to an exchange; those that may take part.
    pub fn comes(&self, launch: &Launch<'_>, found: &mut Found, warp: &Warp, here: Who) -> u32 {
        match launch.code.steps[here.step as usize].op {
            Op::Sync(i) => exchange::named(launch, found, warp, &launch.code.syncs[i as usize], here),
            _ => here.lanes,
        }
    }
    /// All lanes of an exchange have come; those that receive nobody's value.
    pub fn exchange(&self, launch: &Launch<'_>, found: &mut Found, warp: &Warp, here: Who) -> u32 {
        match launch.code.steps[here.step as usize].op {
            Op::Sync(i) => exchange::shuffled(launch, found, warp, &launch.code.syncs[i as usize], here),
            _ => 0,
        }
    }
    /// A barrier of a CTA is complete.
    pub fn completed(&mut self, launch: &Launch<'_>, found: &mut Found, cta: u64, id: usize, warps: &[Warp]) {
        self.barriers.complete(launch, found, cta, id as u32, warps);
    }
    /// Whether the lanes of a CTA that are left wait for mbarriers for ever; then that is a finding.
    pub fn waits(&self, launch: &Launch<'_>, found: &mut Found, block: &Block, warps: &[Warp]) -> bool {
        // Another CTA of a cluster may arrive.
        if launch.cluster.volume() > 1 {
            return false;
        }
        let Some(asking) = self.mbarriers.stuck(block.index, warps) else { return false };
        stuck::report(launch, found, block, warps, &asking);
        true
    }
    /// Nobody of a CTA can go on.
    pub fn stuck(&self, launch: &Launch<'_>, found: &mut Found, block: &Block, warps: &[Warp]) {
        stuck::report(launch, found, block, warps, &[]);
    }
    /// A CTA has ended.
    pub fn end(&mut self, cta: u64) {
        self.barriers.end(cta);
        self.mbarriers.end(cta);
    }
}
