//! Compares two warps recorded at level `operands`: the operands of selected visits.

use std::collections::BTreeMap;

use prlx_trace::launch::Lanes;
use prlx_trace::{LaneMask, WarpStream};

use crate::align::difference::{Difference, LaneFinding};
use crate::decode::lane_part;
use crate::report::FindingKind;

use super::context::Context;
use super::lane_trees::ended;
use super::warp_diff::{LaneOutcome, WarpDiff};

pub(super) fn operands(
    cx: &Context<'_>,
    a: &WarpStream,
    b: &WarpStream,
    lanes: LaneMask,
    out: &mut WarpDiff,
) {
    let (Lanes::Operands { records: ra, ends: ea }, Lanes::Operands { records: rb, ends: eb }) =
        (&a.lanes, &b.lanes)
    else {
        return;
    };
    for lane in lanes.lanes() {
        let (x, y) = match (lane_part(ra, ea, a.warp, lane), lane_part(rb, eb, b.warp, lane)) {
            (Ok(x), Ok(y)) => (x, y),
            (Err(e), _) | (_, Err(e)) => {
                out.fail(&e);
                continue;
            }
        };
        let ended = ended(cx, a, lane);
        let other: BTreeMap<_, _> =
            y.iter().map(|r| ((cx.sides.names[1].site(r.site), r.visit), (r.site, r.values))).collect();
        let mut found = BTreeMap::new();
        for (i, r) in x.iter().enumerate() {
            let site = cx.sides.names[0].site(r.site);
            let theirs = other.get(&(site, r.visit));
            if theirs.is_some_and(|t| t.1 == r.values) {
                continue;
            }
            let kind = match theirs {
                Some(_) => FindingKind::Value,
                None if ended => FindingKind::ExtraEvents,
                // The other side may have been stopped before this visit.
                None => continue,
            };
            let root = found.is_empty();
            let entry = found.entry((kind, site, 0)).or_insert_with(|| LaneFinding {
                first: Difference {
                    sites: [Some(r.site), theirs.map(|t| t.0)],
                    nth: [Some(r.visit), theirs.map(|_| r.visit)],
                    values: [r.values[0], theirs.map_or(0, |t| t.1[0])],
                    position: i as u64,
                    ..Difference::new(kind)
                },
                count: 0,
                ways: [0; 2],
                follows: [0; 2],
                root,
            });
            entry.count += 1;
        }
        if x.len() < y.len() && found.is_empty() && ended {
            let first = Difference {
                sites: [None, y.last().map(|r| r.site)],
                ..Difference::new(FindingKind::ExtraEvents)
            };
            found.insert(
                (FindingKind::ExtraEvents, u32::MAX, 1),
                LaneFinding { first, count: 1, ways: [0; 2], follows: [0; 2], root: true },
            );
        }
        out.count(if ended { LaneOutcome::Compared } else { LaneOutcome::Truncated });
        out.add(lane, found);
    }
}
