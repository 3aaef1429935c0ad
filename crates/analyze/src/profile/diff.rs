//! Two timelines, region by region: which take longer or shorter, and whether that is more than chance.
//!
//! Visits pair by role, region and trip, never by time: of each pair of tracks' worth of trips the means by CTA are compared. What CTAs (of all launches) tell is
//! drawn again and again from those that there are (bootstrap, from a seed of its own): where 95 of 100 draws lie is the interval.
//!
//! Holds: the same two timelines give the same numbers. A region differs when its interval leaves out no change and the change is as large as
//! asked. Where too few CTAs are there, or records are lost, what does not differ is unknown.
//!
//! Misses: launches are one sample each however long they are; a change of the clock's rate is a change of all.

use std::collections::{BTreeMap, BTreeSet};

use super::regions::median;
use super::{Role, Timeline};
use crate::Verdict;

/// Draws.
const DRAWS: usize = 1000;
/// The fewest CTAs of a side that tell of chance.
const FEWEST: usize = 3;
/// Trips that are compared by themselves.
const TRIPS: u32 = 4096;

/// What two timelines differ in.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Diff {
    /// What came of it.
    pub verdict: Verdict,
    /// Why it is not known, if it is not.
    pub gaps: Vec<String>,
    /// The launches' time: A's, B's, and the change.
    pub kernel: Change,
    /// Regions by role; those that differ first, then by how much time that is.
    pub regions: Vec<RegionChange>,
}

/// A time on both sides.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Change {
    /// Medians over CTAs (of launches: over launches); picoseconds.
    pub times: [u64; 2],
    /// B's mean by A's, less one.
    pub change: f64,
    /// Where that is in 95 of 100 draws. `None`: too few to draw from.
    pub interval: Option<[f64; 2]>,
    /// Whether it is more than chance, and than what was asked for.
    pub differs: bool,
}

/// A region of a role on both sides.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RegionChange {
    /// Its name.
    pub name: String,
    /// Whose.
    pub role: String,
    /// Visits.
    pub visits: [u64; 2],
    /// CTAs that visit it.
    pub ctas: [u64; 2],
    /// The time of all visits of a CTA.
    pub total: Change,
    /// The trip that changes most: its number, and its medians.
    pub trip: Option<(u32, [u64; 2])>,
}

/// One side's visits of a region by a role: totals by launch and CTA, and times by trip.
#[derive(Default)]
struct Side {
    visits: u64,
    totals: BTreeMap<(usize, u64), u64>,
    trips: BTreeMap<u32, Vec<u64>>,
}

