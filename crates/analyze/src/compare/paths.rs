//! Compares two warps recorded at level `path`.

use std::collections::BTreeMap;
use std::sync::Arc;

use prlx_trace::{LaneMask, SiteId, WarpStream};

use crate::align::divergence;
use crate::align::execution_tree::LaneTree;
use crate::decode::lockstep::{Lockstep, WarpPair};
use crate::decode::{self, DecodeLimits, DecodeOutcome, Decoder, PathItem, lane_words};
use crate::error::Error;

use super::canonical_lanes::compare_canonical;
use super::context::Context;
use super::lane_trees::{LaneStream, decoder, ended, path_trees, pruned_path_trees};
use super::warp_diff::{Compared, LaneOutcome, WarpDiff};

pub(super) fn paths(cx: &Context<'_>, a: &WarpStream, b: &WarpStream, lanes: LaneMask, out: &mut WarpDiff) {
    let complete = a.dropped == 0 && b.dropped == 0;
    let mut remaining = LaneMask(0);
    for lane in lanes.lanes() {
        let words = |w| lane_words(w, lane);
        if cx.equal_words_suffice
            && complete
            && ended(cx, a, lane)
            && let (Ok(Some(x)), Ok(Some(y))) = (words(a), words(b))
            && x == y
        {
            out.count(LaneOutcome::SameWords);
        } else {
            remaining.0 |= 1 << lane.0;
        }
    }
    let together = lockstep(cx, a, b, remaining);
    let of_builds = hashes_of_builds(cx, a, b, remaining);
    for sum in &mut out.visits {
        *sum += together.visits;
    }
    // The lanes that differ share what their warp may take.
    let share = cx.limits.warp_steps / u64::from(together.differ.count()).max(1);
    let of_differing = DecodeLimits { steps: cx.limits.steps.max(share), ..cx.limits };
    for lane in remaining.lanes() {
        if together.equal.has(lane) {
            out.count(LaneOutcome::Compared);
            continue;
        }
        if out.gave_up {
            out.count(LaneOutcome::Failed);
            continue;
        }
        let done = match () {
            () if together.unfinished.has(lane) => {
                let what = "the warp takes more steps than the limit allows";
                Err(Error { limit: true, ..Error::new(a.warp.to_string(), what) })
            }
            () if together.differ.has(lane) => {
                let hash = together.hashes.get(&lane.0).copied();
                lane_trees(cx, [(a, lane), (b, lane)], of_differing, hash, out)
            }
            () => lane_paths(cx, [(a, lane), (b, lane)], of_builds.get(&lane.0).copied(), out),
        };
        match done {
            Ok(outcome) => out.count(outcome),
            Err(e) => out.fail(&e),
        }
    }
}

/// The lanes of `lanes` that run and end on both sides.
fn ended_on_both(cx: &Context<'_>, a: &WarpStream, b: &WarpStream, lanes: LaneMask) -> LaneMask {
    let on_both = cx.launches[0].lanes(a.warp).0 & cx.launches[1].lanes(b.warp).0;
    let unfinished = cx.launches[0].unfinished(a.warp).0 | cx.launches[1].unfinished(b.warp).0;
    LaneMask(lanes.0 & on_both & !unfinished)
}

/// Compares all lanes at once that run and end on both sides, if the kernel allows it.
fn lockstep(cx: &Context<'_>, a: &WarpStream, b: &WarpStream, lanes: LaneMask) -> Arc<Lockstep> {
    let lanes = ended_on_both(cx, a, b, lanes);
    let Some(program) = cx.lockstep().filter(|_| lanes.0 != 0) else { return Arc::default() };
    let warp = WarpPair::new(program, cx.launches, [a, b], lanes, cx.limits);
    cx.known_warps.get_or_compute(warp.key(), || warp.compare())
}

/// Of two builds, hashes of the paths of lanes that end on both sides. Lanes of a launch often have few
/// different ones.
fn hashes_of_builds(
    cx: &Context<'_>,
    a: &WarpStream,
    b: &WarpStream,
    lanes: LaneMask,
) -> BTreeMap<u8, [u64; 2]> {
    let programs = cx.canonical.and_then(|_| cx.lockstep_of(0).zip(cx.lockstep_of(1)));
    let Some((x, y)) = programs.filter(|_| a.dropped == 0 && b.dropped == 0) else { return BTreeMap::new() };
    let lanes = ended_on_both(cx, a, b, lanes);
    let hashes = |program, side: usize, warp| {
        decode::lockstep::path_hashes(program, cx.launches[side], warp, lanes, cx.limits)
    };
    let theirs = hashes(y, 1, b);
    let ours = hashes(x, 0, a).into_iter();
    ours.filter_map(|(lane, hash)| Some((lane, [hash, *theirs.get(&lane)?]))).collect()
}

