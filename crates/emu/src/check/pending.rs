//! Races with reads whose values nothing has used so far ([`super::dropped`]). Such a race is reported when
//! its value is used, and never if it is not.
//!
//! # Invariants
//! A report counts the lanes and visits as if it had been made at once, up to [`VISITS`] visits.

use std::collections::BTreeMap;

use prlx_trace::check::{Finding, Kind};

use super::findings::{CheckContext, WarpStep};
use super::reach::Reach;

/// The number of visits of a waiting race that are counted one by one.
const VISITS: usize = 64;

/// The waiting races of a CTA.
#[derive(Debug, Default)]
pub struct PendingRaces(BTreeMap<Key, PendingRace>);

/// The warp and the step of a read, the steps of both sides, and the address of the allocation.
type Key = (u32, u32, (u32, u32), u64);

/// A waiting race.
#[derive(Debug)]
struct PendingRace {
    /// The lanes that read.
    readers: u32,
    reach: Reach,
    finding: Finding,
    /// The steps at which it was seen, by the count of the log, and the lanes of this side.
    visits: Vec<(u64, WarpStep)>,
}

impl PendingRaces {
    /// Adds a race between `here` and a step `other`, in the allocation at `base`, with a read of lanes
    /// `readers`. `read` is the warp and step of the read, and `now` the count of the log.
    pub fn add(
        &mut self,
        (read, readers): ((u32, u32), u32),
        (here, other, base): (WarpStep, u32, u64),
        (reach, now): (Reach, u64),
        make: impl Fn() -> Finding,
    ) {
        let race = self.0.entry((read.0, read.1, (here.step, other), base)).or_insert_with(|| {
            let (finding, visits) = (make(), Vec::new());
            PendingRace { readers: 0, reach, finding, visits }
        });
        race.readers |= readers;
        let full = race.visits.len() == VISITS;
        // The halves of a wave of 64 lanes are warps of their own, with the same count.
        let same = |of: &(u64, WarpStep)| of.0 == now && of.1.warp == here.warp;
        match race.visits.last_mut().filter(|of| full || same(of)) {
            Some((_, of)) => of.lanes |= here.lanes,
            None => race.visits.push((now, here)),
        }
        if race.reach < reach {
            (race.reach, race.finding) = (reach, make());
        }
    }

    /// Reports the races with what `lanes` of a warp read at a step: the value is used.
    pub fn report(&mut self, cx: &mut CheckContext<'_, '_>, (warp, step): (u32, u32), lanes: u32) {
        let (first, last) = ((warp, step, (0, 0), 0), (warp, step, (u32::MAX, u32::MAX), u64::MAX));
        let ready = self.0.range(first..=last).filter(|(_, race)| race.readers & lanes != 0);
        let ready: Vec<Key> = ready.map(|(&key, _)| key).collect();
        for key in ready {
            let Some(race) = self.0.remove(&key) else { continue };
            let mut last = None;
            for (when, here) in race.visits {
                // Each is a visit of its own.
                if last.replace(when) != Some(when) {
                    cx.log.step();
                }
                report(cx, race.finding.kind, here, (key.2.1, key.3), race.reach, || race.finding.clone());
            }
            cx.log.step();
        }
    }
}

/// Counts a race between a step and the step `other`, in the allocation that begins at `base`.
pub fn report(
    cx: &mut CheckContext<'_, '_>,
    kind: Kind,
    here: WarpStep,
    (other, base): (u32, u64),
    reach: Reach,
    make: impl Fn() -> Finding,
) {
    if let Some(at) = cx.log.add(cx.launch, kind, here, Some(other), base, &make) {
        cx.log.widen(at, reach, make);
    }
}
