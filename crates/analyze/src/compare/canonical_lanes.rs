//! Compares one lane of two builds in the canonical form.

use crate::align::divergence;
use crate::builds::canonical_form::CanonicalForm;
use crate::error::Error;

use super::context::Context;
use super::lane_trees::{LaneStream, canonical_path_of};
use super::warp_diff::{LaneOutcome, WarpDiff};

/// Compares a lane of two builds. If either recording is truncated, nothing is compared: the canonical order
/// is not the order of time.
pub(super) fn compare_canonical(
    cx: &Context<'_>,
    sides: &[CanonicalForm; 2],
    at: [LaneStream<'_>; 2],
    out: &mut WarpDiff,
) -> Result<LaneOutcome, Error> {
    let one = |side: usize| canonical_path_of(cx, sides, side, at[side]);
    let [a, b] = [one(0)?, one(1)?];
    for (side, lane) in [&a, &b].into_iter().enumerate() {
        out.visits[side] += lane.tree.counts;
        for (site, n) in &lane.uncompared {
            *out.uncompared[side].entry(*site).or_default() += n;
        }
    }
    if !a.tree.complete || !b.tree.complete {
        return Ok(LaneOutcome::Truncated);
    }
    let diff = divergence::compare_lanes(&cx.sides, &a.tree, &b.tree, None);
    for (uncompared, doubted) in out.uncompared.iter_mut().zip(diff.uncertain_visits) {
        doubted.into_iter().for_each(|(site, n)| *uncompared.entry(site).or_default() += n);
    }
    out.incomparable += diff.incomparable;
    out.add(at[0].1, diff.found);
    Ok(LaneOutcome::Compared)
}
