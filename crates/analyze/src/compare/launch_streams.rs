//! Walks both sides' streams of a launch together: counts warps that recorded the same, and compares the
//! others. Frames with equal digests are not unpacked.
//!
//! # Invariants
//! Results are merged in ascending order of warps, whatever the threads do. Memory is bounded by 32 frames of
//! each side and the trees of the lanes being compared.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use prlx_trace::{Level, Recording, WarpId, WarpStream};

use crate::builds::gaps::UncomparedVisits;
use crate::error::Error;
use crate::launches::filter::Filter;
use crate::report::{Coverage, Lanes, Visits, Warps};

use super::cluster::FindingClusters;
use super::context::{Context, totals};
use super::warp_diff::{LaneOutcome, WarpDiff};
use super::warps as warp;

/// The largest number of warps that are compared at once.
const BATCH: usize = 4096;
/// The largest number of frames of a side that are unpacked at once.
const FRAMES: usize = 32;

/// Compares all warps that are not known to be equal.
pub(crate) fn streams(
    cx: &Context<'_>,
    recordings: [&Recording; 2],
    same_sites: bool,
    coverage: &mut Coverage,
    clusters: &mut FindingClusters,
    uncompared: &mut UncomparedVisits,
    gaps: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    let [ra, rb] = recordings;
    let by_thread = cx.by_thread();
    let (mut warps, mut lanes) = totals(cx.launches);
    if by_thread {
        warps.total = cx.launches[0].warps();
    }
    let total = warps.total;
    // At these levels, decoding reads the launches as well.
    let equal_content_suffices = match ra.launch.level {
        Level::Path | Level::Values | Level::Fingerprint => cx.equal_words_suffice,
        Level::Events | Level::Operands | Level::Probe => same_sites,
    };
    let whole = |warp: WarpId, dropped: [u64; 2]| {
        equal_content_suffices && dropped == [0; 2] && cx.launches.iter().all(|l| l.unfinished(warp).0 == 0)
    };
    let to_compare = unequal_warps(cx, recordings, clusters.filter, &whole, &mut warps, &mut lanes)?;
    let mut remaining = &to_compare[..];
    while !remaining.is_empty() {
        let (now, later) = remaining.split_at(batch(recordings, remaining));
        remaining = later;
        let mut theirs = now.to_vec();
        if by_thread {
            theirs = now.iter().flat_map(|w| cx.partners(*w)).collect();
            theirs.sort_unstable();
            theirs.dedup();
        }
        let (a, b) = rayon::join(|| unpack(ra, now), || unpack(rb, &theirs));
        let (a, b) = (a?, b?);
        if a.len() != now.len() || b.len() != theirs.len() {
            return Err(Error::new(
                now[0].to_string(),
                "this warp or a later one is listed, but missing from the frames",
            ));
        }
        // `None`: both recorded the same.
        let warp = |(a, b): (&WarpStream, &WarpStream)| {
            let same = whole(a.warp, [a.dropped, b.dropped]) && a.same(b);
            (!same).then(|| warp::warps(cx, a, b))
        };
        let results: Vec<Option<WarpDiff>> = if by_thread {
            let others = b.iter().map(|b| (b.warp, b)).collect();
            a.par_iter().map(|a| Some(warp::threads(cx, a, &others))).collect()
        } else {
            a.par_iter().zip(&b).map(warp).collect()
        };
        for (r, a) in results.into_iter().zip(&a) {
            let Some(r) = r else {
                warps.equal += 1;
                lanes.in_equal_warps += lanes_of(cx, a.warp);
                continue;
            };
            let fate = |f: LaneOutcome| r.outcomes[f as usize];
            let failed = fate(LaneOutcome::Failed);
            if failed > 0 && failed == r.outcomes.iter().sum::<u64>() {
                warps.failed += 1
            } else {
                warps.compared += 1
            }
            lanes.same_words += fate(LaneOutcome::SameWords);
            lanes.compared += fate(LaneOutcome::Compared);
            lanes.truncated += fate(LaneOutcome::Truncated);
            lanes.failed += failed;
            for (sum, c) in coverage.visits.iter_mut().zip(r.visits) {
                *sum = Visits {
                    recorded: sum.recorded + c.recorded,
                    computed: sum.computed + c.computed,
                    other: sum.other + c.other,
                };
            }
            if let Some(why) = &r.failure {
                gaps.entry("failed".into()).or_insert_with(|| format!("first decoding error: {why}"));
            }
            uncompared.add(&r.uncompared, r.incomparable);
            clusters.add(cx, r);
        }
    }
    warps.missing = total.saturating_sub(warps.equal + warps.compared + warps.failed);
    let seen = lanes.in_equal_warps + lanes.same_words + lanes.compared + lanes.truncated + lanes.failed;
    lanes.missing = lanes.total.saturating_sub(seen);
    (coverage.percent, coverage.warps, coverage.lanes) = (lanes.percent(), warps, lanes);
    Ok(())
}

