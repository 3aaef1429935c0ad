//! Waits, and which arrival ended each of them.
//!
//! A wait is a span at a barrier or an mbarrier, or a source region whose name begins with `wait`. Its first
//! payload word identifies what it waits for. An arrival is one of:
//!
//! - a moment marked as arrival with the same word,
//! - the issue of asynchronous work with the same word,
//! - at a barrier of the CTA, the begin of another track's wait there.
//!
//! An mbarrier's address names a CTA of the cluster ([`Clusters`]), and a multicast copy arrives in each
//! destination CTA. At the cluster's barrier all CTAs of the cluster arrive. The last arrival before a wait's
//! end ended the wait. The time before that arrival is lateness; the time after it is signal latency, or a
//! copy's flight time. A wait that begins after its last arrival is all latency.
//!
//! # Invariants
//! Lateness and latency add up to no more than the wait.
//!
//! # Limitations
//! Arrivals that source markers make at other CTAs of the cluster are not matched: their words may be
//! anything.

use std::collections::{BTreeMap, HashMap};

use prlx_trace::Picos;
use prlx_trace::mark::Via;

use crate::clusters::Clusters;
use crate::model::{Role, Span, Timeline, Track};
use crate::statistics::{add, total};

/// Maximum number of spans that are searched for what a track was doing.
const BACK: usize = 64;

/// The arrival that ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LastArrival {
    /// The track that arrived last.
    pub track: usize,
    /// Time of the arrival.
    pub at: Picos,
    /// Index of the asynchronous work that completed, in the track's spans. `None` if the track itself
    /// arrived.
    pub work: Option<u32>,
}

/// The last arrival of each wait, by indices of track and span. `None` if it is not known.
pub(crate) type Waits = HashMap<(usize, u32), Option<LastArrival>>;

/// The waits of one role in one region, summed up.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Wait {
    /// Name of the region.
    pub name: String,
    /// Which of [`Timeline::regions`].
    pub region: u32,
    /// Role of the waiting tracks.
    pub role: String,
    /// Number of waits.
    pub count: u64,
    /// Total waiting time.
    pub total: Picos,
    /// The part of the total before the last arrival.
    pub late: Picos,
    /// The part of the total after the last arrival: latency of the signal, or of the copy.
    pub after: Picos,
    /// What kind of wait it is.
    pub side: WaitKind,
    /// The tracks that arrived last, by role and region; the worst first.
    pub by: Vec<Blame>,
    /// Share of the total in the time of the waiting tracks.
    pub share: f64,
    /// Time for which the tracks were delayed: the part of each wait beyond the shortest wait of its kind
    /// (the cost of testing). The first wait of each track does not count, because it fills the pipeline.
    pub held: Picos,
    /// Latency of the awaited copies, from issue to the end of the wait: the first percentile, and the median
    /// weighted by `held`.
    pub flight: Option<[Picos; 2]>,
}

/// Why a role waits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitKind {
    /// A consumer waits for data.
    Starved,
    /// A producer waits for a free stage.
    Blocked,
    /// The tracks wait for each other at a barrier.
    Barrier,
    /// Neither names nor arrivals show the reason.
    #[default]
    Other,
}

/// Tracks that others waited for.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Blame {
    /// Role of the late tracks.
    pub role: String,
    /// Region in which they were before they arrived; empty if it is not known.
    pub region: String,
    /// Whether they are in another CTA of the cluster.
    pub peer: bool,
    /// Number of waits that they ended.
    pub count: u64,
    /// Time that others waited for them.
    pub late: Picos,
    /// The longest of these waits: its time, the CTA of the late track, and the visit number of the region in
    /// which that track was.
    pub worst: (Picos, u64, u32),
}

/// Whether spans of a region are waits.
pub(crate) fn is_wait(timeline: &Timeline, region: u32) -> bool {
    timeline.regions.get(region as usize).is_some_and(|r| match r.via {
        Via::Barrier | Via::Mbarrier => true,
        Via::Source => r.name.get(..4).is_some_and(|w| w.eq_ignore_ascii_case("wait")),
        _ => false,
    })
}

/// Somebody arrives: when, who, by which asynchronous work.
type Arrival = (Picos, usize, Option<u32>);

