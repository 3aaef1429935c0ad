//! Compares one warp on both sides, lane by lane.
//!
//! # Invariants
//! Lanes with equal words are not decoded where equal words imply equal paths. Other lanes are first decoded
//! side by side without keeping anything; only lanes that differ become trees. Nothing depends on the order
//! of work.

use std::collections::BTreeMap;

use prlx_trace::launch::Lanes;
use prlx_trace::{LaneMask, WarpId, WarpStream};

use crate::align::divergence;
use crate::error::Error;

use super::canonical_lanes::compare_canonical;
use super::context::Context;
use super::events::events;
use super::fingerprints::fingerprints;
use super::lane_trees::{LaneStream, lane_trees};
use super::operand_records::operands;
use super::paths::paths;
use super::warp_diff::{LaneOutcome, WarpDiff};

/// Compares one warp.
pub(crate) fn warps(cx: &Context<'_>, a: &WarpStream, b: &WarpStream) -> WarpDiff {
    let mut out = WarpDiff { warp: a.warp.0, ..WarpDiff::default() };
    let lanes = cx.launches[0].lanes(a.warp).0 | cx.launches[1].lanes(b.warp).0;
    let lanes = LaneMask(lanes);
    match (&a.lanes, &b.lanes) {
        (Lanes::Path { .. }, Lanes::Path { .. }) => paths(cx, a, b, lanes, &mut out),
        (Lanes::Events(x), Lanes::Events(y)) => events(cx, [a, b], [x, y], lanes, &mut out),
        (Lanes::Fingerprint { .. }, Lanes::Fingerprint { .. }) => fingerprints(cx, a, b, lanes, &mut out),
        (Lanes::Operands { .. }, Lanes::Operands { .. }) => operands(cx, a, b, lanes, &mut out),
        _ => {
            out.fail(&Error::new(a.warp.to_string(), "the sides were recorded at different levels"));
            out.outcomes[LaneOutcome::Failed as usize] = u64::from(lanes.count());
        }
    }
    out
}

/// Compares the threads of one of A's warps with B's, if the warp sizes differ.
pub(crate) fn threads(cx: &Context<'_>, a: &WarpStream, others: &BTreeMap<WarpId, &WarpStream>) -> WarpDiff {
    let mut out = WarpDiff { warp: a.warp.0, ..WarpDiff::default() };
    for lane in cx.launches[0].lanes(a.warp).lanes() {
        let (warp, other) = cx.partner(a.warp, lane);
        let Some(b) = others.get(&warp).filter(|_| cx.launches[1].lanes(warp).has(other)) else { continue };
        if out.gave_up {
            out.count(LaneOutcome::Failed);
            continue;
        }
        match thread(cx, [(a, lane), (b, other)], &mut out) {
            Ok(outcome) => out.count(outcome),
            Err(e) => out.fail(&e),
        }
    }
    out
}

fn thread(cx: &Context<'_>, at: [LaneStream<'_>; 2], out: &mut WarpDiff) -> Result<LaneOutcome, Error> {
    if let Some(sides) = cx.canonical {
        return compare_canonical(cx, sides, at, None, out);
    }
    let Some([a, b]) = lane_trees(cx, at)? else {
        return Err(Error::new(at[0].0.warp.to_string(), "the sides were recorded at different levels"));
    };
    for (sum, t) in out.visits.iter_mut().zip([&a, &b]) {
        *sum += t.counts;
    }
    let diff = divergence::compare_lanes(&cx.sides, &a, &b, None);
    out.incomparable += diff.incomparable;
    out.add(at[0].1, diff.found);
    Ok(if diff.cut { LaneOutcome::Truncated } else { LaneOutcome::Compared })
}
