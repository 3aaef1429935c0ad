//! Compares two warps recorded at level `events`: decisions, memory digests, and lane masks.

use std::collections::{BTreeMap, HashMap};

use prlx_trace::launch::{Event, Lanes};
use prlx_trace::{Lane, LaneMask, SiteId, WarpStream};

use crate::align::difference::{FindingKey, LaneFinding};
use crate::align::digests::JoinedDigests;
use crate::align::divergence;
use crate::decode::{complete_events, is_decision};
use crate::report::FindingKind;

use super::canonical_lanes::compare_canonical;
use super::context::Context;
use super::converged::converged;
use super::lane_trees::{complete_streams, ended, event_tree};
use super::warp_diff::{LaneOutcome, WarpDiff};

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
            match compare_canonical(cx, sides, warps.map(|w| (w, lane)), None, out) {
                Ok(outcome) => out.count(outcome),
                Err(e) => out.fail(&e),
            }
        }
        return set_clocks(cx, warps, out);
    }
    if converged(cx, warps, all, out).is_some() {
        return;
    }
    by_classes(cx, warps, lanes, out);
    set_clocks(cx, warps, out);
}

/// Compares two warps of one build, one lane for each class of lanes that take the same path.
fn by_classes(cx: &Context<'_>, warps: [&WarpStream; 2], lanes: LaneMask, out: &mut WarpDiff) {
    let whole = complete_streams(cx, warps);
    let decides = |side: usize, site| is_decision(cx.sides.programs[side].module, site);
    let classes = classes(cx, lanes, [&whole[0], &whole[1]], &decides);
    let first = |class: &LaneMask| class.lanes().next();
    let represented = LaneMask(classes.iter().filter_map(first).fold(0, |all, lane| all | 1 << lane.0));
    let digests = JoinedDigests::new([&whole[0], &whole[1]], cx.sides.names, represented, &decides);
    // First find the lanes that diverge, then compare masks without them.
    let mut diverged = LaneMask(0);
    let mut trees = Vec::new();
    for class in classes {
        let Some(lane) = first(&class) else { continue };
        let size = u64::from(class.count());
        if out.gave_up {
            out.outcomes[LaneOutcome::Failed as usize] += size;
            continue;
        }
        let tree = |side: usize| event_tree(cx, side, &whole[side], lane);
        let (ta, tb) = match (tree(0), tree(1)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(e), _) | (_, Err(e)) => {
                class.lanes().for_each(|_| out.fail(&e));
                continue;
            }
        };
        let diff = divergence::compare_event_lanes(&cx.sides, &ta, &tb, (&digests, lane));
        if !diff.found.is_empty() {
            diverged.0 |= class.0;
        }
        let outcome = if diff.cut { LaneOutcome::Truncated } else { LaneOutcome::Compared };
        for lane in class.lanes() {
            for (sum, t) in out.visits.iter_mut().zip([&ta, &tb]) {
                *sum += t.counts;
            }
            out.count(outcome);
            out.add(lane, diff.found.clone());
        }
        trees.push((class, ta, tb));
    }
    for (class, a, b) in &trees {
        let diff = divergence::compare_lanes(&cx.sides, a, b, Some(diverged));
        let masks = diff.found.into_iter().filter(|(k, _)| k.0 == FindingKind::ActiveMask);
        let masks: BTreeMap<FindingKey, LaneFinding> =
            masks.map(|(k, f)| (k, LaneFinding { root: f.root && diverged.0 & class.0 == 0, ..f })).collect();
        class.lanes().for_each(|lane| out.add(lane, masks.clone()));
    }
}

/// Sets when each finding happened. Warps of a CTA share a clock, so an earlier finding of one warp can be
/// the cause of a later one of another.
fn set_clocks(cx: &Context<'_>, warps: [&WarpStream; 2], out: &mut WarpDiff) {
    if out.found.is_empty() {
        return;
    }
    let clocks = [0, 1].map(|side| {
        let mut clocks: HashMap<(SiteId, Lane), Vec<u32>> = HashMap::new();
        let whole = complete_events(cx.recorded[side].0, cx.launches[side], warps[side], cx.limits);
        if let Lanes::Events(events) = &whole.lanes {
            for e in events {
                e.mask.lanes().for_each(|l| clocks.entry((e.site, l)).or_default().push(e.clock));
            }
        }
        clocks
    });
    for found in out.found.values_mut() {
        for (lane, f) in &mut found.lanes {
            let clock = |side: usize| {
                let (site, nth) = f.first.sites[side].zip(f.first.nth[side])?;
                clocks[side].get(&(site, *lane))?.get(nth as usize).copied()
            };
            let clock = clock(0).or_else(|| clock(1));
            f.first.clock = clock;
        }
    }
}

/// Lanes that take part in the same events with the same decisions, on both sides: their trees are equal, so
/// one of them is built. A warp that stays converged has one class.
fn classes(
    cx: &Context<'_>,
    lanes: LaneMask,
    streams: [&WarpStream; 2],
    decides: &dyn Fn(usize, SiteId) -> bool,
) -> Vec<LaneMask> {
    let mut classes = vec![lanes.0];
    let mut split = |by: u64| {
        if classes.iter().any(|c| c & by != 0 && c & !by != 0) {
            classes = classes.iter().flat_map(|c| [c & by, c & !by]).filter(|c| *c != 0).collect();
        }
    };
    for (side, stream) in streams.into_iter().enumerate() {
        let launch = cx.launches[side];
        split(launch.lanes(stream.warp).0);
        split(launch.unfinished(stream.warp).0);
        let Lanes::Events(events) = &stream.lanes else { continue };
        for event in events {
            split(event.mask.0);
            if decides(side, event.site) {
                split(event.value & event.mask.0);
            }
        }
    }
    classes.sort_by_key(|c| c.trailing_zeros());
    classes.into_iter().map(LaneMask).collect()
}
