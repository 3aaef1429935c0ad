//! Runs all analyses of a timeline and collects their results.

pub(crate) mod causes;
pub(crate) mod critical_path;
pub(crate) mod host;
pub(crate) mod overlap;
pub(crate) mod pipeline;
pub(crate) mod region_times;
mod segments;
pub(crate) mod stopped;
pub(crate) mod tail;
pub(crate) mod waits;

use prlx_trace::Picos;

use crate::analyze::causes::{Cause, Seen, causes};
use crate::analyze::critical_path::{CriticalPathPart, path};
use crate::analyze::host::{HostSummary, together};
use crate::analyze::overlap::{Overlap, overlaps};
use crate::analyze::pipeline::{Loop, Stage, loops, stages};
use crate::analyze::region_times::{RegionTimes, times};
use crate::analyze::stopped::{StoppedTracks, stops};
use crate::analyze::tail::{LaunchTail, tails};
use crate::analyze::waits::{Wait, summary, waits};
use crate::model::{Timeline, Track};

/// What a timeline says of its kernel.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Analysis {
    /// From the first to the last moment of all tracks.
    pub time: Picos,
    /// Number of tracks.
    pub tracks: u64,
    /// Spans of all tracks.
    pub spans: u64,
    /// Moments of all tracks.
    pub moments: u64,
    /// Records that are not there.
    pub lost: u64,
    /// Where tracks were that never ended.
    pub stops: Vec<StoppedTracks>,
    /// What holds it up, the heaviest first.
    pub causes: Vec<Cause>,
    /// How long regions take.
    pub regions: Vec<RegionTimes>,
    /// Who waits, and for whom.
    pub waits: Vec<Wait>,
    /// Waits stage by stage.
    pub stages: Vec<Stage>,
    /// Each role's loop.
    pub loops: Vec<Loop>,
    /// What runs beside what.
    pub overlaps: Vec<Overlap>,
    /// The critical path.
    pub path: Vec<CriticalPathPart>,
    /// How evenly launches fill the device.
    pub tails: Vec<LaunchTail>,
    /// How the host and its devices work together, if that is known.
    pub host: Option<HostSummary>,
}

/// Analyses a timeline.
pub fn analyze(timeline: &Timeline) -> Analysis {
    let late = waits(timeline);
    let (regions, waits) = (times(timeline), summary(timeline, &late));
    let (stages, loops) = (stages(timeline, &late, &waits), loops(timeline));
    // Where visits were only added up, nothing is known of when.
    let added = |t: &Track| !t.sums.is_empty() && t.spans.is_empty();
    let (overlaps, path) = match timeline.tracks.iter().any(added) {
        true => Default::default(),
        false => (overlaps(timeline), path(timeline, &late)),
    };
    let tails = tails(timeline);
    let seen =
        Seen { timeline, waits: &waits, loops: &loops, overlaps: &overlaps, path: &path, tails: &tails };
    let causes = causes(&seen);
    let sum = |of: fn(&Track) -> u64| timeline.tracks.iter().map(of).fold(0, u64::saturating_add);
    Analysis {
        time: timeline.end(),
        tracks: timeline.tracks.len() as u64,
        spans: sum(|t| t.spans.len() as u64),
        moments: sum(|t| t.moments.len() as u64),
        lost: sum(|t| t.lost),
        stops: stops(timeline),
        causes,
        regions,
        waits,
        stages,
        loops,
        overlaps,
        path,
        tails,
        host: together(timeline),
    }
}