/// Compares; changes below `least` (a share) do not count.
pub fn diff(a: &Timeline, b: &Timeline, least: f64) -> Diff {
    let sides = [a, b].map(gather);
    let names: BTreeSet<&(String, Role)> = sides.iter().flat_map(|s| s.keys()).collect();
    let mut out = Diff::default();
    let none = Side::default();
    for key in names {
        let [x, y] = [0, 1].map(|i| sides[i].get(key).unwrap_or(&none));
        let totals = [x, y].map(|s| s.totals.values().copied().collect::<Vec<u64>>());
        let mut total = change(&totals, least);
        // What only one side has is a difference by itself.
        total.differs |= (x.visits == 0) != (y.visits == 0);
        let trips = x
            .trips
            .iter()
            .filter_map(|(trip, times)| Some((*trip, [median(times.clone()), median(y.trips.get(trip)?.clone())])));
        let trip = trips.max_by_key(|(trip, [one, two])| (one.abs_diff(*two), std::cmp::Reverse(*trip)));
        out.regions.push(RegionChange {
            name: key.0.clone(),
            role: key.1.to_string(),
            visits: [x.visits, y.visits],
            ctas: [x, y].map(|s| s.totals.len() as u64),
            total,
            trip: trip.filter(|(_, [one, two])| one != two),
        });
    }
    let launches = [a, b].map(|t| {
        let mut ranges: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
        for track in &t.tracks {
            let Some([begin, end]) = track.range() else { continue };
            let range = ranges.entry(track.launch).or_insert([begin, end]);
            *range = [range[0].min(begin), range[1].max(end)];
        }
        ranges.into_values().map(|[begin, end]| end - begin).collect::<Vec<u64>>()
    });
    out.kernel = change(&launches, least);
    let moved = |c: &Change| c.times[0].abs_diff(c.times[1]);
    out.regions.sort_by(|a, b| {
        (b.total.differs, moved(&b.total), &a.name, &a.role).cmp(&(a.total.differs, moved(&a.total), &b.name, &b.role))
    });
    for (side, t) in ["A", "B"].iter().zip([a, b]) {
        let lost: u64 = t.tracks.iter().map(|t| t.lost).sum();
        if lost > 0 {
            out.gaps.push(format!("{side} lost {lost} records"));
        }
        if t.tracks.is_empty() {
            out.gaps.push(format!("{side} has no tracks"));
        }
        let left: u64 = t.notes.iter().filter(|n| n.kind == "left-out").map(|n| n.count).sum();
        if left > 0 {
            out.gaps.push(format!("{left} warps of {side} had no room to record"));
        }
    }
    let few = out.regions.iter().filter(|r| !r.total.differs && r.total.interval.is_none()).count();
    if few > 0 {
        out.gaps.push(format!(
            "{few} regions were visited by fewer than {FEWEST} CTAs of a side: what is chance is not known"
        ));
    }
    let differs = out.kernel.differs || out.regions.iter().any(|r| r.total.differs);
    out.verdict = match (differs, out.gaps.is_empty()) {
        (true, _) => Verdict::Differs,
        (false, true) => Verdict::Same,
        (false, false) => Verdict::Unknown,
    };
    out
}

fn gather(t: &Timeline) -> BTreeMap<(String, Role), Side> {
    let mut out: BTreeMap<(String, Role), Side> = BTreeMap::new();
    let name = |region: u32| t.regions.get(region as usize).map(|r| r.name.clone()).unwrap_or_default();
    for track in &t.tracks {
        for span in &track.spans {
            let side = out.entry((name(span.region), track.role())).or_default();
            side.visits += 1;
            *side.totals.entry((track.launch, track.cta)).or_default() += span.time();
            if span.trip < TRIPS {
                side.trips.entry(span.trip).or_default().push(span.time());
            }
        }
        for sum in &track.sums {
            let side = out.entry((name(sum.region), track.role())).or_default();
            side.visits += sum.count;
            *side.totals.entry((track.launch, track.cta)).or_default() += sum.time;
        }
    }
    out
}

fn mean(values: &[u64]) -> f64 {
    values.iter().map(|v| *v as f64).sum::<f64>() / values.len().max(1) as f64
}

/// B's mean by A's, less one; where both are nothing, nothing.
fn ratio(a: f64, b: f64) -> f64 {
    if a > 0.0 { b / a - 1.0 } else { f64::from(b > 0.0) }
}

fn change(sides: &[Vec<u64>; 2], least: f64) -> Change {
    let change = ratio(mean(&sides[0]), mean(&sides[1]));
    let mut out = Change { times: sides.each_ref().map(|s| median(s.clone())), change, ..Change::default() };
    if sides.iter().any(|s| s.len() < FEWEST) {
        return out;
    }
    let mut state = 0x5eed_u64;
    let mut drawn = |from: &[u64]| {
        let sum: f64 = (0..from.len())
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                from[((u128::from(state >> 32) * from.len() as u128) >> 32) as usize] as f64
            })
            .sum();
        sum / from.len() as f64
    };
    let mut draws: Vec<f64> = (0..DRAWS).map(|_| ratio(drawn(&sides[0]), drawn(&sides[1]))).collect();
    draws.sort_by(f64::total_cmp);
    let interval = [draws[DRAWS / 40], draws[DRAWS - 1 - DRAWS / 40]];
    out.interval = Some(interval);
    out.differs = (interval[0] > 0.0 || interval[1] < 0.0) && change.abs() >= least;
    out
}
