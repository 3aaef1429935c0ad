//! What the threads of a running CTA know of the accesses of others, and what they publish: part of the race
//! check.
//!
//! # Invariants
//! Lanes that know the same share one clock, so that it is compared once for all of them.

use std::sync::Arc;

use prlx_isa::view::{Order, Scope};
use rustc_hash::FxHashMap;

use crate::mem::access::each;
use prlx_lanes::LANES;

use super::happens_before::{CtaNumber, VectorClock, joined};
use super::pending::PendingRaces;
use super::shadow::AccessRecord;

/// What a release publishes, and to which threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Published {
    /// What the release published to every thread of the device.
    pub(super) wide: Option<Arc<VectorClock>>,
    /// What it published to the threads of one CTA only.
    pub(super) narrow: Option<(CtaNumber, Arc<VectorClock>)>,
}

impl Published {
    /// What a thread of a CTA publishes at a scope. A wider scope includes the CTA.
    pub(super) fn of(cta: CtaNumber, scope: Scope, known: &Arc<VectorClock>) -> Published {
        Published { wide: (scope > Scope::Cta).then(|| known.clone()), narrow: Some((cta, known.clone())) }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.wide.is_none() && self.narrow.is_none()
    }
    /// Adds everything that `other` published.
    pub(super) fn join(&mut self, other: &Published) {
        if let Some(wide) = &other.wide {
            self.wide = Some(self.wide.as_ref().map_or_else(|| wide.clone(), |w| joined(w, wide)));
        }
        if let Some((cta, narrow)) = &other.narrow {
            let old = self.narrow.take().filter(|n| n.0 == *cta);
            self.narrow = Some((*cta, old.map_or_else(|| narrow.clone(), |n| joined(&n.1, narrow))));
        }
    }
    /// The part that a thread of a CTA acquires at a scope.
    pub(super) fn at(&self, cta: CtaNumber, scope: Scope) -> Published {
        Published {
            wide: self.wide.clone().filter(|_| scope > Scope::Cta),
            narrow: self.narrow.clone().filter(|n| n.0 == cta),
        }
    }
    /// The clock `known` after acquiring what was published.
    pub(super) fn acquired(&self, known: &Arc<VectorClock>) -> Arc<VectorClock> {
        let narrow = self.narrow.as_ref().map(|n| &n.1);
        [narrow, self.wide.as_ref()].into_iter().flatten().fold(known.clone(), |k, more| joined(&k, more))
    }
}

/// The knowledge of the threads that have arrived at a barrier. A fence before the barrier also covers strong
/// writes of other threads after it. What a thread has seen before the barrier can be acquired by the fences
/// of other threads after it (PTX ISA, `fence.sc`).
#[derive(Clone, Debug, Default)]
pub(super) struct BarrierArrivals {
    pub(super) known: VectorClock,
    /// What fences of CTA scope released, by CTA: visible to that CTA only.
    pub(super) narrow: Vec<(CtaNumber, Arc<VectorClock>)>,
    pub(super) fenced: Published,
    pub(super) seen: Published,
    /// Some threads arrived without waiting (`barrier.arrive`).
    pub(super) some_did_not_wait: bool,
}

impl BarrierArrivals {
    pub(super) fn is_empty(&self) -> bool {
        self.known == VectorClock::default() && self.narrow.is_empty()
    }
}

/// The state of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    pub(super) known: Arc<VectorClock>,
    /// Releases that the thread has seen by relaxed reads; a fence acquires them.
    pub(super) seen: Published,
    /// What a fence has prepared for the next strong write to release.
    pub(super) fenced: Published,
}

/// The clocks of a running CTA.
#[derive(Debug)]
pub(super) struct CtaClocks {
    pub(super) number: CtaNumber,
    /// The time of the CTA: recorded with each access, advanced by each release.
    pub(super) time: u32,
    /// Of AMD's code, whose waves run one instruction after the other: halves of a wave.
    pub(super) lockstep: Option<u32>,
    pub(super) threads: Vec<Thread>,
    /// Lanes of the warp that runs a step now which know the same.
    pub(super) alike: u32,
    /// The time up to which they know all accesses of this CTA, if they know no later ones.
    pub(super) floor: Option<u32>,
    /// By barrier: the knowledge of the threads that have arrived.
    pub(super) arrived: Vec<Option<BarrierArrivals>>,
    /// By warp and step of a load whose value is only stored: the lanes that have stored such a value.
    pub(super) used: FxHashMap<(u32, u32), u32>,
    /// Races with reads of this CTA whose values nothing has stored so far.
    pub(super) pending: PendingRaces,
}

/// What lanes learn at a barrier.
pub(super) struct Learned {
    pub(super) known: Arc<VectorClock>,
    /// What the last lane knew before, and knows now.
    pub(super) last: Option<(Arc<VectorClock>, Arc<VectorClock>)>,
}