/// The warps to unpack and compare. Counts those that recorded the same, as far as that is known without
/// unpacking them. `whole`: whether equal content of a warp with so many lost elements means equal paths.
fn unequal_warps(
    cx: &Context<'_>,
    recordings: [&Recording; 2],
    filter: &Filter,
    whole: &impl Fn(WarpId, [u64; 2]) -> bool,
    warps: &mut Warps,
    lanes: &mut Lanes,
) -> Result<Vec<WarpId>, Error> {
    let [a, b] = recordings.map(|r| &r.streams);
    let by_thread = cx.by_thread();
    let mut to_compare = Vec::new();
    let known: BTreeSet<WarpId> = b.infos().map(|i| i.warp).filter(|_| by_thread).collect();
    let mut infos_b = b.infos().peekable();
    for frame in 0..a.frames() {
        let first = a.frame_infos(frame).next().and_then(|info| b.frame_of(info.warp));
        let same = first.is_some_and(|other| a.same_frame(frame, (b, other)));
        for info in a.frame_infos(frame).filter(|i| filter.selects_warp(i.warp)) {
            if by_thread && info.warp.0 < warps.total {
                if cx.partners(info.warp).iter().all(|w| known.contains(w)) {
                    to_compare.push(info.warp);
                }
                continue;
            }
            while infos_b.next_if(|b| b.warp < info.warp).is_some() {}
            let Some(other) = infos_b.next_if(|b| b.warp == info.warp) else { continue };
            if info.warp.0 >= warps.total {
                return Err(Error::new(info.warp.to_string(), "a warp beyond the grid"));
            }
            if same && whole(info.warp, [info.dropped, other.dropped]) {
                warps.equal += 1;
                lanes.in_equal_warps += lanes_of(cx, info.warp);
            } else {
                to_compare.push(info.warp);
            }
        }
    }
    Ok(to_compare)
}

/// The number of lanes that a warp has on either side.
fn lanes_of(cx: &Context<'_>, warp: WarpId) -> u64 {
    let [a, b] = cx.launches.map(|l| l.lanes(warp).0);
    (a | b).count_ones().into()
}

/// How many of `warps` (ascending) to unpack and compare at once.
fn batch(recordings: [&Recording; 2], warps: &[WarpId]) -> usize {
    let mut frames = [0; 2];
    let mut last = [None; 2];
    let fits = |w: &&WarpId| {
        for side in 0..2 {
            let frame = recordings[side].streams.frame_of(**w);
            frames[side] += usize::from(frame != last[side]);
            last[side] = frame;
        }
        frames.iter().all(|n| *n <= FRAMES)
    };
    // At least one frame, whatever its size.
    warps.iter().take(BATCH).take_while(fits).count().max(1)
}

/// The streams of `warps` (ascending). Each frame is unpacked once; several are unpacked in parallel.
fn unpack(recording: &Recording, warps: &[WarpId]) -> Result<Vec<WarpStream>, Error> {
    let mut frames: Vec<usize> = warps.iter().filter_map(|w| recording.streams.frame_of(*w)).collect();
    frames.dedup();
    let wanted = |w: &WarpStream| warps.binary_search(&w.warp).is_ok();
    let unpacked: Vec<Result<Vec<WarpStream>, prlx_trace::Error>> = frames
        .par_iter()
        .map(|&i| recording.streams.frame(i).map(|all| all.into_iter().filter(wanted).collect()))
        .collect();
    // Report the first damaged frame, whatever order the threads ran in.
    let mut all = Vec::with_capacity(warps.len());
    for frame in unpacked {
        all.append(&mut frame?);
    }
    Ok(all)
}
