//! Compares two warps of level `events` whose lanes stay converged: one lane is compared for all of them.
//!
//! In such a warp every event has all lanes, and all lanes take every branch alike. The lanes' trees are then
//! equal, and every event that the recorder omitted has all lanes as well. Memory digests cover the same
//! visits on both sides. What [`events`](super::events) finds for each lane follows from one tree on each
//! side.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::device::COUNT_EVENT;
use prlx_trace::kernel::{SiteClass, Source};
use prlx_trace::launch::Event;
use prlx_trace::{LaneMask, SiteId, WarpStream};

use crate::align::difference::{LaneDiff, LaneFinding};
use crate::align::{divergence, pair_trees};
use crate::decode::{CheckedModule, Decoder, PathItem, can_be_omitted, is_decision};

use super::context::Context;
use super::lane_trees;
use super::warp_diff::{LaneOutcome, WarpDiff};

/// Compares two warps. `None` if a lane diverges, or has to be looked at alone for another reason.
pub(super) fn converged(
    cx: &Context<'_>,
    warps: [&WarpStream; 2],
    all: [&[Event]; 2],
    out: &mut WarpDiff,
) -> Option<()> {
    let mask = lanes(cx, warps, all)?;
    let decoder = |side: usize| decoder(cx, side, warps[side], mask);
    let kernels = cx.launches.map(|l| l.kernel);
    let trees = pair_trees::build([decoder(0)?, decoder(1)?], cx.sides.names, kernels, true).ok()?;
    let [a, b] = &trees;
    if !a.complete || !b.complete {
        return None;
    }
    let mut diff = divergence::compare_pruned(&cx.sides, a, b)?;
    set_clocks(cx, warps, all, mask, &mut diff)?;
    for lane in mask.lanes() {
        for (sum, tree) in out.visits.iter_mut().zip(&trees) {
            *sum += tree.counts;
        }
        out.count(LaneOutcome::Compared);
        out.add(lane, diff.found.clone());
    }
    Some(())
}

/// The lanes of both warps, if all of their events have all of them.
fn lanes(cx: &Context<'_>, warps: [&WarpStream; 2], all: [&[Event]; 2]) -> Option<LaneMask> {
    let [mask, other] = [0, 1].map(|side| cx.launches[side].lanes(warps[side].warp));
    let ended = (0..2).all(|side| cx.launches[side].unfinished(warps[side].warp).0 == 0);
    let whole = ended && warps.iter().all(|w| w.dropped == 0) && !cx.sides.all_uncertain;
    let usable = whole && mask.0 != 0 && mask == other;
    let together = |side: usize| {
        let program = cx.sides.programs[side];
        let by_lane: Vec<bool> =
            (0..program.module.sites.len()).map(|s| decides_by_lane(program, SiteId(s as u32))).collect();
        let agree = |e: &Event| {
            let value = e.value & mask.0;
            e.mask == mask
                && (!by_lane.get(e.site.index()).is_some_and(|b| *b) || value == 0 || value == mask.0)
        };
        all[side].iter().all(agree)
    };
    let (a, b) = rayon::join(|| usable && together(0), || usable && together(1));
    (a && b).then_some(mask)
}

/// Whether the events of a site have one bit for each lane.
fn decides_by_lane(program: &CheckedModule<'_>, site: SiteId) -> bool {
    let counts = matches!(program.sources[site.index()], Source::Trips { bits: COUNT_EVENT, .. });
    let switch = program.module.sites[site.index()].class == SiteClass::Switch;
    is_decision(program.module, site) && !counts && !switch
}

fn decoder<'a>(cx: &Context<'a>, side: usize, warp: &'a WarpStream, mask: LaneMask) -> Option<Decoder<'a>> {
    let lane = mask.lanes().next()?;
    let decoder = lane_trees::decoder(cx, side, warp, lane).ok()?;
    Some(decoder.converged(cx.launches[side], mask))
}

