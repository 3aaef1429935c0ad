//! The critical path of each launch, and how much shorter the launch would be with a faster region.
//!
//! The path is followed from the launch's last end back to its begin: through a track's own time, from the
//! end of a wait to the track that arrived last, and from a CTA's begin to the CTA before it on its
//! multiprocessor. For a faster region, the recorded graph is replayed with shorter visits of that region. A
//! wait then ends when the last track arrives, plus the signal latency that was recorded.
//!
//! # Invariants
//! The path's parts add up to the launch's time. A replay with nothing faster ends when the launch did.
//!
//! # Limitations
//! Another track may arrive last as something gets faster; a replay keeps the recorded one. The graph has no
//! memory, no instruction issue, and no warps without records.

use std::collections::{BTreeMap, HashMap};

use prlx_trace::Picos;

use crate::analyze::segments::{Segment, segments};
use crate::analyze::waits::{LastArrival, Waits, is_wait};
use crate::model::{Role, Timeline};
use crate::statistics::{add, total};

/// Maximum number of regions that are replayed faster.
const TRIED: usize = 16;
/// Percentage by which a replay shortens every visit of the region.
const FASTER: f64 = 10.0;
/// Maximum number of segments of a launch that is replayed.
const MOST: usize = 8_000_000;
/// Maximum number of jumps between tracks at one moment. More jumps mean that the waits form a circle.
const JUMPS: usize = 16;

/// The part of the critical path that one region and role take.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct CriticalPathPart {
    /// Name of the region, or of the time outside of regions: `between regions`, `between CTAs`, `before the
    /// first`.
    pub name: String,
    /// Index in [`Timeline::regions`], if it is a region.
    pub region: Option<u32>,
    /// Role of the tracks that the path runs through.
    pub role: String,
    /// Time on the path, summed over all launches.
    pub time: Picos,
    /// `time` as a fraction of the launches' time, 0 to 1.
    pub share: f64,
    /// Percentage by which the launches would be shorter if every visit of the region took a tenth less time.
    /// `None` if no replay was made.
    pub what_if: Option<f64>,
}

/// Region, role and name by which parts of the path are summed.
type Key = (Option<u32>, Role, &'static str);

/// The tracks of a launch, each as a list of segments in time order.
struct Graph<'a> {
    timeline: &'a Timeline,
    waits: &'a Waits,
    /// Indices in [`Timeline::tracks`].
    tracks: Vec<usize>,
    lines: Vec<Vec<Segment>>,
    /// For each of `tracks`: the track that the multiprocessor ran before it.
    before: Vec<Option<usize>>,
    place: HashMap<usize, usize>,
}

/// The parts of the critical path, the longest first.
pub(crate) fn path(timeline: &Timeline, waits: &Waits) -> Vec<CriticalPathPart> {
    let mut by_launch: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, t) in timeline.tracks.iter().enumerate().filter(|(_, t)| t.range().is_some()) {
        by_launch.entry(t.launch).or_default().push(i);
    }
    let graphs: Vec<Graph<'_>> =
        by_launch.into_values().map(|tracks| Graph::new(timeline, waits, tracks)).collect();
    let mut parts: HashMap<Key, Picos> = HashMap::new();
    graphs.iter().for_each(|g| g.back(&mut parts));
    let whole = total(graphs.iter().map(|g| g.time()));
    let mut rows: Vec<CriticalPathPart> = parts
        .into_iter()
        .filter(|(_, time)| *time > Picos(0))
        .map(|((region, role, other), time)| CriticalPathPart {
            name: region.map_or(other.to_owned(), |r| timeline.region_title(r)),
            region,
            role: role.to_string(),
            time,
            share: time.as_f64() / whole.max(Picos(1)).as_f64(),
            what_if: None,
        })
        .collect();
    rows.sort_by(|a, b| (b.time, &a.name, &a.role, a.region).cmp(&(a.time, &b.name, &b.role, b.region)));
    if graphs.iter().map(|g| g.lines.iter().map(Vec::len).sum::<usize>()).sum::<usize>() <= MOST {
        let orders: Vec<Vec<(usize, usize)>> = graphs.iter().map(Graph::order).collect();
        let mut tried: HashMap<u32, f64> = HashMap::new();
        for row in &mut rows {
            let Some(region) = row.region.filter(|r| !is_wait(timeline, *r)) else { continue };
            if tried.len() >= TRIED && !tried.contains_key(&region) {
                continue;
            }
            row.what_if = Some(*tried.entry(region).or_insert_with(|| {
                let times = graphs
                    .iter()
                    .zip(&orders)
                    .map(|(g, order)| g.again(order, Some(region), 1.0 - FASTER / 100.0));
                100.0 * (1.0 - times.sum::<f64>() / whole.max(Picos(1)).as_f64())
            }));
        }
    }
    rows
}

