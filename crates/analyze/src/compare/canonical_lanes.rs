//! Compares one lane of two builds in the canonical form.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::align::divergence;
use crate::builds::canonical_form::CanonicalForm;
use crate::error::Error;

use super::context::Context;
use super::lane_trees::{LaneStream, canonical_path_of};
use super::warp_diff::{CanonicalDiff, LaneOutcome, WarpDiff};

/// Compares a lane of two builds. `hashes`: of the lane's paths on both sides, if they are known; lanes with
/// equal ones are compared once.
pub(super) fn compare_canonical(
    cx: &Context<'_>,
    sides: &[CanonicalForm; 2],
    at: [LaneStream<'_>; 2],
    hashes: Option<[u64; 2]>,
    out: &mut WarpDiff,
) -> Result<LaneOutcome, Error> {
    let compare = || canonical_diff(cx, sides, at);
    let diff = match hashes {
        Some(hashes) => cx.known_of_builds.get(hashes, compare)?,
        None => Arc::new(compare()?),
    };
    out.add_canonical(at[0].1, &diff);
    Ok(diff.outcome)
}

/// Compares a lane of two builds. If either recording is truncated, nothing is compared: the canonical order
/// is not the order of time.
fn canonical_diff(
    cx: &Context<'_>,
    sides: &[CanonicalForm; 2],
    at: [LaneStream<'_>; 2],
) -> Result<CanonicalDiff, Error> {
    let one = |side: usize| canonical_path_of(cx, sides, side, at[side]);
    let [a, b] = [one(0)?, one(1)?];
    let mut out = CanonicalDiff {
        visits: [a.tree.counts, b.tree.counts],
        uncompared: [a.uncompared, b.uncompared],
        incomparable: 0,
        found: BTreeMap::new(),
        outcome: LaneOutcome::Truncated,
    };
    if a.tree.complete && b.tree.complete {
        let diff = divergence::compare_lanes(&cx.sides, &a.tree, &b.tree, None);
        for (uncompared, doubted) in out.uncompared.iter_mut().zip(diff.uncertain_visits) {
            doubted.into_iter().for_each(|(site, n)| *uncompared.entry(site).or_default() += n);
        }
        (out.incomparable, out.found) = (diff.incomparable, diff.found);
        out.outcome = LaneOutcome::Compared;
    }
    Ok(out)
}
