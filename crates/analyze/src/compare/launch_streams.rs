//! Walks both sides' streams of a launch together: counts warps that are equal by digest, and compares the
//! others.
//!
//! # Invariants
//! Results are merged in ascending order of warps, whatever the threads do. Memory is bounded by 32 frames of
//! each side and the trees of the lanes being compared.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use prlx_trace::{Recording, WarpId, WarpStream};

use crate::builds::gaps::UncomparedVisits;
use crate::error::Error;
use crate::report::{Coverage, Lanes, Visits, Warps};

use super::cluster::FindingClusters;
use super::context::Context;
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
    equal_digests_suffice: bool,
    coverage: &mut Coverage,
    clusters: &mut FindingClusters,
    uncompared: &mut UncomparedVisits,
    gaps: &mut BTreeMap<String, String>,
) -> Result<(), Error> {
    let [ra, rb] = recordings;
    let by_thread = cx.by_thread();
    let total =
        if by_thread { cx.launches[0].warps() } else { cx.launches[0].warps().max(cx.launches[1].warps()) };
    let lanes_of =
        |w: WarpId| u64::from((cx.launches[0].lanes(w).0 | cx.launches[1].lanes(w).0).count_ones());
    let threads = cx.launches.map(|l| l.grid.volume().saturating_mul(l.block.volume()));
    let mut warps = Warps { total, ..Warps::default() };
    let mut lanes = Lanes { total: threads[0].max(threads[1]), ..Lanes::default() };
    // The warps to unpack and compare.
    let mut to_compare = Vec::new();
    let known: BTreeSet<WarpId> = rb.streams.infos().map(|i| i.warp).filter(|_| by_thread).collect();
    let mut infos_b = rb.streams.infos().peekable();
    let filter = clusters.filter;
    for info in ra.streams.infos().filter(|i| filter.selects_warp(i.warp)) {
        if by_thread && info.warp.0 < total {
            if cx.partners(info.warp).iter().all(|w| known.contains(w)) {
                to_compare.push(info.warp);
            }
            continue;
        }
        while infos_b.next_if(|b| b.warp < info.warp).is_some() {}
        let Some(other) = infos_b.next_if(|b| b.warp == info.warp) else { continue };
        if info.warp.0 >= total {
            return Err(Error::new(info.warp.to_string(), "a warp beyond the grid"));
        }
        let ended = cx.launches.iter().all(|l| l.unfinished(info.warp).0 == 0);
        let whole = info.dropped == 0 && other.dropped == 0 && ended;
        if equal_digests_suffice && whole && info.digest != 0 && info.digest == other.digest {
            warps.equal += 1;
            lanes.in_equal_warps += lanes_of(info.warp);
        } else {
            to_compare.push(info.warp);
        }
    }
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
        let results: Vec<WarpDiff> = if by_thread {
            let others = b.iter().map(|b| (b.warp, b)).collect();
            a.par_iter().map(|a| warp::threads(cx, a, &others)).collect()
        } else {
            a.par_iter().zip(&b).map(|(a, b)| warp::warps(cx, a, b)).collect()
        };
        for r in results {
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