/// A launch, a CTA, and what is arrived at.
type Place = (usize, u64, u32);

/// A barrier of a CTA: when each track said that it arrives, when it began to wait, and all waits.
#[derive(Default)]
struct Barrier {
    told: BTreeMap<usize, Vec<Picos>>,
    begun: BTreeMap<usize, Vec<Picos>>,
    waits: Vec<(usize, u32)>,
}

/// The last arrival of every wait.
pub(crate) fn waits(timeline: &Timeline) -> Waits {
    let wait: Vec<bool> = (0..timeline.regions.len()).map(|r| is_wait(timeline, r as u32)).collect();
    let via = |region: u32| timeline.regions.get(region as usize).map_or(Via::Source, |r| r.via);
    let mut arrivals: HashMap<Place, Vec<Arrival>> = HashMap::new();
    let mut barriers: BTreeMap<Place, Barrier> = BTreeMap::new();
    for (i, t) in timeline.tracks.iter().enumerate() {
        let clusters = timeline.launches.get(t.launch).and_then(|l| l.clusters);
        let met = |word: u32| (t.launch, clusters.map_or(t.cta, |c| c.met(t.cta, word)), word);
        for m in t.moments.iter().filter(|m| m.arrival) {
            match via(m.region) {
                Via::Barrier => {
                    barriers.entry(met(m.payload[0])).or_default().told.entry(i).or_default().push(m.at)
                }
                via => {
                    for place in places(t, clusters, via, [m.payload[0], 0]) {
                        arrivals.entry(place).or_default().push((m.at, i, None));
                    }
                }
            }
        }
        for (n, s) in (0u32..).zip(&t.spans) {
            if s.asynchronous && matches!(via(s.region), Via::Tma | Via::Source) {
                for place in places(t, clusters, via(s.region), s.payload) {
                    arrivals.entry(place).or_default().push((s.begin, i, Some(n)));
                }
            } else if !s.asynchronous && via(s.region) == Via::Barrier {
                let of = barriers.entry(met(s.payload[0])).or_default();
                of.begun.entry(i).or_default().push(s.begin);
                of.waits.push((i, n));
            }
        }
    }
    arrivals.values_mut().for_each(|a| a.sort_unstable());
    let mut out = Waits::new();
    for (i, t) in timeline.tracks.iter().enumerate() {
        for (n, s) in (0u32..).zip(&t.spans).filter(|(_, s)| !s.asynchronous && wait[s.region as usize]) {
            if via(s.region) == Via::Barrier {
                continue;
            }
            let clusters = timeline.launches.get(t.launch).and_then(|l| l.clusters);
            let place = places(t, clusters, via(s.region), [s.payload[0], 0]).swap_remove(0);
            let late = arrivals.get(&place).and_then(|all| {
                // Who waits has not arrived by waiting.
                let before = all.partition_point(|a| a.0 <= s.end);
                all[..before].iter().rev().find(|a| a.1 != i)
            });
            out.insert((i, n), late.map(|&(at, track, work)| LastArrival { track, at, work }));
        }
    }
    for mut barrier in barriers.into_values() {
        // Moments record tracks that arrive and do not wait. Without moments, a track arrives when it begins
        // to wait.
        let visits = if barrier.told.is_empty() { &barrier.begun } else { &barrier.told };
        let most = visits.values().map(Vec::len).max().unwrap_or(0);
        let same =
            visits.values().all(|v| v.len() == most) && barrier.begun.values().all(|v| v.len() == most);
        let mut trips: HashMap<usize, usize> = HashMap::new();
        for (me, span) in std::mem::take(&mut barrier.waits) {
            let end = timeline.tracks[me].spans[span as usize].end;
            let next = trips.entry(me).or_default();
            let trip = std::mem::replace(next, *next + 1);
            // Where all come as often, the n-th visits are one; else those that began before this ended.
            let last = visits.iter().filter_map(|(track, v)| {
                let before = v.partition_point(|at| *at <= end);
                let at = if same { v.get(trip) } else { v[..before].last() }?;
                Some((*at, *track))
            });
            let last = last.max().filter(|(at, track)| *track != me && *at <= end);
            out.insert((me, span), last.map(|(at, track)| LastArrival { track, at, work: None }));
        }
    }
    out
}

