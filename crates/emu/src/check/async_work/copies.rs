//! Tracks asynchronous copies and stores, and the waits that complete them.

use super::ops::{AsyncOp, AsyncOps, Span, WaitGroup, group_done};
use crate::check::accesses::{self, AccessKind, WarpAccess};
use crate::check::findings::{FindingLog, WarpStep};
use crate::code::{MbarrierKind, Op};
use crate::copies::mbarrier::{self, MbarrierState};
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::exec::warp_state::{Warp, visible_memory};
use crate::mem::access::{VisibleMemory, each};

impl AsyncOps {
    /// Tracks a `cp.async` of each lane.
    pub fn track_lane_copies(
        &mut self,
        launch: &Launch<'_>,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let [from, to] = accesses else { return };
        each(here.lanes & to.lanes, |l| {
            let by = WarpStep { lanes: 1 << l, ..here };
            let reads = if from.lanes >> l & 1 == 1 { Span::of(launch, cta, from, l) } else { None };
            let writes = Span::of(launch, cta, to, l).into_iter().collect();
            let group = WaitGroup::LaneCopy(l, self.warp_ops(here).copies[l]);
            self.track(AsyncOp::new(by, writes, reads.into_iter().collect(), group));
        });
    }
    /// Completes the `cp.async` of all groups of the lanes but the last `left`.
    pub fn wait_lane_groups(&mut self, here: WarpStep, left: u32) {
        let copies = self.warp_ops(here).copies;
        self.complete_due(here, |g| match g {
            WaitGroup::LaneCopy(l, n) => here.lanes >> l & 1 == 1 && group_done(n, copies[l], left),
            _ => false,
        });
    }
    /// Tracks a bulk or tensor copy of each lane. Checks its source in shared memory against ordinary writes.
    pub fn track_bulk_copies(
        &mut self,
        launch: &Launch<'_>,
        log: &mut FindingLog,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let code = launch.code;
        let (counted, ranks) = match code.steps[here.step as usize].op {
            Op::TensorCopy(i) => {
                (code.tensors[i as usize].mbarrier.is_some().then_some(1), code.tensors[i as usize].multicast)
            }
            Op::BulkCopy(i) => {
                (code.bulks[i as usize].mbarrier.is_some().then_some(2), code.bulks[i as usize].multicast)
            }
            _ => return,
        };
        let r = visible_memory(launch, cta, &warp.local);
        each(here.lanes, |l| {
            // A CTA that receives a multicast waits for it by itself.
            if ranks.is_some_and(|p| warp.planes.w32[usize::from(p)].0[l] >> cta.rank & 1 == 0) {
                return;
            }
            let by = WarpStep { lanes: 1 << l, ..here };
            let (mut reads, mut writes, mut updates) = (Vec::new(), Vec::new(), false);
            let moved = accesses.iter().enumerate().filter(|(i, _)| Some(*i) != counted);
            for (_, t) in moved.filter(|(_, t)| t.lanes >> l & 1 == 1) {
                let Some(span) = Span::of(launch, cta, t, l) else { continue };
                updates |= t.kind == AccessKind::Update;
                match (span, t.kind) {
                    (Span::Shared { cta, at, bytes }, AccessKind::Read) => {
                        self.proxy.read(launch, log, (cta, at, bytes), by);
                    }
                    (Span::Shared { cta, at, bytes }, _) => self.proxy.replaced(cta, at, bytes),
                    _ => {}
                }
                if t.kind == AccessKind::Read { reads.push(span) } else { writes.push(span) }
            }
            let phase = counted
                .and_then(|i| accesses.get(i))
                .and_then(|t| phase_of(t, &r, l).map(|p| (accesses::owner(launch, cta, t, l), p)));
            let group = match phase {
                Some(_) => WaitGroup::Mbarrier,
                None => WaitGroup::BulkCopy(l, self.warp_ops(here).bulks[l]),
            };
            let n = self.track(AsyncOp {
                updates,
                counted: phase.is_some(),
                ..AsyncOp::new(by, writes, reads, group)
            });
            if let Some((owner, (at, parity))) = phase {
                self.complete_with_phase((owner, at), n, parity);
            }
        });
    }
    /// Tracks a `st.async` or `red.async` of each lane.
    pub fn track_async_stores(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let [to, counted] = accesses else { return };
        let r = visible_memory(launch, cta, &warp.local);
        each(here.lanes & to.lanes, |l| {
            let Some((at, parity)) = phase_of(counted, &r, l) else { return };
            let by = WarpStep { lanes: 1 << l, ..here };
            let writes = Span::of(launch, cta, to, l).into_iter().collect();
            let n = self.track(AsyncOp {
                updates: to.kind == AccessKind::Update,
                counted: true,
                ..AsyncOp::new(by, writes, Vec::new(), WaitGroup::Mbarrier)
            });
            self.complete_with_phase((accesses::owner(launch, cta, counted, l), at), n, parity);
        });
    }
    /// Completes the bulk copies of all groups of the lanes but the last `left`. With `read`, only their
    /// sources are free.
    pub fn wait_bulk_groups(&mut self, here: WarpStep, left: u32, read: bool) {
        let bulks = self.warp_ops(here).bulks;
        let due = |g: WaitGroup| match g {
            WaitGroup::BulkCopy(l, n) => here.lanes >> l & 1 == 1 && group_done(n, bulks[l], left),
            _ => false,
        };
        if !read {
            return self.complete_due(here, due);
        }
        for n in self.due(here, due) {
            let reads = self.in_flight.get_mut(&n).map(|p| std::mem::take(&mut p.reads)).unwrap_or_default();
            self.unmark(n, &reads, false);
        }
    }
    /// Lanes run operation `i` on mbarriers. A test that finds its phase complete also completes the
    /// operations that the phase counts.
    pub fn mbarrier_step(
        &mut self,
        launch: &Launch<'_>,
        warp: &Warp,
        cta: &CtaState,
        i: u32,
        accesses: &[WarpAccess],
        here: WarpStep,
    ) {
        let (bar, r) = (&launch.code.mbarriers[i as usize], visible_memory(launch, cta, &warp.local));
        let [t] = accesses else { return };
        each(here.lanes, |l| {
            let Some((at, parity)) = phase_of(t, &r, l) else { return };
            let key = (accesses::owner(launch, cta, t, l), at);
            match bar.kind {
                MbarrierKind::ArriveCopies { .. } => {
                    // This phase also completes the copies that the lane has begun so far.
                    let mut so_far = self.warp_ops(here).in_flight.clone();
                    so_far.retain(|n| {
                        let copy = self.in_flight.get_mut(n).filter(|p| !p.counted);
                        let copy = copy.filter(|p| matches!(p.group, WaitGroup::LaneCopy(of, _) if of == l));
                        copy.map(|p| p.counted = true).is_some()
                    });
                    so_far.into_iter().for_each(|n| self.complete_with_phase(key, n, parity));
                }
                MbarrierKind::Test { .. } => {
                    let asked = mbarrier::phase(bar, &warp.planes, l);
                    if parity == asked {
                        return;
                    }
                    self.proxy.synced(WarpStep { lanes: 1 << l, ..here });
                    let Some(mut waiting) = self.phases.remove(&key) else { return };
                    waiting.retain(|&(n, parity)| {
                        if parity == asked {
                            self.complete(n);
                        }
                        self.in_flight.contains_key(&n)
                    });
                    if !waiting.is_empty() {
                        self.phases.insert(key, waiting);
                    }
                }
                _ => {}
            }
        });
    }
}

/// The address of the mbarrier that a lane accesses, and the parity of its phase.
fn phase_of(access: &WarpAccess, r: &VisibleMemory<'_>, l: usize) -> Option<(u64, bool)> {
    let (region, at) = access.at(r, l)?;
    Some((at, MbarrierState::read(region.load64(at)).parity()))
}
