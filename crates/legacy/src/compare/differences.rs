//! Differences of one warp: those of the same kind at the same sites are counted together.
//!
//! # Invariants
//! Memory is bounded by [`KINDS`] and the number of listed differences.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use crate::v1::{Event, EventBytes, EventKind};

use prlx_analyze::report::FindingKind;

use super::event_order::{self, Stream};
use super::fast_hash::FastHash;
use super::nodes::Nodes;
use super::options::Options;
use super::parallel::both;

/// Maximum number of findings of one warp.
const KINDS: usize = 1024;

/// A number that [`Sink::put`] gives to a finding; [`FindingNumber::default`] is one that is not kept.
#[derive(Clone, Copy)]
pub(super) struct FindingNumber(usize);

/// What makes two differences one finding: their kind and their sites.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct FindingKey {
    pub kind: FindingKind,
    /// Per side, A first.
    pub sites: [Option<u32>; 2],
}

impl Hash for FindingKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b] = self.sites.map(|s| u64::from(s.unwrap_or(0)));
        state.write_u64(a << 32 | b);
        let has = self.sites.map(|s| s.is_some() as u64);
        state.write_u64(self.kind as u64 | has[0] << 8 | has[1] << 9);
    }
}

impl Options {
    /// Whether the filters let a finding through.
    pub(super) fn takes(&self, key: &FindingKey) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&key.kind))
            && (self.sites.is_empty() || key.sites.iter().flatten().any(|s| self.sites.contains(s)))
    }
}

/// A key as two numbers, which are quick to compare.
type Word = (u64, u32);

impl FindingKey {
    #[inline]
    fn word(self) -> Word {
        let [a, b] = self.sites;
        let has = u32::from(a.is_some()) << 8 | u32::from(b.is_some()) << 9;
        (u64::from(a.unwrap_or(0)) << 32 | u64::from(b.unwrap_or(0)), self.kind as u32 | has)
    }
}

/// A word that no key has: empty slots of the cache hold it.
const NO_KEY: Word = (0, u32::MAX);
/// Number of slots of the cache of recent keys.
const NEAR: usize = 256;

/// Slot of a key in the cache.
#[inline]
fn near((sites, rest): Word) -> usize {
    ((sites ^ u64::from(rest)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Where a difference is, and how large.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// By side: index of the event, or the index at which it is missing.
    pub at: [u32; 2],
    /// Its lanes, where they are not those of the two events.
    pub lanes: Option<u32>,
    pub extra_visits: [u64; 2],
    pub extra_trips: [u64; 2],
}

/// Iteration of one loop around a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    pub site: u32,
    pub trip: [u64; 2],
    pub trips: [u64; 2],
}

/// The first difference of a finding.
#[derive(Clone, Debug)]
pub(super) struct First {
    pub place: Place,
    /// The difference's own lanes.
    pub lanes: u32,
    pub events: [Option<Event>; 2],
    pub trips: Vec<Trip>,
    /// By side: visits of the site before it, and after it ([`u32::MAX`]: not known).
    pub visits: [Option<(u32, u32)>; 2],
}

/// All differences of one warp with the same key.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub first: First,
    pub count: u64,
    pub ways: [u64; 2],
    pub follows: [u64; 2],
    pub lanes: u32,
    pub roots: u32,
}

/// One difference, as `prlx-diff` lists it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Divergence {
    /// Warp of the grid.
    pub warp: u32,
    /// The event's number, by side; where it would be on a side that does not have it.
    pub at: [u32; 2],
    /// Kind of the difference.
    pub kind: FindingKind,
    /// The events; for extra events and other paths the first of them.
    pub events: [Option<Event>; 2],
    /// By side: number of events that the other side does not have.
    pub extra: [u64; 2],
}

/// Only lanes that had parted before have it; event of the first difference.
pub(super) type Rank = (bool, u32);

/// What the warps before have recorded of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownFinding {
    /// That of the representative; what comes before it takes its place.
    pub rank: Rank,
    /// Its list of warps is full.
    pub full: bool,
}

