//! Compares two timelines region by region: what takes longer or shorter, and whether that exceeds chance.
//!
//! Visits match by kernel, role, region and trip, never by time. Each CTA gives three samples per region: its
//! number of visits, their total time, and their median. A bootstrap with a fixed seed draws CTAs from all
//! launches; the interval covers 95 of 100 draws.
//!
//! # Invariants
//! The same two timelines give the same numbers. A region differs if the interval of its total excludes zero
//! and the change reaches the given threshold. With too few CTAs, or lost records, a region without a
//! difference is unknown.
//!
//! # Limitations
//! A launch is one sample, however long it is. A change of the clock rate changes all regions. If there are
//! several kernels, a kernel with another name in the other timeline has no match.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::Picos;

use crate::model::{Role, Timeline};
use crate::statistics::add;
use crate::statistics::median;

/// Number of samples that the bootstrap draws.
const DRAWS: usize = 1000;
/// The fewest CTAs of a side that tell of chance.
const FEWEST: usize = 3;
/// Trips that are compared by themselves.
const TRIPS: u32 = 4096;

/// Verdict of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// No region and no kernel differs.
    #[default]
    Same,
    /// The differences add up to less time in B.
    Faster,
    /// No difference was found, but the data are too few or incomplete.
    Unknown,
    /// The differences add up to more time in B.
    Slower,
}

impl Pace {
    /// Name of the verdict in texts and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Pace::Same => "same",
            Pace::Faster => "faster",
            Pace::Unknown => "unknown",
            Pace::Slower => "slower",
        }
    }
    /// The exit code of a command that compares (2 is for errors): a gate lets what is faster pass.
    pub const fn exit_code(self) -> u8 {
        match self {
            Pace::Same | Pace::Faster => 0,
            Pace::Slower => 1,
            Pace::Unknown => 3,
        }
    }
}

/// The differences of two timelines.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Diff {
    /// Verdict of the comparison.
    pub verdict: Pace,
    /// Reasons why the verdict is uncertain.
    pub gaps: Vec<String>,
    /// Launch times of each kernel.
    pub kernels: Vec<KernelChange>,
    /// Regions of each kernel and role: differing ones first, then by the change of time.
    pub regions: Vec<RegionChange>,
}

/// The launches of a kernel on both sides.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct KernelChange {
    /// Its name; of a pair of timelines that have one each, whatever they are called, the first's.
    pub kernel: String,
    /// Number of launches in A and B.
    pub launches: [u64; 2],
    /// Time of a launch.
    pub time: Change<Picos>,
}

/// A count or a time on both sides.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Change<T> {
    /// Medians over CTAs; those of a launch's time over launches.
    pub medians: [T; 2],
    /// Mean of B divided by the mean of A, minus one.
    pub change: f64,
    /// Interval of the change with 95 % confidence. `None` if there are too few CTAs.
    pub interval: Option<[f64; 2]>,
    /// Whether the change is significant and above the requested threshold.
    pub differs: bool,
}

impl Change<u64> {
    /// The change of a time whose medians were computed from its picoseconds.
    fn of_time(self) -> Change<Picos> {
        let Change { medians, change, interval, differs } = self;
        Change { medians: medians.map(Picos), change, interval, differs }
    }
}

/// A region of a role on both sides.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct RegionChange {
    /// Its kernel, as [`KernelChange`] has it.
    pub kernel: String,
    /// Name of the region.
    pub name: String,
    /// Role of the tracks that visit it.
    pub role: String,
    /// Visits of all CTAs, by side.
    pub visits: [u64; 2],
    /// Number of CTAs that visit the region.
    pub ctas: [u64; 2],
    /// Number of visits by a CTA.
    pub count: Change<u64>,
    /// Total time of the visits by a CTA.
    pub total: Change<Picos>,
    /// Median time of a visit in a CTA; the mean if visits were summed up.
    pub median: Change<Picos>,
    /// The visit number whose time changes most, with its medians in A and B.
    pub trip: Option<(u32, [Picos; 2])>,
}

/// What a CTA says of a region: number of visits, their total time, and their median; times in picoseconds.
type CtaSample = [u64; 3];

/// All visits of a region by the tracks of a role, in one of the two timelines: by CTA (launch and number),
/// and the times of each trip.
#[derive(Default)]
struct RegionVisits {
    visits: u64,
    ctas: BTreeMap<(usize, u64), Visits>,
    trips: BTreeMap<u32, Vec<Picos>>,
}

#[derive(Default)]
struct Visits {
    times: Vec<Picos>,
    /// How many were added up, and how long they took.
    added: (u64, Picos),
}