impl<'a> Graph<'a> {
    fn new(timeline: &'a Timeline, waits: &'a Waits, tracks: Vec<usize>) -> Graph<'a> {
        let lines: Vec<Vec<Segment>> = tracks.iter().map(|t| segments(&timeline.tracks[*t])).collect();
        let place: HashMap<usize, usize> = tracks.iter().enumerate().map(|(i, t)| (*t, i)).collect();
        let ends = |i: usize| lines[i].last().map_or(Picos(0), |s| s.end);
        let begins = |i: usize| lines[i].first().map_or(Picos(0), |s| s.begin);
        let mut by_sm: HashMap<u32, Vec<(Picos, usize)>> = HashMap::new();
        for (i, t) in tracks.iter().enumerate() {
            if let Some(sm) = timeline.tracks[*t].sm {
                by_sm.entry(sm).or_default().push((ends(i), i));
            }
        }
        by_sm.values_mut().for_each(|all| all.sort_unstable());
        let before = tracks.iter().enumerate().map(|(i, t)| {
            let t = &timeline.tracks[*t];
            let all = by_sm.get(&t.sm?)?;
            let ended = all.partition_point(|(end, _)| *end <= begins(i));
            // Of tracks that take no time and are at one moment, the later ones of the list come after the
            // others.
            let earlier = |(end, b): &&(Picos, usize)| {
                (*end, *b) < (ends(i), i) && timeline.tracks[tracks[*b]].cta != t.cta
            };
            all[..ended].iter().rev().find(earlier).map(|(_, b)| *b)
        });
        let before = before.collect();
        Graph { timeline, waits, tracks, lines, before, place }
    }

    fn begin(&self) -> Picos {
        self.lines.iter().filter_map(|l| l.first()).map(|s| s.begin).min().unwrap_or_default()
    }

    fn time(&self) -> Picos {
        self.lines
            .iter()
            .filter_map(|l| l.last())
            .map(|s| s.end)
            .max()
            .unwrap_or_default()
            .saturating_sub(self.begin())
    }

    /// The last arrival that a segment, if it is a wait, waited for: its place in `tracks`, and the arrival.
    fn late(&self, line: usize, s: &Segment) -> Option<(usize, LastArrival)> {
        let late = (*self.waits.get(&(self.tracks[line], s.span?))?)?;
        Some((*self.place.get(&late.track)?, late))
    }

    /// Like [`Graph::late`], for the part of a wait in which the last track arrived and for the parts after
    /// it. Nested regions divide a wait into parts.
    fn within(&self, line: usize, s: &Segment) -> Option<(usize, LastArrival)> {
        self.late(line, s).filter(|(_, late)| late.at <= s.end)
    }

    fn region(&self, line: usize, span: u32) -> u32 {
        self.timeline.tracks[self.tracks[line]].spans[span as usize].region
    }

    /// The segment of a line that leads to a time: the last that begins before it.
    fn leads(&self, line: usize, at: Picos) -> Option<usize> {
        self.lines[line].partition_point(|s| s.begin < at).checked_sub(1)
    }

    /// Walks the path, from the end.
    fn back(&self, parts: &mut HashMap<Key, Picos>) {
        let ends =
            self.lines.iter().enumerate().filter_map(|(i, l)| Some((l.last()?.end, std::cmp::Reverse(i))));
        let Some((mut now, std::cmp::Reverse(mut line))) = ends.max() else { return };
        let mut jumps = 0;
        loop {
            let role = self.timeline.tracks[self.tracks[line]].role();
            let Some(i) = self.leads(line, now) else {
                // The track had not begun: what was before it there?
                let Some(before) = self.before[line] else { break };
                let end = self.lines[before].last().map_or(now, |s| s.end);
                add(parts.entry((None, Role::None, "between CTAs")).or_default(), now.saturating_sub(end));
                (now, line) = (end.min(now), before);
                continue;
            };
            let s = self.lines[line][i];
            if let Some((by, late)) = self.late(line, &s)
                && late.at > s.begin
                && late.at <= now
                && (late.at < now || jumps < JUMPS)
            {
                jumps = if late.at < now { 0 } else { jumps + 1 };
                // The way of the news is the wait's; a flight is that of the work.
                let work = late
                    .work
                    .map(|w| (Some(self.region(by, w)), self.timeline.tracks[late.track].role(), ""));
                let key = work.unwrap_or((s.span.map(|w| self.region(line, w)), role, ""));
                add(parts.entry(key).or_default(), now - late.at);
                (now, line) = (late.at, by);
                continue;
            }
            jumps = 0;
            let key = match s.span {
                Some(w) => (Some(self.region(line, w)), role, ""),
                None => (None, role, "between regions"),
            };
            add(parts.entry(key).or_default(), now.min(s.end) - s.begin);
            // After the track's end it did nothing that is known.
            add(parts.entry((None, role, "between regions")).or_default(), now.saturating_sub(s.end));
            now = s.begin;
        }
        add(parts.entry((None, Role::None, "before the first")).or_default(), now - self.begin());
    }

    /// All segments, in an order in which what one needs comes before it.
    fn order(&self) -> Vec<(usize, usize)> {
        let mut all: Vec<(Picos, Picos, usize, usize)> = Vec::new();
        for (l, line) in self.lines.iter().enumerate() {
            all.extend(line.iter().enumerate().map(|(i, s)| (s.end, s.begin, l, i)));
        }
        all.sort_unstable();
        all.into_iter().map(|(_, _, l, i)| (l, i)).collect()
    }

    /// The launch's time in picoseconds if visits of `region` took `scale` times as long.
    fn again(&self, order: &[(usize, usize)], region: Option<u32>, scale: f64) -> f64 {
        let mut ends: Vec<Vec<f64>> = self.lines.iter().map(|l| vec![0.0; l.len()]).collect();
        // The news of who was not waited for takes what it takes at least, where it was.
        let mut news: HashMap<u32, f64> = HashMap::new();
        for (l, line) in self.lines.iter().enumerate() {
            for s in line {
                if let (Some((_, late)), Some(span)) = (self.within(l, s), s.span)
                    && late.at > s.begin
                {
                    let way = news.entry(self.region(l, span)).or_insert(f64::MAX);
                    *way = way.min((s.end - late.at).as_f64());
                }
            }
        }
        let mut last = 0.0f64;
        for &(l, i) in order {
            let s = &self.lines[l][i];
            let begin = if i > 0 {
                ends[l][i - 1]
            } else {
                // A track begins as long after the one before it as it did.
                let moved = |b: usize| Some(ends[b].last()? - self.lines[b].last()?.end.as_f64());
                s.begin.as_f64() + self.before[l].and_then(moved).unwrap_or(0.0)
            };
            let took = (s.end - s.begin).as_f64();
            let of = s.span.map(|span| self.region(l, span));
            let factor = |of: Option<u32>| if of.is_some() && of == region { scale } else { 1.0 };
            let end = match self.within(l, s) {
                None => begin + took * factor(of),
                Some((by, late)) => {
                    let work = late.work.map(|w| self.region(by, w));
                    let arrived = self.leads(by, late.at).map_or(late.at.as_f64(), |j| {
                        let to = &self.lines[by][j];
                        let from = if j > 0 { ends[by][j - 1] } else { to.begin.as_f64() };
                        let within = (late.at.min(to.end) - to.begin).as_f64();
                        let own = factor(to.span.map(|span| self.region(by, span)));
                        // Of a wait it is its end that counts: what it waited for may have moved.
                        let done = if late.at >= to.end && ends[by][j] > 0.0 {
                            ends[by][j]
                        } else {
                            from + within * own
                        };
                        done + late.at.saturating_sub(to.end).as_f64()
                    });
                    if late.at > s.begin {
                        begin.max(arrived + (s.end - late.at).as_f64() * factor(work))
                    } else {
                        let way = of
                            .and_then(|r| news.get(&r))
                            .copied()
                            .unwrap_or(0.0)
                            .min((s.end - late.at).as_f64());
                        (begin + took).max(arrived + way * factor(work))
                    }
                }
            };
            ends[l][i] = end;
            last = last.max(end);
        }
        last - self.begin().as_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Moment, Region, Span, Track};
    use prlx_trace::mark::Via;

    fn made() -> Timeline {
        let region = |name: &str, via| Region { name: name.into(), via, ..Region::default() };
        let regions =
            vec![region("work", Via::Source), region("wait", Via::Mbarrier), region("more", Via::Source)];
        let span =
            |region, begin, end| Span { region, begin: Picos(begin), end: Picos(end), ..Span::default() };
        let arrival = |at| Moment { region: 1, at: Picos(at), arrival: true, payload: [0; 2] };
        let track =
            |warp, spans: Vec<Span>, moments| Track { warp: Some(warp), spans, moments, ..Track::default() };
        // Warp 1 waits for warp 0's work from 20 to 62, and works on until 100.
        let first = track(0, vec![span(0, 0, 60), span(2, 60, 70)], vec![arrival(60)]);
        let second = track(1, vec![span(2, 0, 20), span(1, 20, 62), span(2, 62, 100)], Vec::new());
        Timeline { regions, tracks: vec![first, second], ..Timeline::default() }
    }

    #[test]
    fn parts_add_up_and_running_again_gives_the_same() {
        let t = made();
        let waits = crate::analyze::waits::waits(&t);
        let rows = path(&t, &waits);
        let shown: Vec<_> = rows.iter().map(|r| (r.name.as_str(), r.role.as_str(), r.time.0)).collect();
        assert_eq!(shown, [("work", "warp 0", 60), ("more", "warp 1", 38), ("wait", "warp 1", 2)]);
        let what_if: Vec<_> = rows.iter().map(|r| r.what_if.map(|w| (w * 10.0).round())).collect();
        assert_eq!(what_if, [Some(60.0), Some(38.0), None]);
        let g = Graph::new(&t, &waits, vec![0, 1]);
        assert_eq!(g.again(&g.order(), None, 1.0), 100.0);
        // Much faster, the wait is gone and its own begin is what counts.
        assert_eq!(g.again(&g.order(), Some(0), 0.1), 20.0 + 38.0);
    }

    /// A wait in which something else is done waits on behind it.
    #[test]
    fn a_wait_in_parts() {
        let mut t = made();
        t.tracks[1].spans.insert(2, Span { region: 2, begin: Picos(25), end: Picos(30), ..Span::default() });
        let waits = crate::analyze::waits::waits(&t);
        let g = Graph::new(&t, &waits, vec![0, 1]);
        assert_eq!(g.again(&g.order(), None, 1.0), 100.0);
        // With half of the work the first arrives as what lies in the wait ends, and the news takes two.
        assert_eq!(g.again(&g.order(), Some(0), 0.5), 70.0);
        assert_eq!(path(&t, &waits).iter().map(|r| r.time).sum::<Picos>(), Picos(100));
    }
}
