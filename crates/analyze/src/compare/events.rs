//! Compares two warps recorded at level `events`: decisions, memory digests, and lane masks.

use prlx_trace::launch::Event;
use prlx_trace::{LaneMask, WarpStream};

use crate::align::difference::LaneFinding;
use crate::align::digests::JoinedDigests;
use crate::align::divergence;
use crate::decode::is_decision;
use crate::report::FindingKind;

use super::canonical_lanes::compare_canonical;
use super::context::Context;
use super::lane_trees::{complete_streams, ended, event_tree};
use super::warp_diff::{LaneOutcome, WarpDiff, add_counts};

pub(super) fn events(
    cx: &Context<'_>,
    warps: [&WarpStream; 2],
    all: [&[Event]; 2],
    lanes: LaneMask,
    out: &mut WarpDiff,
) {
    let what = |e: &Event| (e.site, e.mask, e.value);
    if cx.equal_words_suffice
        && lanes.lanes().all(|l| ended(cx, warps[0], l))
        && all[0].iter().map(what).eq(all[1].iter().map(what))
    {
        out.outcomes[LaneOutcome::SameWords as usize] += u64::from(lanes.count());
        return;
    }
    if let Some(sides) = cx.canonical {
        // Which lanes execute together is the compiler's choice.
        for lane in lanes.lanes() {
            if out.gave_up {
                out.count(LaneOutcome::Failed);
                continue;
            }
            match compare_canonical(cx, sides, warps.map(|w| (w, lane)), out) {
                Ok(outcome) => out.count(outcome),
                Err(e) => out.fail(&e),
            }
        }
        return;
    }
    let whole = complete_streams(cx, warps);
    let decides = |side: usize, site| is_decision(cx.sides.programs[side].module, site);
    let digests = JoinedDigests::new([&whole[0], &whole[1]], cx.sides.names, &decides);
    // First find the lanes that diverge, then compare masks without them.
    let mut diverged = LaneMask(0);
    let mut trees = Vec::new();
    for lane in lanes.lanes() {
        if out.gave_up {
            out.count(LaneOutcome::Failed);
            continue;
        }
        let tree = |side: usize| event_tree(cx, side, &whole[side], lane);
        let (ta, tb) = match (tree(0), tree(1)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(e), _) | (_, Err(e)) => {
                out.fail(&e);
                continue;
            }
        };
        for (sum, t) in out.visits.iter_mut().zip([&ta, &tb]) {
            add_counts(sum, t.counts);
        }
        let diff = divergence::compare_event_lanes(&cx.sides, &ta, &tb, (&digests, lane));
        if !diff.found.is_empty() {
            diverged.insert(lane);
        }
        out.count(if diff.cut { LaneOutcome::Truncated } else { LaneOutcome::Compared });
        out.add(lane, diff.found);
        trees.push((lane, ta, tb));
    }
    for (lane, a, b) in &trees {
        let diff = divergence::compare_lanes(&cx.sides, a, b, Some(diverged));
        let masks = diff.found.into_iter().filter(|(k, _)| k.0 == FindingKind::ActiveMask);
        let first = |f: &mut LaneFinding| f.root &= !diverged.has(*lane);
        out.add(
            *lane,
            masks
                .map(|(k, mut f)| {
                    (k, {
                        first(&mut f);
                        f
                    })
                })
                .collect(),
        );
    }
}