impl RegionVisits {
    fn samples(&self) -> Vec<CtaSample> {
        let sample = |v: &Visits| {
            let (mut count, mut total) = v.added;
            add(&mut count, v.times.len() as u64);
            v.times.iter().for_each(|time| add(&mut total, *time));
            let median = if v.times.is_empty() { total.0 / count.max(1) } else { median(v.times.clone()).0 };
            [count, total.0, median]
        };
        self.ctas.values().map(sample).collect()
    }
}

/// Whose visits: kernel, region, role.
type Key = (String, String, Role);

/// Compares; changes below `least` (a share) do not count.
pub fn diff(a: &Timeline, b: &Timeline, least: f64) -> Diff {
    let kernels = [a, b].map(|t| t.launches.iter().map(|l| l.kernel.as_str()).collect::<BTreeSet<&str>>());
    // One against one is a pair, whatever they are called.
    let one = kernels.iter().all(|k| k.len() <= 1);
    let of = |t: &Timeline, launch: usize| match t.launches.get(launch) {
        Some(_) if one => kernels[0].first().copied().unwrap_or_default().to_owned(),
        Some(l) => l.kernel.clone(),
        None => String::new(),
    };
    let sides = [a, b].map(|t| gather(t, &|launch| of(t, launch)));
    let names: BTreeSet<&Key> = sides.iter().flat_map(|s| s.keys()).collect();
    let mut out = Diff::default();
    let none = RegionVisits::default();
    let mut moved = 0i128;
    for key in names {
        let [x, y] = [0, 1].map(|i| sides[i].get(key).unwrap_or(&none));
        let samples = [x.samples(), y.samples()];
        let [count, total, of_median] = changes(&samples, least);
        let mut total = total.of_time();
        // What only one side has is a difference by itself.
        total.differs |= (x.visits == 0) != (y.visits == 0);
        if total.differs {
            let [one, two] = [0, 1].map(|i| mean(&samples[i], 1) * samples[i].len().min(1) as f64);
            moved += ((two - one) * samples[0].len().max(samples[1].len()) as f64) as i128;
        }
        let trips = x.trips.iter().filter_map(|(trip, times)| {
            Some((*trip, [median(times.clone()), median(y.trips.get(trip)?.clone())]))
        });
        let trip = trips.max_by_key(|(trip, [one, two])| (one.abs_diff(*two), std::cmp::Reverse(*trip)));
        out.regions.push(RegionChange {
            kernel: key.0.clone(),
            name: key.1.clone(),
            role: key.2.to_string(),
            visits: [x.visits, y.visits],
            ctas: samples.each_ref().map(|t| t.len() as u64),
            count,
            total,
            median: of_median.of_time(),
            trip: trip.filter(|(_, [one, two])| one != two),
        });
    }
    let launches = [a, b].map(|t| {
        let mut ranges: BTreeMap<usize, [Picos; 2]> = BTreeMap::new();
        for track in &t.tracks {
            let Some([begin, end]) = track.range() else { continue };
            let range = ranges.entry(track.launch).or_insert([begin, end]);
            *range = [range[0].min(begin), range[1].max(end)];
        }
        let mut times: BTreeMap<String, Vec<CtaSample>> = BTreeMap::new();
        for (launch, [begin, end]) in ranges {
            times.entry(of(t, launch)).or_default().push([1, (end - begin).0, (end - begin).0]);
        }
        times
    });
    let named: BTreeSet<&String> = launches.iter().flat_map(|l| l.keys()).collect();
    for kernel in named {
        let samples = [0, 1].map(|i| launches[i].get(kernel).cloned().unwrap_or_default());
        let [_, time, _] = changes(&samples, least);
        let launches = samples.each_ref().map(|t| t.len() as u64);
        out.kernels.push(KernelChange { kernel: kernel.clone(), launches, time: time.of_time() });
    }
    let far = |c: &Change<Picos>| c.medians[0].abs_diff(c.medians[1]);
    out.regions.sort_by(|a, b| {
        let of = |r: &RegionChange| (r.total.differs, far(&r.total));
        of(b).cmp(&of(a)).then_with(|| (&a.kernel, &a.name, &a.role).cmp(&(&b.kernel, &b.name, &b.role)))
    });
    gaps([a, b], &mut out);
    // What launches take counts before what is in them.
    let whole: f64 = out
        .kernels
        .iter()
        .filter(|k| k.time.differs)
        .map(|k| {
            (k.time.medians[1].as_f64() - k.time.medians[0].as_f64())
                * k.launches[1].max(k.launches[0]) as f64
        })
        .sum();
    let differs = whole != 0.0 || out.regions.iter().any(|r| r.total.differs);
    let slower = if whole == 0.0 { moved >= 0 } else { whole > 0.0 };
    out.verdict = match (differs, slower) {
        (true, true) => Pace::Slower,
        (true, false) => Pace::Faster,
        (false, _) if out.gaps.is_empty() => Pace::Same,
        (false, _) => Pace::Unknown,
    };
    out
}