/// Where somebody arrives who says `words`: what, and in which CTAs of the cluster if not in one.
fn places(t: &Track, clusters: Option<Clusters>, via: Via, words: [u32; 2]) -> Vec<Place> {
    let own = (t.launch, t.cta, words[0]);
    // Words of the source may be no addresses.
    let Some(c) = clusters.filter(|_| via != Via::Source) else { return vec![own] };
    let Some((cta, at)) = c.addressed(t.cta, words[0]) else { return vec![own] };
    let many = (0..16).filter(|rank| words[1] >> rank & 1 == 1 && via == Via::Tma);
    let mut all: Vec<Place> = many.filter_map(|rank| Some((t.launch, c.peer(cta, rank)?, at))).collect();
    if all.is_empty() {
        all.push((t.launch, cta, at));
    }
    // One of the source may wait for it too.
    if cta == t.cta && at != words[0] {
        all.push(own);
    }
    all
}

/// From the track that arrived last to the track that waited: track and time of each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Arrow {
    /// The track that arrived last, and the time.
    pub from: (usize, Picos),
    /// The track whose wait ended, and the time.
    pub to: (usize, Picos),
}

/// The arrows of all waits that began before the last arrived.
pub fn arrows(timeline: &Timeline) -> Vec<Arrow> {
    let arrow = |((track, span), late): ((usize, u32), Option<LastArrival>)| {
        let (s, late) = (&timeline.tracks[track].spans[span as usize], late?);
        (late.at > s.begin).then_some(Arrow { from: (late.track, late.at), to: (track, s.end) })
    };
    let mut all: Vec<Arrow> = waits(timeline).into_iter().filter_map(arrow).collect();
    all.sort_unstable_by_key(|a| (a.to, a.from));
    all
}

/// What a track did as it arrived: the innermost region around that time, or the last one before it; no wait.
pub(crate) fn doing<'a>(timeline: &Timeline, track: &'a Track, at: Picos) -> Option<&'a Span> {
    let end = track.spans.partition_point(|s| s.begin <= at);
    let mut before: Option<&Span> = None;
    for span in track.spans[..end].iter().rev().take(BACK) {
        if span.asynchronous || is_wait(timeline, span.region) || span.begin == at && span.end > at {
            continue;
        }
        if span.end >= at {
            return Some(span);
        }
        before = before.filter(|b| b.end >= span.end).or(Some(span));
    }
    before
}

/// Of flights and how long each held up: the shortest of a hundred, and the one in the middle of that time.
fn flight(mut flown: Vec<(Picos, Picos)>) -> Option<[Picos; 2]> {
    flown.sort_unstable();
    let quick = flown.get(flown.len() / 100)?.0;
    let waited = total(flown.iter().map(|f| f.1));
    let mut before = Picos(0);
    let middle = flown.iter().find(|f| {
        before = before.saturating_add(f.1);
        before.0 >= waited.0 / 2
    })?;
    Some([quick, middle.0])
}

/// The part of a wait after its last arrival. At a barrier that needs no arrival any more, that is all of it.
fn latency(wait: &Span, last: Option<Picos>, via: Via) -> Picos {
    match last {
        Some(at) => wait.end.saturating_sub(at.max(wait.begin)),
        None if via == Via::Barrier => wait.time(),
        None => Picos(0),
    }
}