/// Sets when each finding happened, by A's clock if A has its event.
fn set_clocks(
    cx: &Context<'_>,
    warps: [&WarpStream; 2],
    all: [&[Event]; 2],
    mask: LaneMask,
    diff: &mut LaneDiff,
) -> Option<()> {
    for side in 0..2 {
        let place = |f: &LaneFinding| f.first.sites[side].zip(f.first.nth[side]);
        let without = diff.found.values_mut().filter(|f| f.first.clock.is_none());
        let mut wanted: Vec<(&mut LaneFinding, Place)> =
            without.filter_map(|f| place(f).map(|at| (f, at))).collect();
        let places: BTreeSet<Place> = wanted.iter().map(|(_, at)| *at).collect();
        let clocks = clocks(cx, side, (warps[side], all[side]), mask, places)?;
        for (found, at) in &mut wanted {
            found.first.clock = clocks.get(at).copied();
        }
    }
    Some(())
}

/// A site, and how often the lane had visited it before.
type Place = (SiteId, u32);

/// When the visits of `wanted` happened. Without those that have no event.
fn clocks(
    cx: &Context<'_>,
    side: usize,
    (warp, events): (&WarpStream, &[Event]),
    mask: LaneMask,
    mut wanted: BTreeSet<Place>,
) -> Option<BTreeMap<Place, u32>> {
    let program = cx.sides.programs[side];
    let of_omitted: BTreeSet<Place> =
        wanted.extract_if(.., |(site, _)| can_be_omitted(program, *site)).collect();
    let mut clocks = Clocks::new(wanted);
    for event in events {
        if clocks.wanted.is_empty() {
            break;
        }
        clocks.visit(event.site, event.clock);
    }
    let mut found = clocks.found;
    if !of_omitted.is_empty() {
        found.append(&mut walk(cx, side, (warp, events), mask, of_omitted)?);
    }
    Some(found)
}

/// The clocks of visits whose events may be omitted: such a visit has the clock of the event before it, or if
/// a barrier came since, of the event after it.
fn walk(
    cx: &Context<'_>,
    side: usize,
    (warp, events): (&WarpStream, &[Event]),
    mask: LaneMask,
    wanted: BTreeSet<Place>,
) -> Option<BTreeMap<Place, u32>> {
    let program = cx.sides.programs[side];
    let counts = |e: &Event| {
        matches!(program.sources.get(e.site.index()), Some(Source::Trips { bits: COUNT_EVENT, .. }))
    };
    let mut decoder = decoder(cx, side, warp, mask)?.flat().with_skipped();
    let mut clocks = Clocks::new(wanted);
    let mut next = events.iter().filter(|e| !counts(e)).peekable();
    let (mut clock, mut taken) = (0, decoder.events_taken());
    while !clocks.wanted.is_empty() {
        match decoder.next().ok()? {
            Some(PathItem::Visit { site, mask, .. }) if mask.0 != 0 => {
                let own =
                    next.next_if(|e| decoder.events_taken() > taken && e.site == program.recorded(site));
                clock = own.map_or(clock, |e| e.clock);
                taken = decoder.events_taken();
                clocks.visit(site, clock);
            }
            Some(PathItem::Barrier(_)) => {
                clock = next.peek().copied().or(events.last()).map_or(clock, |e| e.clock);
            }
            Some(_) => {}
            None => break,
        }
    }
    Some(clocks.found)
}

/// Counts visits by site and keeps the clocks of those wanted.
struct Clocks {
    wanted: BTreeSet<Place>,
    seen: BTreeMap<SiteId, u32>,
    found: BTreeMap<Place, u32>,
}

impl Clocks {
    fn new(wanted: BTreeSet<Place>) -> Clocks {
        let seen = wanted.iter().map(|(site, _)| (*site, 0)).collect();
        Clocks { wanted, seen, found: BTreeMap::new() }
    }

    fn visit(&mut self, site: SiteId, clock: u32) {
        let Some(seen) = self.seen.get_mut(&site) else { return };
        let place = (site, *seen);
        *seen += 1;
        if self.wanted.remove(&place) {
            self.found.insert(place, clock);
        }
    }
}
