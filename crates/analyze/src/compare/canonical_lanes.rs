//! One lane of two builds, compared in the form that both share.

use crate::align::divergence;
use crate::builds::canonical_form::CanonicalForm;
use crate::error::Error;

use super::context::Context;
use super::lane_trees::{LaneStream, canonical_path_of};
use super::warp_diff::{LaneOutcome, WarpDiff, add_counts};

/// A lane in the form that both sides share: if either is cut short nothing is said of it, for order is not time there.
pub(super) fn compare_canonical(
    cx: &Context<'_>,
    sides: &[CanonicalForm; 2],
    at: [LaneStream<'_>; 2],
    out: &mut WarpDiff,
) -> Result<LaneOutcome, Error> {
    let one = |side: usize| canonical_path_of(cx, sides, side, at[side]);
    let [a, b] = [one(0)?, one(1)?];
    for (side, lane) in [&a, &b].into_iter().enumerate() {
        add_counts(&mut out.visits[side], lane.tree.counts);
        for (site, n) in &lane.left {
            *out.left[side].entry(*site).or_default() += n;
        }
    }
    if !a.tree.complete || !b.tree.complete {
        return Ok(LaneOutcome::Truncated);
    }
    let diff = divergence::compare_lanes(&cx.sides, &a.tree, &b.tree, None);
    for (left, doubted) in out.left.iter_mut().zip(diff.doubted) {
        doubted.into_iter().for_each(|(site, n)| *left.entry(site).or_default() += n);
    }
    out.apart += diff.apart;
    out.add(at[0].1, diff.found);
    Ok(LaneOutcome::Compared)
}