/// The waits, by region and role.
pub(crate) fn summary(timeline: &Timeline, waits: &Waits) -> Vec<Wait> {
    let mut rows: BTreeMap<(u32, Role), Wait> = BTreeMap::new();
    let mut blames: HashMap<(u32, Role, Role, Option<u32>, bool), Blame> = HashMap::new();
    let mut flights: BTreeMap<(u32, Role), [u64; 2]> = BTreeMap::new();
    let via = |region: u32| timeline.regions.get(region as usize).map_or(Via::Source, |r| r.via);
    // What asking costs, and each track's first wait in a region.
    let mut asking: HashMap<Via, Picos> = HashMap::new();
    let mut firsts: HashMap<(usize, u32), u32> = HashMap::new();
    for (track, span) in waits.keys() {
        let s = &timeline.tracks[*track].spans[*span as usize];
        let first = firsts.entry((*track, s.region)).or_insert(*span);
        *first = (*first).min(*span);
        if s.open == [false; 2] {
            let shortest = asking.entry(via(s.region)).or_insert(s.time());
            *shortest = (*shortest).min(s.time());
        }
    }
    // How long copies flew, and how long each was waited for.
    let mut flown: BTreeMap<(u32, Role), Vec<(Picos, Picos)>> = BTreeMap::new();
    let name = |region: u32| timeline.region_title(region);
    let mut lives: HashMap<Role, Picos> = HashMap::new();
    let mut issues: HashMap<Role, bool> = HashMap::new();
    for t in &timeline.tracks {
        add(lives.entry(t.role()).or_default(), t.range().map_or(Picos(0), |[a, b]| b - a));
        *issues.entry(t.role()).or_default() |= t.spans.iter().any(|s| s.asynchronous && !s.open[0]);
    }
    for ((track, span), late) in waits {
        let t = &timeline.tracks[*track];
        let s = &t.spans[*span as usize];
        let row = rows.entry((s.region, t.role())).or_default();
        row.count += 1;
        add(&mut row.total, s.time());
        let asked = asking.get(&via(s.region)).copied().unwrap_or_default();
        let held =
            if firsts[&(*track, s.region)] == *span { Picos(0) } else { s.time().saturating_sub(asked) };
        add(&mut row.held, held);
        add(&mut row.after, latency(s, late.as_ref().map(|late| late.at), via(s.region)));
        let Some(late) = late else { continue };
        let side = flights.entry((s.region, t.role())).or_default();
        side[usize::from(late.work.is_some())] += 1;
        if late.work.is_some() {
            flown.entry((s.region, t.role())).or_default().push((s.end - late.at, held));
        }
        let at = late.at.max(s.begin);
        if late.at > s.begin {
            add(&mut row.late, at - s.begin);
            let of = &timeline.tracks[late.track];
            let did = doing(timeline, of, late.at);
            let blame = blames
                .entry((s.region, t.role(), of.role(), did.map(|d| d.region), of.cta != t.cta))
                .or_default();
            blame.count += 1;
            add(&mut blame.late, at - s.begin);
            let worst = (at - s.begin, of.cta, did.map_or(0, |d| d.trip));
            if worst.0 > blame.worst.0 || worst.0 == blame.worst.0 && worst < blame.worst {
                blame.worst = worst;
            }
        }
    }
    for ((region, role, by, did, peer), blame) in blames {
        if let Some(row) = rows.get_mut(&(region, role)) {
            row.by.push(Blame {
                role: by.to_string(),
                region: did.map(name).unwrap_or_default(),
                peer,
                ..blame
            });
        }
    }
    let mut out: Vec<Wait> = rows
        .into_iter()
        .map(|((region, role), mut row)| {
            row.by.sort_by(|a, b| {
                (b.late, &a.role, &a.region, a.peer).cmp(&(a.late, &b.role, &b.region, b.peer))
            });
            let called = name(region);
            let [told, copied] = flights.get(&(region, role)).copied().unwrap_or_default();
            row.flight = flown.remove(&(region, role)).and_then(flight);
            let lower = called.to_ascii_lowercase();
            let side = if lower.contains("full") || lower.contains("data") {
                WaitKind::Starved
            } else if lower.contains("empty") || lower.contains("free") || lower.contains("room") {
                WaitKind::Blocked
            } else if via(region) == Via::Barrier {
                WaitKind::Barrier
            } else if copied > told {
                WaitKind::Starved
            } else if told > 0 && issues.get(&role).copied().unwrap_or(false) {
                WaitKind::Blocked
            } else {
                WaitKind::Other
            };
            let share =
                row.total.as_f64() / lives.get(&role).copied().unwrap_or_default().max(Picos(1)).as_f64();
            Wait { name: called, region, role: role.to_string(), side, share, ..row }
        })
        .collect();
    out.sort_by(|a, b| (b.total, a.region, &a.role).cmp(&(a.total, b.region, &b.role)));
    out
}
