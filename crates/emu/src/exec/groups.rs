//! Groups of lanes: which lanes of a warp run together, and whose turn it is.
//!
//! A *group* is the set of lanes at one position: at the same depth of calls and the same step. Among the
//! groups of a warp the deepest in calls runs first, and among these the one at the lowest step. Lanes that
//! took different branches therefore reconverge where their paths join. A group that runs for long while
//! others are ready has to let them run in between, so that a lane may wait for another lane of its warp.
//!
//! # Limitations
//! Groups may be larger than on hardware, whose convergence barriers are not modelled.

use crate::exec::launch::Launch;
use crate::exec::rng::Rng;
use crate::exec::warp_state::{GROUP_QUANTUM, Key, PARKED, Warp};
use prlx_lanes::LANES;

/// The group that runs.
#[derive(Clone, Copy)]
pub struct Group {
    /// The position of its lanes.
    pub key: Key,
    /// The lanes of the group.
    pub mask: u32,
    /// The lowest key among the other lanes: the group runs until it reaches that step.
    pub limit: Key,
}

impl Warp {
    /// Moves lanes to a position.
    #[inline(always)]
    pub(super) fn put(&mut self, launch: &Launch<'_>, lanes: u32, k: Key) {
        (launch.simd.put)(&mut self.key, lanes, k);
    }
    /// The group that runs next, a random one with `rng`; `None` if no lane can run.
    #[inline(always)]
    pub(super) fn next_group(&mut self, launch: &Launch<'_>, rng: Option<&mut Rng>) -> Option<Group> {
        match rng {
            Some(rng) => self.pick_random(launch, rng),
            None if self.turn.is_some() => self.pick_turn(launch),
            None => self.pick(launch),
        }
    }
    /// The group with the lowest key; `None` if no lane can run.
    #[inline(always)]
    fn pick(&mut self, launch: &Launch<'_>) -> Option<Group> {
        let (key, mask, limit) = (launch.simd.lowest)(&self.key);
        (key != PARKED).then_some(Group { key, mask, limit })
    }
    /// The group after the one that had the last turn, in the order of their keys. Used once the lowest group
    /// has spent its budget.
    fn pick_turn(&mut self, launch: &Launch<'_>) -> Option<Group> {
        let lowest = self.pick(launch)?;
        if lowest.limit == PARKED {
            self.turn = None;
            self.group_budget = GROUP_QUANTUM;
            return Some(lowest);
        }
        let Some(last) = self.turn else { return Some(lowest) };
        let next = self.key.iter().copied().filter(|&k| k > last && k != PARKED).min().unwrap_or(lowest.key);
        self.turn = Some(next);
        let mask = (0..LANES).fold(0, |m, l| m | u32::from(self.key[l] == next) << l);
        let limit = self.key.iter().copied().filter(|&k| k > next).min().unwrap_or(PARKED);
        Some(Group { key: next, mask, limit })
    }
    /// A random group, or a part of one, for a hostile schedule.
    fn pick_random(&mut self, launch: &Launch<'_>, rng: &mut Rng) -> Option<Group> {
        let ready: Vec<usize> = (0..LANES).filter(|&l| self.key[l] != PARKED).collect();
        let lane = *ready.get(rng.below(ready.len().max(1) as u32) as usize)?;
        let k = self.key[lane];
        let mut mask = (0..LANES).fold(0, |m, l| m | u32::from(self.key[l] == k) << l);
        match rng.below(8) {
            0..=3 => return self.pick(launch),
            4 => mask = 1 << lane,
            5 => mask = mask & rng.next() as u32 | 1 << lane,
            _ => {}
        }
        Some(Group { key: k, mask, limit: PARKED })
    }
    /// Charges the group at `first` for steps that it ran while other groups were ready. When its budget is
    /// spent, the groups of the warp take turns.
    pub(super) fn charge_budget(&mut self, first: Key, steps: u32) {
        self.group_budget = self.group_budget.saturating_sub(steps.max(1));
        if self.group_budget == 0 {
            self.group_budget = GROUP_QUANTUM / 8;
            self.turn.get_or_insert(first);
        }
    }
}
