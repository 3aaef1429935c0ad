//! Both sides' streams of a launch, walked together: warps that are equal by digest are counted, the others compared.
//!
//! Holds: warps come in ascending order, whatever the threads do; memory is bounded by 32 frames of each side and the trees of the
//! lanes at work.

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

/// Pairs of warps that are compared at once.
const BATCH: usize = 4096;
/// Frames of a side that are unpacked at once.
const FRAMES: usize = 32;

/// Walks both sides' streams together and compares what is not known to be equal.
pub(crate) fn streams(
    cx: &Context<'_>,
    recordings: [&Recording; 2],
    digests_tell: bool,
    coverage: &mut Coverage,
    clusters: &mut FindingClusters,
    left: &mut UncomparedVisits,
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
    // Which warps are worth unpacking.
    let mut suspects = Vec::new();
    let known: BTreeSet<WarpId> = rb.streams.infos().map(|i| i.warp).filter(|_| by_thread).collect();
    let mut infos_b = rb.streams.infos().peekable();
    let filter = clusters.filter;
    for info in ra.streams.infos().filter(|i| filter.takes_warp(i.warp)) {
        if by_thread && info.warp.0 < total {
            if cx.partners(info.warp).iter().all(|w| known.contains(w)) {
                suspects.push(info.warp);
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
        if digests_tell && whole && info.digest != 0 && info.digest == other.digest {
            warps.equal += 1;
            lanes.in_equal_warps += lanes_of(info.warp);
        } else {
            suspects.push(info.warp);
        }
    }
    let mut rest = &suspects[..];
    while !rest.is_empty() {
        let (now, later) = rest.split_at(batch(recordings, rest));
        rest = later;
        let mut theirs = now.to_vec();
        if by_thread {
            theirs = now.iter().flat_map(|w| cx.partners(*w)).collect();
            theirs.sort_unstable();
            theirs.dedup();
        }
        let [a, b] = [unpack(ra, now)?, unpack(rb, &theirs)?];
        if a.len() != now.len() || b.len() != theirs.len() {
            return Err(Error::new(
                now[0].to_string(),
                "this warp or one after it is listed, but not in the frames",
            ));
        }
        let results: Vec<WarpDiff> = if by_thread {
            let others = b.iter().map(|b| (b.warp, b)).collect();
            a.par_iter().map(|a| warp::threads(cx, a, &others)).collect()
        } else {
            a.par_iter().zip(&b).map(|(a, b)| warp::warps(cx, a, b)).collect()
        };
        for r in results {
            let fate = |f: LaneOutcome| r.fates[f as usize];
            let failed = fate(LaneOutcome::Failed);
            if failed > 0 && failed == r.fates.iter().sum::<u64>() {
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
                gaps.entry("failed".into()).or_insert_with(|| format!("not decodable: {why}"));
            }
            left.add(&r.left, r.apart);
            clusters.add(cx, r);
        }
    }
    warps.missing = total.saturating_sub(warps.equal + warps.compared + warps.failed);
    let seen = lanes.in_equal_warps + lanes.same_words + lanes.compared + lanes.truncated + lanes.failed;
    lanes.missing = lanes.total.saturating_sub(seen);
    (coverage.percent, coverage.warps, coverage.lanes) = (lanes.percent(), warps, lanes);
    Ok(())
}

/// How many of `warps`, which ascend, are unpacked and compared at once.
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
    // A frame fits, whatever it holds.
    warps.iter().take(BATCH).take_while(fits).count().max(1)
}

/// The streams of `warps`, which ascend. Each frame is unpacked once, and several at a time.
fn unpack(recording: &Recording, warps: &[WarpId]) -> Result<Vec<WarpStream>, Error> {
    let mut frames: Vec<usize> = warps.iter().filter_map(|w| recording.streams.frame_of(*w)).collect();
    frames.dedup();
    let wanted = |w: &WarpStream| warps.binary_search(&w.warp).is_ok();
    let unpacked: Vec<Result<Vec<WarpStream>, prlx_trace::Error>> = frames
        .par_iter()
        .map(|&i| recording.streams.frame(i).map(|all| all.into_iter().filter(wanted).collect()))
        .collect();
    // The first that is damaged is told, however the work was spread.
    let mut all = Vec::with_capacity(warps.len());
    for frame in unpacked {
        all.append(&mut frame?);
    }
    Ok(all)
}
