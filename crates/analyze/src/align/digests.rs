//! Level `events`: memory digests of visits that each side's schedule grouped in its own way.
//!
//! An event of a memory access holds the exclusive or of one digest for each of its lanes. Which lanes
//! execute an instruction together is a matter of scheduling, so events of the two sides may cover other
//! lanes. Events that overlap are joined until both sides cover the same visits; their digests then compare.
//!
//! # Limitations
//! A digest that differs differs for all visits that were joined: which of their lanes it is, is unknown.

use std::collections::HashMap;

use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{Lane, LaneMask, SiteId, WarpStream};

use crate::builds::CommonIds;

/// A visit: the common site number, how often the lane had visited the site before, and the lane.
type Visit = (u32, u32, u8);

/// Events of both sides that cover the same visits, once joined.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// By side: the exclusive or of the digests.
    digests: [u64; 2],
    /// The number of visits that only one side has.
    alone: u64,
}

/// The digests of a warp's memory visits, joined over both sides.
#[derive(Debug, Default)]
pub(crate) struct JoinedDigests {
    groups: Vec<Group>,
    of: HashMap<Visit, usize>,
}

impl JoinedDigests {
    /// Joins the events of both sides' complete streams by the visits of `lanes`; every event that counts has
    /// one of them. `decides`: whether a site is a decision, whose events have no digest.
    pub fn new(
        streams: [&WarpStream; 2],
        names: [&CommonIds; 2],
        lanes: LaneMask,
        decides: &dyn Fn(usize, SiteId) -> bool,
    ) -> JoinedDigests {
        let mut parents: Vec<usize> = Vec::new();
        let mut events: Vec<(usize, u64)> = Vec::new();
        let mut visits: HashMap<Visit, [Option<usize>; 2]> = HashMap::new();
        for (side, stream) in streams.into_iter().enumerate() {
            let Lanes::Events(all) = &stream.lanes else { continue };
            let mut seen: HashMap<(SiteId, Lane), u32> = HashMap::new();
            for Event { site, mask, value, .. } in all.iter().filter(|e| !decides(side, e.site)) {
                let number = parents.len();
                parents.push(number);
                events.push((side, *value));
                for lane in LaneMask(mask.0 & lanes.0).lanes() {
                    let nth = seen.entry((*site, lane)).or_default();
                    let visit = (names[side].site(*site), *nth, lane.0);
                    *nth += 1;
                    let both = visits.entry(visit).or_default();
                    both[side] = Some(number);
                    if let [Some(a), Some(b)] = *both {
                        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
                        parents[a.max(b)] = a.min(b);
                    }
                }
            }
        }
        let mut groups = vec![Group::default(); parents.len()];
        for (number, (side, value)) in events.into_iter().enumerate() {
            groups[root(&mut parents, number)].digests[side] ^= value;
        }
        let mut of = HashMap::with_capacity(visits.len());
        for (visit, both) in visits {
            let Some(one) = both[0].or(both[1]) else { continue };
            let group = root(&mut parents, one);
            groups[group].alone += u64::from(both.contains(&None));
            of.insert(visit, group);
        }
        JoinedDigests { groups, of }
    }

    /// Whether the digests of a visit agree. `None` if the sides cannot be compared.
    pub fn agree(&self, site: u32, nth: u32, lane: Lane) -> Option<bool> {
        let group = self.groups.get(*self.of.get(&(site, nth, lane.0))?)?;
        (group.alone == 0).then_some(group.digests[0] == group.digests[1])
    }
}

/// The first event of the group of `at`.
fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

#[cfg(test)]
mod tests {
    use prlx_trace::WarpId;

    use super::*;

    fn stream(events: &[(u32, u64, u64)]) -> WarpStream {
        let event = |&(site, mask, value): &(u32, u64, u64)| Event {
            site: SiteId(site),
            mask: LaneMask(mask),
            value,
            clock: 0,
        };
        let lanes = Lanes::Events(events.iter().map(event).collect());
        WarpStream { warp: WarpId(0), dropped: 0, lanes }
    }

    fn joined(a: &[(u32, u64, u64)], b: &[(u32, u64, u64)]) -> JoinedDigests {
        let names = CommonIds { sites: vec![0, 1], ..CommonIds::default() };
        JoinedDigests::new([&stream(a), &stream(b)], [&names, &names], LaneMask(u64::MAX), &|_, _| false)
    }

    #[test]
    fn groups_that_overlap_are_joined() {
        // Lanes have the digests 1, 2, 4 and 8, and the sides group them in other ways.
        let all = joined(&[(0, 0b0011, 3), (0, 0b1100, 12)], &[(0, 0b0101, 5), (0, 0b1010, 10)]);
        assert_eq!((0..4).map(|l| all.agree(0, 0, Lane(l))).collect::<Vec<_>>(), [Some(true); 4]);
        let all = joined(&[(0, 0b1111, 15)], &[(0, 0b0001, 1), (0, 0b1110, 6)]);
        assert_eq!(all.agree(0, 0, Lane(0)), Some(false));
    }

    #[test]
    fn visits_of_one_side_alone_cannot_be_compared() {
        let all = joined(&[(0, 0b11, 3), (1, 0b11, 7)], &[(0, 0b01, 1), (1, 0b11, 7)]);
        assert_eq!((all.agree(0, 0, Lane(0)), all.agree(1, 0, Lane(1))), (None, Some(true)));
        assert_eq!(all.agree(0, 1, Lane(0)), None);
    }

    #[test]
    fn visits_are_numbered_by_lane() {
        // In B, lane 1 makes its first visit later, together with lane 0's second.
        let all = joined(&[(0, 0b11, 3), (0, 0b01, 4)], &[(0, 0b01, 1), (0, 0b11, 6)]);
        assert_eq!((all.agree(0, 0, Lane(0)), all.agree(0, 1, Lane(0))), (Some(true), Some(true)));
    }
}