/// Why what does not differ is not known to be the same.
fn gaps(sides: [&Timeline; 2], out: &mut Diff) {
    for (side, t) in ["A", "B"].iter().zip(sides) {
        let lost = t.tracks.iter().map(|t| t.lost).fold(0, u64::saturating_add);
        if lost > 0 {
            out.gaps.push(format!("{side} lost {lost} records"));
        }
        if t.tracks.is_empty() {
            out.gaps.push(format!("{side} has no tracks"));
        }
        let left =
            t.notes.iter().filter(|n| n.kind == "left-out").map(|n| n.count).fold(0, u64::saturating_add);
        if left > 0 {
            out.gaps.push(format!("{left} warps of {side} had no room to record"));
        }
    }
    for kernel in out.kernels.iter().filter(|k| k.launches.contains(&0)) {
        out.gaps.push(format!("only one side has launches of {}", kernel.kernel));
    }
    let few = out.regions.iter().filter(|r| !r.total.differs && r.total.interval.is_none()).count();
    if few > 0 {
        out.gaps.push(format!(
            "{few} regions were visited by fewer than {FEWEST} CTAs of a side: what is chance is not known"
        ));
    }
}

fn gather(t: &Timeline, kernel: &dyn Fn(usize) -> String) -> BTreeMap<Key, RegionVisits> {
    let mut out: BTreeMap<Key, RegionVisits> = BTreeMap::new();
    let name = |region: u32| t.regions.get(region as usize).map(|r| r.name.clone()).unwrap_or_default();
    for track in &t.tracks {
        let kernel = kernel(track.launch);
        for span in &track.spans {
            let side = out.entry((kernel.clone(), name(span.region), track.role())).or_default();
            add(&mut side.visits, 1);
            side.ctas.entry((track.launch, track.cta)).or_default().times.push(span.time());
            if span.trip < TRIPS {
                side.trips.entry(span.trip).or_default().push(span.time());
            }
        }
        for sum in &track.sums {
            let side = out.entry((kernel.clone(), name(sum.region), track.role())).or_default();
            add(&mut side.visits, sum.count);
            let added = &mut side.ctas.entry((track.launch, track.cta)).or_default().added;
            add(&mut added.0, sum.count);
            add(&mut added.1, sum.time);
        }
    }
    out
}

fn mean(samples: &[CtaSample], which: usize) -> f64 {
    samples.iter().map(|t| t[which] as f64).sum::<f64>() / samples.len().max(1) as f64
}

/// B's mean by A's, less one; where both are nothing, nothing.
fn ratio(a: f64, b: f64) -> f64 {
    if a > 0.0 { b / a - 1.0 } else { f64::from(b > 0.0) }
}

/// How each of the numbers changes. All three are drawn together.
fn changes(sides: &[Vec<CtaSample>; 2], least: f64) -> [Change<u64>; 3] {
    let change = |which| Change {
        medians: sides.each_ref().map(|s| median(s.iter().map(|t| t[which]).collect())),
        change: ratio(mean(&sides[0], which), mean(&sides[1], which)),
        ..Change::default()
    };
    let mut out = [0, 1, 2].map(change);
    if sides.iter().any(|s| s.len() < FEWEST) {
        return out;
    }
    let mut state = 0x5eed_u64;
    let mut drawn = |from: &[CtaSample]| {
        let mut sums = [0.0; 3];
        for _ in 0..from.len() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let one = from[((u128::from(state >> 32) * from.len() as u128) >> 32) as usize];
            sums.iter_mut().zip(one).for_each(|(sum, value)| *sum += value as f64);
        }
        sums.map(|sum| sum / from.len() as f64)
    };
    let mut draws: [Vec<f64>; 3] = std::array::from_fn(|_| Vec::with_capacity(DRAWS));
    for _ in 0..DRAWS {
        let (a, b) = (drawn(&sides[0]), drawn(&sides[1]));
        draws.iter_mut().enumerate().for_each(|(i, draws)| draws.push(ratio(a[i], b[i])));
    }
    for (out, mut draws) in out.iter_mut().zip(draws) {
        draws.sort_by(f64::total_cmp);
        let interval = [draws[DRAWS / 40], draws[DRAWS - 1 - DRAWS / 40]];
        out.interval = Some(interval);
        out.differs = (interval[0] > 0.0 || interval[1] < 0.0) && out.change.abs() >= least;
    }
    out
}
