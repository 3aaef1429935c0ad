//! `cp.async`: copies of single lanes, and the arrivals at mbarriers that follow them.
//!
//! Under the fair schedule a copy is complete when it begins. Under a hostile schedule it is performed at a
//! seeded point after that, in any order among the copies of a lane, at the latest at the wait for its group
//! or at the end of the lane. A missing wait therefore shows. `cp.async.mbarrier.arrive` arrives when the
//! copies that the lane began before it are complete.

use crate::code::LaneCopy;
use crate::copies::mbarrier;
use crate::copies::state::PendingCopy;
use crate::copies::state::PendingKind;
use crate::exec::cta_state::CtaState;
use crate::exec::fault::Fault;
use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::{self, AccessError};
use prlx_lanes::LANES;

impl Warp {
    /// For each lane of `m`: how many bytes a copy reads. Zeros fill the rest of the destination.
    pub(crate) fn bytes_read(&self, copy: &LaneCopy, m: u32) -> [u8; LANES] {
        let mut taken = [copy.dst.size; LANES];
        access::each(m, |l| {
            if let Some(p) = copy.size {
                taken[l] = self.planes.w32[usize::from(p)].0[l].min(copy.dst.size.into()) as u8;
            }
            if copy.ignore.is_some_and(|p| self.planes.get_pred(p) >> l & 1 == 1) {
                taken[l] = 0;
            }
        });
        taken
    }
    /// Begins a copy of each lane of `m`.
    pub(crate) fn begin_lane_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        copy: &LaneCopy,
        m: u32,
    ) -> Result<(), Box<AccessError>> {
        let bytes = copy.dst.size;
        let taken = self.bytes_read(copy, m);
        // Bytes that are not read need not exist.
        let read = (0..LANES).fold(0, |r, l| r | u32::from(taken[l] > 0) << l) & m;
        let r = visible_memory(launch, cta, &self.local);
        let mut from = [0; LANES];
        access::each_place(&self.planes, &r, &mut self.allocation_hint, &copy.src, read, |l, _, _| {
            from[l] = access::address_of(&self.planes, &copy.src, l);
        })?;
        let mut to = [0; LANES];
        access::each_place(&self.planes, &r, &mut 0, &copy.dst, m, |l, _, at| to[l] = at)?;
        access::each(m, |l| {
            let kind = PendingKind::Copy { bytes, taken: taken[l], from: from[l], to: to[l] };
            if launch.config.seed == 0 {
                perform(launch, cta, (bytes, taken[l]), from[l], to[l]);
            } else {
                self.copies.pending.push(PendingCopy { lane: l as u8, group: self.copies.groups[l], kind });
            }
        });
        Ok(())
    }
    /// Arrives for the lanes `m` at the mbarriers at `at` when the copies that they have begun are complete.
    /// Only a hostile schedule has copies in flight.
    pub(crate) fn arrive_after_copies(&mut self, m: u32, at: &[u64; LANES], step: u32) {
        access::each(m, |l| {
            let kind = PendingKind::Arrive { at: at[l], step };
            self.copies.pending.push(PendingCopy { lane: l as u8, group: self.copies.groups[l], kind });
        });
    }
    /// Performs some copies and arrivals in flight, under a hostile schedule.
    pub(crate) fn advance_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        rng: &mut Rng,
    ) -> Result<(), Box<Fault>> {
        if self.copies.pending.is_empty() || rng.below(4) != 0 {
            return Ok(());
        }
        self.run_copies(launch, cta, |_| rng.below(2) == 0)
    }
    /// Performs what is due. An arrival waits for everything that its lane began before it.
    fn run_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        mut due: impl FnMut(&PendingCopy) -> bool,
    ) -> Result<(), Box<Fault>> {
        let (mut waiting, mut wrong) = (0u32, None);
        self.copies.pending.retain(|p| {
            let lane = u32::from(p.lane);
            if !due(p) || matches!(p.kind, PendingKind::Arrive { .. }) && waiting >> lane & 1 == 1 {
                waiting |= 1 << lane;
                return true;
            }
            match p.kind {
                PendingKind::Copy { bytes, taken, from, to } => {
                    perform(launch, cta, (bytes, taken), from, to)
                }
                PendingKind::Arrive { at, step } => {
                    let done = mbarrier::arrive(&visible_memory(launch, cta, launch.params), at);
                    wrong = wrong
                        .take()
                        .or(done.err().map(|e| Fault::new(step, lane, format!("uses an mbarrier {e}"))));
                }
            }
            false
        });
        wrong.map_or(Ok(()), Err)
    }
    /// Performs the copies of some lanes, except those of the last `left` groups; `u32::MAX`: all copies.
    pub(crate) fn finish_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        left: u32,
        m: u32,
    ) -> Result<(), Box<Fault>> {
        if self.copies.pending.is_empty() {
            return Ok(());
        }
        let groups = self.copies.groups;
        self.run_copies(launch, cta, |p| {
            let l = usize::from(p.lane);
            m >> l & 1 == 1 && (left == u32::MAX || p.group < groups[l].saturating_sub(left))
        })
    }
}

/// Performs a copy: copies `taken` bytes and fills the rest with zeros.
fn perform(launch: &Launch<'_>, cta: &CtaState, (bytes, taken): (u8, u8), from: u64, to: u64) {
    let mut data = [0; 16];
    let data = &mut data[..usize::from(bytes)];
    // Both places were checked when the copy began, and allocations do not go away during a launch.
    if let Some((region, off)) = launch.memory.range(from, taken.into()) {
        region.read(off, &mut data[..usize::from(taken)]);
    }
    cta.shared.write(to, data);
}
