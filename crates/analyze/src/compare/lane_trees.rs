//! Builds one lane's trees on both sides.

use std::borrow::Cow;

use prlx_trace::launch::Lanes;
use prlx_trace::{Lane, WarpStream};

use crate::align::canonical_path::{self, CanonicalPath};
use crate::align::execution_tree::LaneTree;
use crate::align::pair_trees;
use crate::builds::canonical_form::CanonicalForm;
use crate::decode::{DecodeLimits, Decoder, complete_events};
use crate::error::Error;

use super::context::Context;

/// One lane of one side's warp.
pub(crate) type LaneStream<'a> = (&'a WarpStream, Lane);

/// Whether the lane ended on both sides, as far as their launches did.
pub(super) fn ended(cx: &Context<'_>, warp: &WarpStream, lane: Lane) -> bool {
    !cx.launches.iter().any(|l| l.unfinished(warp.warp).has(lane))
}

pub(super) fn decoder<'a>(
    cx: &Context<'a>,
    side: usize,
    w: &'a WarpStream,
    lane: Lane,
) -> Result<Decoder<'a>, Error> {
    decoder_within(cx, side, (w, lane), cx.limits)
}

fn decoder_within<'a>(
    cx: &Context<'a>,
    side: usize,
    (warp, lane): LaneStream<'a>,
    limits: DecodeLimits,
) -> Result<Decoder<'a>, Error> {
    Decoder::new(cx.sides.programs[side], cx.launches[side], warp, lane, limits)
}

pub(super) fn canonical_path_of(
    cx: &Context<'_>,
    sides: &[CanonicalForm; 2],
    side: usize,
    (warp, lane): LaneStream<'_>,
) -> Result<CanonicalPath, Error> {
    let masks = matches!(warp.lanes, Lanes::Events(_));
    let all = complete_events(cx.recorded[side].0, cx.launches[side], warp, cx.limits);
    let mut out = canonical_path::build(
        decoder(cx, side, &all, lane)?.with_complete_stream(),
        &sides[side],
        cx.launches[side].kernel,
        masks,
    )?;
    out.tree.complete &= !cx.launches[side].unfinished(warp.warp).has(lane);
    Ok(out)
}

pub(super) fn path_trees(
    cx: &Context<'_>,
    at: [LaneStream<'_>; 2],
    limits: DecodeLimits,
) -> Result<[LaneTree; 2], Error> {
    let tree = |side: usize| {
        let decoder = decoder_within(cx, side, at[side], limits)?;
        LaneTree::build(decoder, cx.sides.names[side], cx.launches[side].kernel, false)
    };
    Ok([tree(0)?, tree(1)?])
}

/// As [`path_trees`], without the parts that both sides have alike.
pub(super) fn pruned_path_trees(
    cx: &Context<'_>,
    at: [LaneStream<'_>; 2],
    limits: DecodeLimits,
) -> Result<[LaneTree; 2], Error> {
    let decoder = |side: usize| decoder_within(cx, side, at[side], limits);
    pair_trees::build([decoder(0)?, decoder(1)?], cx.sides.names, cx.launches.map(|l| l.kernel), false)
}

/// Both sides' warps with all of their events.
pub(super) fn complete_streams<'a>(
    cx: &'a Context<'_>,
    warps: [&'a WarpStream; 2],
) -> [Cow<'a, WarpStream>; 2] {
    [0, 1].map(|side| complete_events(cx.sides.programs[side], cx.launches[side], warps[side], cx.limits))
}

/// A lane's tree from a complete stream of events, with lane masks.
pub(super) fn event_tree(
    cx: &Context<'_>,
    side: usize,
    warp: &WarpStream,
    lane: Lane,
) -> Result<LaneTree, Error> {
    let names = cx.sides.names[side];
    let Lanes::Events(events) = &warp.lanes else {
        return Err(Error::new(warp.warp.to_string(), "has no events"));
    };
    let d = decoder(cx, side, warp, lane)?.with_complete_stream();
    LaneTree::build(d, names, cx.launches[side].kernel, true)
        .or_else(|_| Ok(LaneTree::flat(events, lane, cx.sides.programs[side].module, names)))
        .map(|t| LaneTree { complete: t.complete && !cx.launches[side].unfinished(warp.warp).has(lane), ..t })
}

/// A lane's trees on both sides. `None` if the level records no path.
pub(crate) fn lane_trees(cx: &Context<'_>, at: [LaneStream<'_>; 2]) -> Result<Option<[LaneTree; 2]>, Error> {
    let [(x, own), (y, other)] = at;
    if let (Some(sides), Lanes::Path { .. } | Lanes::Events(_)) = (cx.canonical, &x.lanes) {
        let one = |side: usize| canonical_path_of(cx, sides, side, at[side]).map(|f| f.tree);
        return Ok(Some([one(0)?, one(1)?]));
    }
    match (&x.lanes, &y.lanes) {
        (Lanes::Path { .. }, Lanes::Path { .. }) => path_trees(cx, at, cx.limits).map(Some),
        (Lanes::Events(_), Lanes::Events(_)) => {
            let whole = complete_streams(cx, [x, y]);
            Ok(Some([event_tree(cx, 0, &whole[0], own)?, event_tree(cx, 1, &whole[1], other)?]))
        }
        _ => Ok(None),
    }
}
