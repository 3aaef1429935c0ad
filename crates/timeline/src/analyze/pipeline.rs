//! Pipelines: waits by stage, and the interval, fill and drain time of each role's loop.
//!
//! A stage is what a wait waits for: the first payload word. The loop of a role is the region that it visits
//! most often, at least three times per track, and that is not a wait.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use prlx_trace::Picos;

use crate::analyze::waits::{Wait, WaitKind, Waits, is_wait};
use crate::model::{Role, Timeline};
use crate::statistics::{median, percentile, total};

/// Visits of a region that make it a loop's.
const TRIPS: usize = 3;

/// The waits at one stage of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Stage {
    /// Name of the region.
    pub name: String,
    /// Role of the waiting tracks.
    pub role: String,
    /// Why the role waits.
    pub side: WaitKind,
    /// The first word: an mbarrier's address, a barrier's number, or what the source says.
    pub word: u32,
    /// Number of waits.
    pub count: u64,
    /// Total waiting time.
    pub total: Picos,
    /// Median waiting time.
    pub median: Picos,
}

/// A role's loop.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Loop {
    /// Role of the tracks that run it.
    pub role: String,
    /// The region that it visits each trip.
    pub name: String,
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Visits of all tracks.
    pub trips: u64,
    /// From begin to begin of two trips: median and 95th percentile.
    pub interval: [Picos; 2],
    /// From a track's begin to its first trip: median.
    pub fill: Picos,
    /// From its last trip's end to its own: median.
    pub drain: Picos,
}

/// Stages, by region, role and word.
pub(crate) fn stages(timeline: &Timeline, waits: &Waits, rows: &[Wait]) -> Vec<Stage> {
    let mut all: BTreeMap<(u32, String, u32), Vec<Picos>> = BTreeMap::new();
    for (track, span) in waits.keys() {
        let t = &timeline.tracks[*track];
        let s = &t.spans[*span as usize];
        all.entry((s.region, t.role().to_string(), s.payload[0])).or_default().push(s.time());
    }
    let side =
        |region: u32, role: &str| rows.iter().find(|w| w.region == region && w.role == role).map(|w| w.side);
    all.into_iter()
        .map(|((region, role, word), times)| Stage {
            name: timeline.region_title(region),
            side: side(region, &role).unwrap_or_default(),
            role,
            word,
            count: times.len() as u64,
            total: total(times.iter().copied()),
            median: median(times),
        })
        .collect()
}

/// The loop of each role.
pub(crate) fn loops(timeline: &Timeline) -> Vec<Loop> {
    let mut visits: HashMap<(Role, u32), usize> = HashMap::new();
    let mut tracks: HashMap<(Role, u32), usize> = HashMap::new();
    for t in &timeline.tracks {
        let mut here = BTreeSet::new();
        for s in t.spans.iter().filter(|s| !is_wait(timeline, s.region)) {
            *visits.entry((t.role(), s.region)).or_default() += 1;
            if here.insert(s.region) {
                *tracks.entry((t.role(), s.region)).or_default() += 1;
            }
        }
    }
    let roles: BTreeSet<Role> = visits.keys().map(|(role, _)| *role).collect();
    let mut out = Vec::new();
    for role in roles {
        let regions = visits.iter().filter(|((r, _), _)| *r == role);
        let often = regions.filter(|(key, n)| **n >= TRIPS * tracks[key]);
        let Some((&(_, region), &trips)) =
            often.max_by_key(|((_, region), n)| (**n, std::cmp::Reverse(*region)))
        else {
            continue;
        };
        let (mut intervals, mut fills, mut drains) = (Vec::new(), Vec::new(), Vec::new());
        for t in timeline.tracks.iter().filter(|t| t.role() == role) {
            let trips = || t.spans.iter().filter(|s| s.region == region);
            let begins: Vec<Picos> = trips().map(|s| s.begin).collect();
            intervals.extend(begins.windows(2).map(|b| b[1] - b[0]));
            let last = trips().map(|s| s.end).max();
            if let (Some([begin, end]), Some(first), Some(last)) = (t.range(), begins.first(), last) {
                fills.push(*first - begin);
                drains.push(end - last);
            }
        }
        intervals.sort_unstable();
        let interval = [50, 95].map(|p| percentile(&intervals, p).unwrap_or_default());
        out.push(Loop {
            role: role.to_string(),
            name: timeline.region_title(region),
            region,
            trips: trips as u64,
            interval,
            fill: median(fills),
            drain: median(drains),
        });
    }
    out
}
