//! Aligns two event streams of one warp.
//!
//! A stream is a sequence of events and loops; a loop is a sequence of trips, each of which is a stream
//! again. Equal parts are skipped by hash. Events and loops match by site, trips by number, unless the
//! numbers are shifted. A difference therefore stays local, and what follows it is compared. Streams without
//! loops are aligned by `same_sites`.
//!
//! # Invariants
//! Streams with the same sites in the same order match one to one. What only one side did right after a
//! differing decision follows from that decision and is not a separate finding.

use std::collections::HashMap;
use std::ops::Range;

use crate::v1::{Event, EventBytes, EventKind};

use prlx_analyze::edit_script::{self, Run, TripStep};
use prlx_analyze::report::FindingKind;

use super::differences::{FindingNumber, Moment, Place, Sink, Trip};
use super::event_order::{self, Stream};
use super::fast_hash::FastHash;
use super::loops::{Loops, NONE};
use super::nodes::{Nodes, PreviousWarp, site};
use super::options::Options;
use super::parallel::both;
use super::same_sites;

/// What of an event is compared.
#[derive(Clone, Copy)]
pub(super) struct Eyes {
    values: bool,
}

impl Eyes {
    pub fn new(options: &Options) -> Eyes {
        Eyes { values: options.values }
    }
    /// All of an event that counts, as two words.
    #[inline]
    pub fn words(self, e: &EventBytes) -> (u64, u64) {
        let n = u128::from_le_bytes(*e);
        let keep = self.values || e[4] == EventKind::Switch as u8;
        (n as u64, (n >> 64) as u64 & if keep { u64::MAX } else { u64::from(u32::MAX) })
    }
    #[inline]
    fn equal(self, a: &EventBytes, b: &EventBytes) -> bool {
        a == b || self.words(a) == self.words(b)
    }
    /// Whether the values of two branches are the same, or do not count.
    #[inline]
    fn same_value(self, a: &EventBytes, b: &EventBytes) -> bool {
        !self.values || a[12..] == b[12..]
    }
    #[inline]
    fn mix(self, hash: u64, e: &EventBytes) -> u64 {
        // Only one multiplication waits for the event before.
        let (x, y) = self.words(e);
        let own =
            x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32) ^ y.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (hash.rotate_left(29) ^ own).wrapping_mul(0x94d0_49bb_1331_11eb)
    }
}

/// Puts what differs between two streams into `sink`.
pub(super) fn streams(
    a: &Stream<'_>,
    b: &Stream<'_>,
    eyes: Eyes,
    previous: &mut PreviousWarp,
    sink: &mut Sink<'_>,
) {
    let events = [&a.events[..], &b.events[..]];
    let [ea, eb] = events;
    if ea.len() == eb.len() && ea.iter().zip(eb).all(|(x, y)| site(x) == site(y)) {
        return in_step(events, eyes, previous, sink);
    }
    // Direction and kind too, but not company.
    let told = |e: &EventBytes| eyes.words(e).0;
    if event_order::same_but_for_company([a, b], told) {
        let i =
            ea.iter().zip(eb).take_while(|(x, y)| eyes.equal(x, y)).count().min(ea.len().min(eb.len()) - 1);
        sink.put(FindingKind::ActiveMask, at([i, i]), [Some(&ea[i]), Some(&eb[i])], &[]);
        return;
    }
    let nodes = Nodes::new(events, previous);
    let loops = if nodes.straight_line { None } else { Loops::new(events, &nodes) };
    let runs = loops.is_none().then(|| same_sites::runs(&nodes));
    let loops = loops.unwrap_or_default();
    let mut c = Compare { events, nodes: &nodes, loops: &loops, eyes, trips: Vec::new(), sink };
    match runs {
        Some(runs) => c.aligned(runs),
        None => _ = c.body(NONE, [0..ea.len(), 0..eb.len()]),
    }
    sink.places(&nodes);
}

fn at(at: [usize; 2]) -> Place {
    Place { at: at.map(|i| i as u32), ..Place::default() }
}

/// The same sites in the same order.
fn in_step(events: [&[EventBytes]; 2], eyes: Eyes, previous: &mut PreviousWarp, sink: &mut Sink<'_>) {
    for (i, (x, y)) in events[0].iter().zip(events[1]).enumerate() {
        let done = eyes.equal(x, y) || eyes.same_value(x, y) && sink.flip(x, y);
        if !done {
            pair(eyes, [i, i], [x, y], &[], sink);
        }
    }
    if sink.wants_places() {
        let nodes = Nodes::new(events, previous);
        let loops = if nodes.straight_line { None } else { Loops::new(events, &nodes) };
        if let Some(loops) = loops {
            let mut c = Compare { events, nodes: &nodes, loops: &loops, eyes, trips: Vec::new(), sink };
            c.trips_of_firsts();
        }
        sink.places(&nodes);
    }
}