/// Collects the differences of one warp, grouped by key, and counts them by kind.
pub(super) struct Sink<'a> {
    options: &'a Options,
    warp: u32,
    known: &'a HashMap<FindingKey, KnownFinding, FastHash>,
    ids: HashMap<FindingKey, u32, FastHash>,
    /// Keys met last, each at a place that its sites give, and their number ([`u32::MAX`]: not kept).
    near: Vec<(Word, u32)>,
    pub found: Vec<(FindingKey, Finding)>,
    /// Lanes that have already taken different paths.
    parted: u32,
    /// Differences in all, by kind.
    pub kinds: [u64; 5],
    /// Differences that a filter left out.
    pub filtered: u64,
    pub listed: Vec<Divergence>,
    room: usize,
    /// By side: the last events were lost, so nobody knows how many came after one.
    lossy: [bool; 2],
    /// Places are not those of recording yet.
    moved: bool,
}

/// Where a finding's first difference is, on both sides.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub found: usize,
    pub at: [u32; 2],
}

impl<'a> Sink<'a> {
    /// A collector that lists at most `room` single differences.
    pub fn new(
        options: &'a Options,
        warp: u32,
        known: &'a HashMap<FindingKey, KnownFinding, FastHash>,
        room: usize,
        lossy: [bool; 2],
        moved: bool,
    ) -> Sink<'a> {
        let found = Vec::new();
        let ids = HashMap::default();
        Sink {
            options,
            warp,
            known,
            ids,
            near: vec![(NO_KEY, u32::MAX); NEAR],
            moved,
            found,
            parted: 0,
            kinds: [0; 5],
            filtered: 0,
            listed: Vec::new(),
            room,
            lossy,
        }
    }

    /// Adds a difference.
    #[inline]
    pub fn put(
        &mut self,
        kind: FindingKind,
        place: Place,
        events: [Option<&EventBytes>; 2],
        trips: &[Trip],
    ) -> FindingNumber {
        let key = FindingKey {
            kind,
            sites: events.map(|e| e.map(|e| u32::from_le_bytes([e[0], e[1], e[2], e[3]]))),
        };
        if !self.options.takes(&key) {
            self.filtered += 1;
            return FindingNumber(usize::MAX);
        }
        let masks = events.map(|e| e.map_or(0, event_order::mask));
        let lanes = place.lanes.unwrap_or(if kind == FindingKind::ActiveMask {
            masks[0] ^ masks[1]
        } else {
            masks[0] | masks[1]
        });
        let roots = lanes & !self.parted;
        self.parted |= lanes;
        self.kinds[kind as usize] += 1;
        if self.listed.len() < self.room {
            let events = events.map(|e| e.map(Event::of));
            self.listed.push(Divergence {
                warp: self.warp,
                at: place.at,
                kind,
                events,
                extra: place.extra_visits,
            });
        }
        let ways = match (kind, events) {
            (FindingKind::Branch, [Some(a), Some(b)]) => [u64::from(a[5] > b[5]), u64::from(b[5] > a[5])],
            _ => [0; 2],
        };
        let word = key.word();
        let at = near(word);
        let (known, mut id) = self.near[at];
        if known != word {
            id = self.number(key, place, lanes, events, trips);
            self.near[at] = (word, id);
        }
        self.again(id, lanes, roots, ways)
    }

    #[inline]
    fn again(&mut self, id: u32, lanes: u32, roots: u32, ways: [u64; 2]) -> FindingNumber {
        let Some((_, f)) = self.found.get_mut(id as usize) else { return FindingNumber(usize::MAX) };
        f.count += 1;
        f.lanes |= lanes;
        f.roots |= roots;
        f.ways = [f.ways[0] + ways[0], f.ways[1] + ways[1]];
        FindingNumber(id as usize)
    }

    /// Adds one more branch that goes the other way and is otherwise the same: what [`Sink::put`] does, for
    /// those that are many. `false`: it was not added, as it is no such branch, or not one more.
    #[inline]
    pub fn flip(&mut self, a: &EventBytes, b: &EventBytes) -> bool {
        let other = u64::from_le_bytes([
            a[0] ^ b[0],
            a[1] ^ b[1],
            a[2] ^ b[2],
            a[3] ^ b[3],
            a[4] ^ b[4],
            0,
            a[6] ^ b[6],
            a[7] ^ b[7],
        ]);
        let mask = event_order::mask(a);
        if a[4] != EventKind::Branch as u8
            || other != 0
            || mask != event_order::mask(b)
            || self.listed.len() < self.room
        {
            return false;
        }
        let site = Some(u32::from_le_bytes([a[0], a[1], a[2], a[3]]));
        let word = FindingKey { kind: FindingKind::Branch, sites: [site; 2] }.word();
        let (known, id) = self.near[near(word)];
        if known != word {
            return false;
        }
        self.kinds[FindingKind::Branch as usize] += 1;
        let roots = mask & !self.parted;
        self.parted |= mask;
        self.again(id, mask, roots, [u64::from(a[5] > b[5]), u64::from(b[5] > a[5])]);
        true
    }

    /// A key's number; this is its first difference if it has none. [`u32::MAX`]: there is no room for it.
    #[cold]
    fn number(
        &mut self,
        key: FindingKey,
        place: Place,
        lanes: u32,
        events: [Option<&EventBytes>; 2],
        trips: &[Trip],
    ) -> u32 {
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        if self.found.len() == KINDS {
            return u32::MAX;
        }
        let id = self.found.len() as u32;
        self.ids.insert(key, id);
        let events = events.map(|e| e.map(Event::of));
        let first = First { place, lanes, events, trips: trips.to_vec(), visits: [None; 2] };
        self.found
            .push((key, Finding { first, count: 0, ways: [0; 2], follows: [0; 2], lanes: 0, roots: 0 }));
        id
    }

    /// Adds events that only one side has because of a finding.
    pub fn follows(&mut self, found: FindingNumber, visits: [u64; 2], trips: [u64; 2]) {
        let Some((_, f)) = self.found.get_mut(found.0) else { return };
        for side in 0..2 {
            f.follows[side] += visits[side];
            if f.count == 1 {
                f.first.place.extra_trips[side] += trips[side];
            }
        }
    }

    /// Whether anybody will ask when and in which trip a finding first was.
    pub fn wants_places(&self) -> bool {
        self.found.iter().any(|(k, f)| self.wanted(k, f))
    }

    fn wanted(&self, key: &FindingKey, f: &Finding) -> bool {
        let rank = (f.roots == 0, f.first.place.at[0]);
        self.known.get(key).is_none_or(|k| !k.full || self.moved || rank < k.rank)
    }

    /// The first differences that will be asked for, in order of side A's events.
    pub fn moments(&self) -> Vec<Moment> {
        let all = self.found.iter().enumerate().filter(|(_, (k, f))| self.wanted(k, f));
        let mut out: Vec<Moment> =
            all.map(|(found, (_, f))| Moment { found, at: f.first.place.at }).collect();
        out.sort_by_key(|m| (m.at, m.found));
        out
    }

    pub fn set_trips(&mut self, moments: &[Moment], trips: Vec<Vec<Trip>>) {
        for (m, t) in moments.iter().zip(trips) {
            self.found[m.found].1.first.trips = t;
        }
    }

    /// Counts the visits before and after each first difference.
    pub fn places(&mut self, nodes: &Nodes) {
        let moments = self.moments();
        if moments.is_empty() {
            return;
        }
        if nodes.straight_line {
            let visits = self.lossy.map(|lossy| (0, if lossy { u32::MAX } else { 0 }));
            for m in moments {
                let first = &mut self.found[m.found].1.first;
                first.visits = [0, 1].map(|s| first.events[s].map(|_| visits[s]));
            }
            return;
        }
        let of = |side: usize| {
            let has = |m: &&Moment| self.found[m.found].1.first.events[side].is_some();
            let mut wanted: Vec<Moment> = moments.iter().filter(has).copied().collect();
            wanted.sort_by_key(|m| m.at[side]);
            let mut seen = vec![0u32; nodes.len()];
            let of = &nodes.of[side];
            let mut before = Vec::with_capacity(wanted.len());
            let mut counted = 0;
            for m in wanted {
                let at = m.at[side] as usize;
                let Some(&node) = of.get(at) else { continue };
                of[counted..at].iter().for_each(|&n| seen[n as usize] += 1);
                counted = at;
                before.push((m.found, node, seen[node as usize]));
            }
            of[counted..].iter().for_each(|&n| seen[n as usize] += 1);
            let after =
                |node: u32, n: u32| if self.lossy[side] { u32::MAX } else { seen[node as usize] - n - 1 };
            before.into_iter().map(|(found, node, n)| (found, (n, after(node, n)))).collect::<Vec<_>>()
        };
        for (side, all) in both(nodes.of[0].len() + nodes.of[1].len(), of).into_iter().enumerate() {
            all.into_iter().for_each(|(found, visits)| self.found[found].1.first.visits[side] = Some(visits));
        }
    }

    /// Places as they were recorded, whatever the order of comparing.
    pub fn recorded(&mut self, streams: [&Stream<'_>; 2]) {
        let at = |at: [u32; 2]| [0, 1].map(|s| streams[s].recorded(at[s] as usize));
        self.found.iter_mut().for_each(|(_, f)| f.first.place.at = at(f.first.place.at));
        self.listed.iter_mut().for_each(|d| d.at = at(d.at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink<'a>(options: &'a Options, known: &'a HashMap<FindingKey, KnownFinding, FastHash>) -> Sink<'a> {
        Sink::new(options, 0, known, 0, [false; 2], false)
    }

    /// Flips are counted as by [`Sink::put`], in any order among other differences, and more sites than are
    /// near.
    #[test]
    fn a_flip_counts_as_any_difference() {
        let (options, known) = (Options::default(), HashMap::default());
        let (mut quick, mut slow) = (sink(&options, &known), sink(&options, &known));
        let mut flips = 0;
        for i in 0..20_000u32 {
            let site = i.wrapping_mul(i) % 900;
            let event = |dir| Event { site, dir, mask: 1 << (i % 7) | 4, ..Event::default() };
            let (a, b) = (event((i % 2) as u8), event((i % 2) as u8 ^ 1));
            let b = Event { result: u16::from(i % 11 == 0), mask: a.mask | u32::from(i % 13 == 0) << 9, ..b };
            let (a, b) = (a.bytes(), b.bytes());
            let place = Place { at: [i; 2], ..Place::default() };
            let both = [Some(&a), Some(&b)];
            if quick.flip(&a, &b) {
                flips += 1;
            } else {
                quick.put(FindingKind::Branch, place, both, &[]);
            }
            slow.put(FindingKind::Branch, place, both, &[]);
        }
        assert!(flips > 1000, "{flips}");
        assert_eq!((quick.kinds, quick.parted), (slow.kinds, slow.parted));
        assert_eq!(format!("{:?}", quick.found), format!("{:?}", slow.found));
    }

    #[test]
    fn what_is_no_flip_is_left() {
        let (options, known) = (Options::default(), HashMap::default());
        let mut sink = sink(&options, &known);
        let event = Event { site: 1, mask: 3, ..Event::default() };
        let other = Event { dir: 1, ..event };
        assert!(!sink.flip(&event.bytes(), &other.bytes()), "the first has a place");
        sink.put(FindingKind::Branch, Place::default(), [Some(&event.bytes()), Some(&other.bytes())], &[]);
        assert!(sink.flip(&event.bytes(), &other.bytes()));
        for b in [
            Event { mask: 1, ..other },
            Event { result: 1, ..other },
            Event { site: 2, ..other },
            Event { kind: EventKind::Switch as u8, ..other },
        ] {
            assert!(!sink.flip(&event.bytes(), &b.bytes()), "{b:?}");
        }
        let switch = |dir| Event { kind: EventKind::Switch as u8, dir, ..event }.bytes();
        assert!(!sink.flip(&switch(0), &switch(1)));
        assert_eq!(sink.kinds[FindingKind::Branch as usize], 2);
    }
}