impl CtaClocks {
    /// Adds what lanes know and have done until now to the arrivals of a barrier.
    pub(super) fn arrive(&mut self, warp: u32, m: u32, to: &mut BarrierArrivals) {
        let mut last: Option<&Arc<VectorClock>> = None;
        each(m, |l| {
            let thread = &self.threads[warp as usize * LANES + l];
            if last.is_none_or(|k| !Arc::ptr_eq(k, &thread.known)) {
                to.known.join(&thread.known);
            }
            to.fenced.join(&thread.fenced);
            to.seen.join(&thread.seen);
            last = Some(&thread.known);
        });
        to.known.learn(self.number, warp, m, self.time);
        self.time += 1;
    }
    /// Adds a relaxed arrival: only what a fence before it has prepared.
    pub(super) fn arrive_relaxed(&mut self, warp: u32, m: u32, to: &mut BarrierArrivals) {
        each(m, |l| {
            let fenced = &self.threads[warp as usize * LANES + l].fenced;
            if let Some(wide) = &fenced.wide {
                to.known.join(wide);
            }
            if let Some((cta, narrow)) = &fenced.narrow {
                match to.narrow.iter_mut().find(|n| n.0 == *cta) {
                    Some(all) => all.1 = joined(&all.1, narrow),
                    None => to.narrow.push((*cta, narrow.clone())),
                }
            }
            to.fenced.join(fenced);
        });
    }
    /// Lanes learn everything that was arrivals.
    pub(super) fn learn(&mut self, warp: u32, m: u32, all: &BarrierArrivals) {
        let mut learned = self.learned(all);
        self.learn_more(warp, m, all, &mut learned);
    }
    /// What there is to learn from arrivals.
    pub(super) fn learned(&self, all: &BarrierArrivals) -> Learned {
        let mut known = Arc::new(all.known.clone());
        if let Some((_, narrow)) = all.narrow.iter().find(|n| n.0 == self.number) {
            known = joined(&known, narrow);
        }
        Learned { known, last: None }
    }
    pub(super) fn learn_more(&mut self, warp: u32, m: u32, all: &BarrierArrivals, learned: &mut Learned) {
        each(m, |l| {
            let thread = &mut self.threads[warp as usize * LANES + l];
            let both = match &learned.last {
                Some((from, both)) if Arc::ptr_eq(from, &thread.known) => both.clone(),
                _ => joined(&learned.known, &thread.known),
            };
            let from = std::mem::replace(&mut thread.known, both.clone());
            learned.last = Some((from, both));
            thread.fenced.join(&all.fenced);
            thread.seen.join(&all.seen);
        });
    }
    pub(super) fn fence(&mut self, warp: u32, m: u32, order: Order) {
        let (number, time) = (self.number, self.time);
        each(m, |l| {
            let thread = &mut self.threads[warp as usize * LANES + l];
            if order.acquire {
                thread.known = thread.seen.at(number, order.scope).acquired(&thread.known);
            }
            if order.release {
                let mut known = (*thread.known).clone();
                known.learn(number, warp, 1 << l, time);
                thread.fenced.join(&Published::of(number, order.scope, &Arc::new(known)));
            }
        });
        self.time += u32::from(order.release);
    }
    /// Finds lanes among `m` that know the same as the first one.
    pub(super) fn find_alike(&mut self, warp: u32, m: u32) {
        self.alike = 0;
        let known = |l: usize| &self.threads[warp as usize * LANES + l].known;
        let (first, mut alike) = (m.trailing_zeros() as usize & 31, 0);
        each(m, |l| alike |= u32::from(Arc::ptr_eq(known(l), known(first))) << l);
        self.floor = known(first).floor(self.number);
        self.alike = alike;
    }
    /// [`CtaClocks::unordered`] of lanes that know the same.
    pub(super) fn unordered_alike(&self, warp: u32, lanes: u32, old: AccessRecord) -> (u32, u32) {
        let first = lanes.trailing_zeros() as usize;
        let unknown = match self.floor {
            Some(floor) if old.cta == self.number && old.time <= floor => 0,
            Some(_) if old.cta == self.number => old.lanes,
            _ => {
                let known = &self.threads[warp as usize * LANES + first].known;
                known.unknown(old.cta, old.warp(), old.lanes, old.time)
            }
        };
        if unknown == 0 {
            return (0, 0);
        }
        let own = |halves: u32| (old.cta, old.warp() / halves) == (self.number, warp / halves);
        match self.lockstep {
            Some(halves) if own(halves) => (0, 0),
            // A lane is ordered after itself: one lane of `unknown` is only unordered with the others.
            None if own(1) && unknown.is_power_of_two() && lanes & !unknown == 0 => (0, 0),
            None if own(1) && unknown.is_power_of_two() => (unknown, lanes & !unknown),
            None if own(1) && lanes.is_power_of_two() => (unknown & !lanes, lanes),
            _ => (unknown, lanes),
        }
    }
    /// The lanes of `old` that are not ordered before some lane of `lanes` (of `warp`), and those lanes of
    /// `lanes`. A lane is always ordered after itself, and after all lanes of its wave if they are one
    /// thread.
    pub(super) fn unordered(&self, warp: u32, lanes: u32, old: AccessRecord) -> (u32, u32) {
        if lanes & !self.alike == 0 && lanes != 0 {
            return self.unordered_alike(warp, lanes, old);
        }
        let (mut unordered, mut after) = (0, 0);
        let mut last: Option<(*const VectorClock, u32)> = None;
        each(lanes, |l| {
            let known = &self.threads[warp as usize * LANES + l].known;
            let at = Arc::as_ptr(known);
            let unknown = match last {
                Some((k, u)) if std::ptr::eq(k, at) => u,
                _ => known.unknown(old.cta, old.warp(), old.lanes, old.time),
            };
            last = Some((at, unknown));
            let own = match self.lockstep {
                Some(halves) if (old.cta, old.warp() / halves) == (self.number, warp / halves) => u32::MAX,
                None if (old.cta, old.warp()) == (self.number, warp) => 1u32 << l,
                _ => 0,
            };
            unordered |= unknown & !own;
            after |= u32::from(unknown & !own != 0) << l;
        });
        (unordered, after)
    }
}