/// Two events of the same site that differ; gives the finding if it is of a decision.
fn pair(
    eyes: Eyes,
    i: [usize; 2],
    [x, y]: [&EventBytes; 2],
    trips: &[Trip],
    sink: &mut Sink<'_>,
) -> Option<FindingNumber> {
    let (a, b) = (Event::of(x), Event::of(y));
    let (place, both) = (at(i), [Some(x), Some(y)]);
    if a.kind != b.kind {
        sink.put(FindingKind::Path, place, both, trips);
        return None;
    }
    let switch = a.kind == EventKind::Switch as u8;
    let decides = switch || a.kind == EventKind::Branch as u8;
    let mut decision = None;
    if decides && (a.dir != b.dir || switch && a.value != b.value) {
        decision = Some(sink.put(FindingKind::Branch, place, both, trips));
    }
    if a.mask != b.mask {
        let found = sink.put(FindingKind::ActiveMask, place, both, trips);
        decision = decision.or(Some(found));
    }
    let value = eyes.values && !switch && a.value != b.value;
    if value || a.result != b.result || !decides && a.dir != b.dir {
        sink.put(FindingKind::Value, place, both, trips);
    }
    decision
}

/// The hash of no events; not 0, which events of zeros would leave as it is.
const START: u64 = 0x243f_6a88_85a3_08d3;

/// A part of a body: an event, or a loop.
struct Item {
    /// The event's node, or the loop with the highest bit set.
    key: u32,
    hash: u64,
    events: Range<usize>,
    /// Which of the trips that were cut at once.
    trips: Range<usize>,
}

const LOOP: u32 = 1 << 31;

#[derive(Clone)]
struct Part {
    hash: u64,
    start: usize,
    end: usize,
}

struct Compare<'a, 's, 'o> {
    events: [&'a [EventBytes]; 2],
    nodes: &'a Nodes,
    loops: &'a Loops,
    eyes: Eyes,
    /// Loops around, outermost first.
    trips: Vec<Trip>,
    sink: &'s mut Sink<'o>,
}