/// Compares one lane; `hashes`: see [`compare_canonical`].
fn lane_paths(
    cx: &Context<'_>,
    [(a, lane), (b, _)]: [LaneStream<'_>; 2],
    hashes: Option<[u64; 2]>,
    out: &mut WarpDiff,
) -> Result<LaneOutcome, Error> {
    if let Some(sides) = cx.canonical {
        return compare_canonical(cx, sides, [(a, lane), (b, lane)], hashes, out);
    }
    let (mut x, mut y) = (decoder(cx, 0, a, lane)?.flat(), decoder(cx, 1, b, lane)?.flat());
    if first_difference(cx, &mut x, &mut y)? {
        return lane_trees(cx, [(a, lane), (b, lane)], cx.limits, None, out);
    }
    for (sum, d) in out.visits.iter_mut().zip([&x, &y]) {
        *sum += d.counts();
    }
    let complete = x.outcome() == DecodeOutcome::Ended && y.outcome() == DecodeOutcome::Ended;
    Ok(if complete { LaneOutcome::Compared } else { LaneOutcome::Truncated })
}

/// Compares the trees of a lane, whose paths are not equal; `hash`: see [`Lockstep::hashes`].
fn lane_trees(
    cx: &Context<'_>,
    at: [LaneStream<'_>; 2],
    limits: DecodeLimits,
    hash: Option<u64>,
    out: &mut WarpDiff,
) -> Result<LaneOutcome, Error> {
    let compare = || compare_trees(cx, at, limits);
    let compared = match hash {
        Some(hash) => cx.known.get((hash, limits.steps), compare)?,
        None => Arc::new(compare()?),
    };
    let (diff, counts) = &*compared;
    for (sum, counts) in out.visits.iter_mut().zip(counts) {
        *sum += *counts;
    }
    out.add(at[0].1, diff.found.clone());
    Ok(if diff.cut { LaneOutcome::Truncated } else { LaneOutcome::Compared })
}

/// What differs in a lane, and the visits of both sides.
fn compare_trees(cx: &Context<'_>, at: [LaneStream<'_>; 2], limits: DecodeLimits) -> Result<Compared, Error> {
    let pruned = pruned_path_trees(cx, at, limits).ok();
    let diff = |[a, b]: &[LaneTree; 2]| divergence::compare_pruned(&cx.sides, a, b);
    if let Some((diff, [a, b])) = pruned.and_then(|trees| Some((diff(&trees)?, trees))) {
        return Ok((diff, [a.counts, b.counts]));
    }
    // Also for errors: of two sides that fail, A's error is the one to report.
    let [a, b] = path_trees(cx, at, limits)?;
    Ok((divergence::compare_lanes(&cx.sides, &a, &b, None), [a.counts, b.counts]))
}

fn next_visit(d: &mut Decoder<'_>) -> Result<Option<(SiteId, u64)>, Error> {
    while let Some(item) = d.advance()? {
        if let PathItem::Visit { site, value, .. } = *item {
            return Ok(Some((site, value)));
        }
    }
    Ok(None)
}

/// Walks both sides to the first difference, keeping nothing. Returns whether there is one.
fn first_difference(cx: &Context<'_>, a: &mut Decoder<'_>, b: &mut Decoder<'_>) -> Result<bool, Error> {
    loop {
        let (x, y) = (next_visit(a)?, next_visit(b)?);
        match (x, y) {
            (None, None) => return Ok(false),
            (Some((s, v)), Some((t, w))) => {
                if cx.sides.names[0].site(s) != cx.sides.names[1].site(t) || v != w {
                    return Ok(true);
                }
            }
            // The side that ended may only be truncated.
            (None, Some(_)) => return Ok(a.outcome() == DecodeOutcome::Ended),
            (Some(_), None) => return Ok(b.outcome() == DecodeOutcome::Ended),
        }
    }
}