impl Compare<'_, '_, '_> {
    /// The site that a loop is entered at.
    fn entry(&self, of: u32) -> u32 {
        let header = self.loops.header.get(of as usize);
        header.and_then(|&h| self.nodes.sites.get(h as usize)).copied().unwrap_or(0)
    }

    /// Compares streams without loops, whose events match in these runs.
    fn aligned(&mut self, runs: Vec<Run>) {
        let ends = self.events.map(<[EventBytes]>::len);
        let (mut at_a, mut at_b) = (0, 0);
        // The decision that the last match made otherwise.
        let mut last = None;
        for Run { a, b, len } in runs.into_iter().chain([Run { a: ends[0], b: ends[1], len: 0 }]) {
            if at_a < a || at_b < b {
                self.gap([at_a..a, at_b..b], last, [0, 0]);
                last = None;
            }
            (at_a, at_b) = (a + len, b + len);
            let [of_a, of_b] = [&self.events[0][a..at_a], &self.events[1][b..at_b]];
            for (i, both) in of_a.iter().zip(of_b).enumerate() {
                last = match self.eyes.equal(both.0, both.1) {
                    true => None,
                    false => pair(self.eyes, [a + i, b + i], [both.0, both.1], &self.trips, self.sink),
                };
            }
        }
    }

    /// A body of side `side` as items, and the trips of its loops.
    fn cut(&self, side: usize, around: u32, range: Range<usize>) -> (Vec<Item>, Vec<Part>) {
        let (events, nodes) = (self.events[side], &self.nodes.of[side]);
        // Long bodies come back to the same nodes.
        let tabled = if range.len() / 4 > self.nodes.len() { self.nodes.len() as u32 } else { 0 };
        let table: Vec<u32> = (0..tabled).map(|n| self.loops.inside(n, around)).collect();
        let inside = |node: u32| match table.get(node as usize) {
            Some(&of) => of,
            None => self.loops.inside(node, around),
        };
        let (mut items, mut parts): (Vec<Item>, Vec<Part>) = (Vec::new(), Vec::new());
        let mut i = range.start;
        while i < range.end {
            let node = nodes[i];
            let of = inside(node);
            if of == NONE {
                let hash = self.eyes.mix(START, &events[i]);
                items.push(Item { key: node, hash, events: i..i + 1, trips: 0..0 });
                i += 1;
                continue;
            }
            let (start, first, header) = (i, parts.len(), self.loops.header[of as usize]);
            let mut all = 0u64;
            loop {
                let (from, mut hash) = (i, START);
                loop {
                    hash = self.eyes.mix(hash, &events[i]);
                    i += 1;
                    let on = i < range.end && nodes[i] != header && inside(nodes[i]) == of;
                    if !on {
                        break;
                    }
                }
                all = (all.rotate_left(17) ^ hash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                parts.push(Part { hash, start: from, end: i });
                if i >= range.end || nodes[i] != header {
                    break;
                }
            }
            items.push(Item { key: of | LOOP, hash: all, events: start..i, trips: first..parts.len() });
        }
        (items, parts)
    }

    /// Compares two bodies of the same loop. Gives the decision that the end of both follows from, if one
    /// does.
    fn body(&mut self, around: u32, [ra, rb]: [Range<usize>; 2]) -> Option<FindingNumber> {
        let (ends, ranges) = ([ra.end, rb.end], [ra, rb]);
        let [(a, ta), (b, tb)] =
            both(ranges[0].len() + ranges[1].len(), |side| self.cut(side, around, ranges[side].clone()));
        let equal = |x: &Item, y: &Item| (x.key, x.hash, x.events.len()) == (y.key, y.hash, y.events.len());
        let head = a.iter().zip(&b).take_while(|(x, y)| equal(x, y)).count();
        let most = a.len().min(b.len()) - head;
        let tail = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(x, y)| equal(x, y)).count();
        let [middle_a, middle_b] = [&a[head..a.len() - tail], &b[head..b.len() - tail]];
        let pairs = self.paired(middle_a, middle_b);
        let (mut i, mut j) = (head, head);
        // The decision that the last pair made otherwise.
        let mut last: Option<FindingNumber> = None;
        for (x, y) in
            pairs.into_iter().map(|(x, y)| (head + x, head + y)).chain([(a.len() - tail, b.len() - tail)])
        {
            if i < x || j < y {
                let start =
                    |items: &[Item], k: usize, end: usize| items.get(k).map_or(end, |i| i.events.start);
                let gap = [
                    start(&a, i, ends[0])..start(&a, x, ends[0]),
                    start(&b, j, ends[1])..start(&b, y, ends[1]),
                ];
                self.gap(gap, last, [0, 0]);
                if x < a.len() || y < b.len() {
                    last = None;
                }
            }
            let (Some(p), Some(q)) = (a.get(x), b.get(y)) else { break };
            (i, j) = (x + 1, y + 1);
            if x >= a.len() - tail {
                last = None;
                break;
            }
            last = match () {
                () if equal(p, q) => None,
                () if p.key & LOOP == 0 => {
                    let [s, t] = [p.events.start, q.events.start];
                    let both = [&self.events[0][s], &self.events[1][t]];
                    pair(self.eyes, [s, t], both, &self.trips, self.sink)
                }
                () => {
                    self.trips_of(p.key & !LOOP, [&ta[p.trips.clone()], &tb[q.trips.clone()]]);
                    None
                }
            };
        }
        last
    }

    /// Which items of two bodies belong together.
    fn paired(&self, a: &[Item], b: &[Item]) -> Vec<(usize, usize)> {
        if a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.key == y.key) {
            return (0..a.len()).map(|i| (i, i)).collect();
        }
        // Loops count behind the nodes.
        let nodes = self.nodes.len();
        let key = |i: &Item| if i.key & LOOP == 0 { i.key } else { nodes as u32 + (i.key & !LOOP) };
        let [ka, kb] = [a, b].map(|items| items.iter().map(key).collect::<Vec<u32>>());
        let most = nodes + self.loops.header.len();
        match ka.len() + kb.len() > most / 8 {
            true => same_sites::paired(&ka, &kb, most),
            false => few_paired(&ka, &kb),
        }
    }

    /// Compares a loop's trips.
    fn trips_of(&mut self, of: u32, [a, b]: [&[Part]; 2]) {
        let hashes = [a, b].map(|t| t.iter().map(|p| p.hash).collect::<Vec<u64>>());
        let [ha, hb] = &hashes;
        let leaves = |i: usize, j: usize| self.leaves(&a[i], &b[j]);
        let steps = if a.len() != b.len() && edit_script::edits(ha, hb).is_none() {
            one_cut(&self.shapes(0, a), &self.shapes(1, b))
        } else {
            edit_script::align_trips(ha, hb, leaves)
        };
        let totals = [a.len() as u64, b.len() as u64];
        let site = self.entry(of);
        // The trips after the last pair, and the decision at its end: if one side has no more, that decision
        // left the loop.
        let mut parted: Option<([usize; 2], Option<FindingNumber>)> = None;
        for step in steps {
            let (i, j) = match &step {
                TripStep::Pair(i, j) => (*i, *j),
                TripStep::OnlyA(r, j) => (r.start, *j),
                TripStep::OnlyB(i, r) => (*i, r.start),
            };
            self.trips.push(Trip { site, trip: [i as u64, j as u64], trips: totals });
            match step {
                TripStep::Pair(..) => {
                    let decision = self.body(of, [a[i].start..a[i].end, b[j].start..b[j].end]);
                    parted = Some(([i + 1, j + 1], decision));
                }
                TripStep::OnlyA(r, _) => {
                    let why = parted.filter(|(next, _)| *next == [i, j] && j == b.len()).and_then(|(_, d)| d);
                    let from = b.get(j).or(b.last()).map_or(0, |p| if j < b.len() { p.start } else { p.end });
                    self.gap([a[r.start].start..a[r.end - 1].end, from..from], why, [r.len() as u64, 0]);
                }
                TripStep::OnlyB(_, r) => {
                    let why = parted.filter(|(next, _)| *next == [i, j] && i == a.len()).and_then(|(_, d)| d);
                    let from = a.get(i).or(a.last()).map_or(0, |p| if i < a.len() { p.start } else { p.end });
                    self.gap([from..from, b[r.start].start..b[r.end - 1].end], why, [0, r.len() as u64]);
                }
            }
            self.trips.pop();
        }
    }

    /// By trip: its hash, and that of its sites alone.
    fn shapes(&self, side: usize, trips: &[Part]) -> Vec<[u64; 2]> {
        let shape = |p: &Part| {
            let nodes = &self.nodes.of[side][p.start..p.end];
            nodes
                .iter()
                .fold(0u64, |h, n| (h.rotate_left(23) ^ u64::from(*n)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        };
        trips.iter().map(|p| [p.hash, shape(p)]).collect()
    }

    /// Events that only one side has, or that stand for each other.
    fn gap(&mut self, ranges: [Range<usize>; 2], why: Option<FindingNumber>, trips: [u64; 2]) {
        let visits = [0, 1].map(|s| ranges[s].len() as u64);
        if let Some(found) = why {
            return self.sink.follows(found, visits, trips);
        }
        let lanes =
            [0, 1].map(|s| self.events[s][ranges[s].clone()].iter().fold(0, |m, e| m | event_order::mask(e)));
        let first = [0, 1].map(|s| self.events[s].get(ranges[s].start).filter(|_| !ranges[s].is_empty()));
        let kind =
            if first.iter().all(Option::is_some) { FindingKind::Path } else { FindingKind::ExtraEvents };
        let place = Place {
            at: [0, 1].map(|s| ranges[s].start as u32),
            lanes: Some(lanes[0] | lanes[1]),
            extra_visits: visits,
            extra_trips: trips,
        };
        self.sink.put(kind, place, first, &self.trips);
    }

    /// Whether two trips differ first in the decision to go on.
    fn leaves(&self, a: &Part, b: &Part) -> bool {
        let (x, y) = (&self.events[0][a.start..a.end], &self.events[1][b.start..b.end]);
        let Some(i) = x.iter().zip(y).position(|(x, y)| !self.eyes.equal(x, y)) else { return false };
        let (p, q) = (Event::of(&x[i]), Event::of(&y[i]));
        let decides = p.kind == EventKind::Branch as u8 || p.kind == EventKind::Switch as u8;
        p.site == q.site && p.kind == q.kind && decides && (p.dir != q.dir || p.mask != q.mask)
    }

    /// For streams that go in step: in which trips the findings' first places are.
    fn trips_of_firsts(&mut self) {
        let wanted: Vec<Moment> = self.sink.moments();
        let nodes = &self.nodes.of[0];
        // By depth: the loop that is open and its trip; trips are counted to the loop's end, so places are
        // filled in there.
        let mut open: Vec<(u32, u64, Vec<usize>)> = Vec::new();
        let mut out: Vec<Vec<Trip>> = vec![Vec::new(); wanted.len()];
        let mut next = 0;
        for i in 0..=nodes.len() {
            let mut depth = 0;
            let mut around = NONE;
            while let Some(&n) = nodes.get(i) {
                let of = self.loops.inside(n, around);
                if of == NONE {
                    break;
                }
                match open.get_mut(depth) {
                    Some((l, trip, _)) if *l == of => {
                        if self.loops.header[of as usize] == n {
                            *trip += 1;
                            self.close(&mut open, depth + 1, &mut out);
                        }
                    }
                    _ => {
                        self.close(&mut open, depth, &mut out);
                        open.push((of, 0, Vec::new()));
                    }
                }
                (depth, around) = (depth + 1, of);
            }
            self.close(&mut open, depth, &mut out);
            while let Some(m) = wanted.get(next).filter(|m| m.at[0] as usize <= i) {
                if m.at[0] as usize == i {
                    for (of, trip, places) in &mut open {
                        out[next].push(Trip { site: self.entry(*of), trip: [*trip; 2], trips: [0; 2] });
                        places.push(next);
                    }
                }
                next += 1;
            }
        }
        self.sink.set_trips(&wanted, out);
    }

    fn close(&self, open: &mut Vec<(u32, u64, Vec<usize>)>, depth: usize, out: &mut [Vec<Trip>]) {
        while open.len() > depth {
            let Some((_, last, places)) = open.pop() else { return };
            for p in places {
                if let Some(t) = out[p].get_mut(open.len()) {
                    t.trips = [last + 1; 2];
                }
            }
        }
    }
}

/// The same as [`same_sites::paired`] for elements of any size, where there are few.
fn few_paired(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let mut seen: HashMap<u32, u32, FastHash> = HashMap::default();
    let mut numbered = |keys: &[u32]| -> Vec<u64> {
        seen.clear();
        let number = |k: &u32| {
            let n = seen.entry(*k).or_default();
            *n += 1;
            u64::from(*k) << 32 | u64::from(*n)
        };
        keys.iter().map(number).collect()
    };
    let (ka, kb) = (numbered(a), numbered(b));
    let places: HashMap<u64, usize, FastHash> = kb.iter().enumerate().map(|(j, k)| (*k, j)).collect();
    let common: Vec<(usize, usize)> =
        ka.iter().enumerate().filter_map(|(i, k)| Some((i, *places.get(k)?))).collect();
    same_sites::ascending(&common)
}

/// Trips of loops that differ too much for a smallest edit: those of the longer side are left out in one
/// place, where that makes the most of the others agree, in all or at least in their sites.
fn one_cut(a: &[[u64; 2]], b: &[[u64; 2]]) -> Vec<TripStep> {
    let common = a.len().min(b.len());
    let (skip_a, skip_b) = (a.len() - common, b.len() - common);
    let alike = |x: &[u64; 2], y: &[u64; 2]| i64::from(x[0] == y[0]) + i64::from(x[1] == y[1]);
    let late = |i: usize| alike(&a[i + skip_a], &b[i + skip_b]);
    // How much agrees when all trips before `cut` keep their number and all after it move.
    let mut agree = (0..common).map(late).sum::<i64>();
    let (mut cut, mut best) = (0, agree);
    for i in 0..common {
        agree += alike(&a[i], &b[i]) - late(i);
        if agree > best {
            (cut, best) = (i + 1, agree);
        }
    }
    let mut out: Vec<TripStep> =
        (0..cut).filter(|&i| a[i][0] != b[i][0]).map(|i| TripStep::Pair(i, i)).collect();
    out.push(match skip_a {
        0 => TripStep::OnlyB(cut, cut..cut + skip_b),
        _ => TripStep::OnlyA(cut..cut + skip_a, cut),
    });
    let moved = (cut..common).map(|i| (i + skip_a, i + skip_b)).filter(|&(i, j)| a[i][0] != b[j][0]);
    out.extend(moved.map(|(i, j)| TripStep::Pair(i, j)));
    out
}

#[cfg(test)]
mod tests {
    use super::super::random::random;
    use super::*;

    #[test]
    fn few_items_pair_as_many_do() {
        let mut random = random(3);
        for _ in 0..500 {
            let mut some = || (0..random(30)).map(|_| random(8)).collect::<Vec<u32>>();
            let (a, b) = (some(), some());
            assert_eq!(few_paired(&a, &b), same_sites::paired(&a, &b, 8));
        }
    }

    #[test]
    fn one_cut_is_where_the_rest_agrees() {
        let a: Vec<[u64; 2]> = (0..1000).map(|i| [i, i]).collect();
        let mut b: Vec<[u64; 2]> = a.iter().copied().filter(|x| x[0] != 600).collect();
        b[3][0] = 7777;
        let want = [TripStep::Pair(3, 3), TripStep::OnlyA(600..601, 600)];
        assert_eq!(one_cut(&a, &b), want);
    }
}
