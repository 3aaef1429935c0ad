//! What was found in one warp: differences of the same kind at the same sites are one, with counts.
//!
//! Holds: memory is bounded by [`KINDS`] and the room for single differences, however many there are.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use prlx_trace::v1::{Event, EventBytes};

use crate::report::Kind;

use super::Options;
use super::fast::Fast;
use super::loops::Loops;
use super::order::{self, Stream};

/// Findings of one warp that are told apart.
const KINDS: usize = 1024;

/// A number that [`Sink::put`] gives to a finding; [`Found::default`] is one that is not kept.
#[derive(Clone, Copy)]
pub(super) struct Found(usize);

/// What findings are put together by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub kind: Kind,
    /// By side.
    pub sites: [Option<u32>; 2],
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b] = self.sites.map(|s| u64::from(s.unwrap_or(0)));
        state.write_u64(a << 32 | b);
        let has = self.sites.map(|s| s.is_some() as u64);
        state.write_u64(self.kind as u64 | has[0] << 8 | has[1] << 9);
    }
}

/// Where a difference is, and how large.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// By side: the event, or where it would be.
    pub at: [u32; 2],
    /// Its lanes, where they are not those of the two events.
    pub lanes: Option<u32>,
    pub extra_visits: [u64; 2],
    pub extra_trips: [u64; 2],
}

/// A loop around a difference.
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

/// A finding of one warp.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub first: First,
    pub count: u64,
    pub ways: [u64; 2],
    pub follows: [u64; 2],
    pub lanes: u32,
    pub roots: u32,
}

/// One difference, as the lists of PRLX have it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Divergence {
    /// Warp of the grid.
    pub warp: u32,
    /// The event's number, by side; where it would be on a side that does not have it.
    pub at: [u32; 2],
    /// Its kind.
    pub kind: Kind,
    /// The events; for extra events and other paths the first of them.
    pub events: [Option<Event>; 2],
    /// Events that only each side has.
    pub extra: [u64; 2],
}

/// What all warps before knew of a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// The earliest place of the earliest warp.
    pub position: u32,
    /// No warp's details are wanted any more.
    pub full: bool,
}

/// Collects one warp's differences.
pub(super) struct Sink<'a> {
    options: &'a Options,
    warp: u32,
    known: &'a HashMap<Key, Known, Fast>,
    ids: HashMap<Key, usize, Fast>,
    pub found: Vec<(Key, Finding)>,
    /// Lanes that have parted.
    parted: u32,
    /// Differences in all, by kind.
    pub kinds: [u64; 5],
    /// Differences that a filter left out.
    pub filtered: u64,
    pub listed: Vec<Divergence>,
    room: usize,
    /// By side: the last events were lost, so nobody knows how many came after one.
    lossy: [bool; 2],
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
        known: &'a HashMap<Key, Known, Fast>,
        room: usize,
        lossy: [bool; 2],
    ) -> Sink<'a> {
        let found = Vec::new();
        let ids = HashMap::default();
        Sink {
            options,
            warp,
            known,
            ids,
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
    pub fn put(&mut self, kind: Kind, place: Place, events: [Option<&EventBytes>; 2], trips: &[Trip]) -> Found {
        let key = Key { kind, sites: events.map(|e| e.map(|e| u32::from_le_bytes([e[0], e[1], e[2], e[3]]))) };
        if !self.options.takes(&key) {
            self.filtered += 1;
            return Found(usize::MAX);
        }
        let masks = events.map(|e| e.map_or(0, order::mask));
        let lanes =
            place.lanes.unwrap_or(if kind == Kind::ActiveMask { masks[0] ^ masks[1] } else { masks[0] | masks[1] });
        let roots = lanes & !self.parted;
        self.parted |= lanes;
        self.kinds[kind as usize] += 1;
        if self.listed.len() < self.room {
            let events = events.map(|e| e.map(Event::of));
            self.listed.push(Divergence { warp: self.warp, at: place.at, kind, events, extra: place.extra_visits });
        }
        let ways = match (kind, events) {
            (Kind::Branch, [Some(a), Some(b)]) => [u64::from(a[5] > b[5]), u64::from(b[5] > a[5])],
            _ => [0; 2],
        };
        let id = match self.ids.get(&key) {
            Some(&id) => id,
            None if self.found.len() < KINDS => {
                let id = self.found.len();
                self.ids.insert(key, id);
                let first = First {
                    place,
                    lanes,
                    events: events.map(|e| e.map(Event::of)),
                    trips: trips.to_vec(),
                    visits: [None; 2],
                };
                let finding = Finding { first, count: 0, ways: [0; 2], follows: [0; 2], lanes: 0, roots: 0 };
                self.found.push((key, finding));
                id
            }
            None => return Found(usize::MAX),
        };
        let f = &mut self.found[id].1;
        f.count += 1;
        f.lanes |= lanes;
        f.roots |= roots;
        f.ways = [f.ways[0] + ways[0], f.ways[1] + ways[1]];
        Found(id)
    }

    /// Adds events that only one side has because of a finding.
    pub fn follows(&mut self, found: Found, visits: [u64; 2], trips: [u64; 2]) {
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

    fn wanted(&self, key: &Key, f: &Finding) -> bool {
        self.known.get(key).is_none_or(|k| !k.full || f.first.place.at[0] < k.position)
    }

    /// The first differences that will be asked for, in order of side A's events.
    pub fn moments(&self) -> Vec<Moment> {
        let all = self.found.iter().enumerate().filter(|(_, (k, f))| self.wanted(k, f));
        let mut out: Vec<Moment> = all.map(|(found, (_, f))| Moment { found, at: f.first.place.at }).collect();
        out.sort_by_key(|m| (m.at, m.found));
        out
    }

    pub fn set_trips(&mut self, moments: &[Moment], trips: Vec<Vec<Trip>>) {
        for (m, t) in moments.iter().zip(trips) {
            self.found[m.found].1.first.trips = t;
        }
    }

    /// Counts the visits before and after each first difference.
    pub fn places(&mut self, events: [&[EventBytes]; 2], loops: &Loops) {
        let moments = self.moments();
        for (side, events) in events.into_iter().enumerate() {
            let mut wanted: Vec<Moment> =
                moments.iter().copied().filter(|m| self.found[m.found].1.first.events[side].is_some()).collect();
            wanted.sort_by_key(|m| m.at[side]);
            let mut seen = vec![0u32; loops.len()];
            let mut next = wanted.iter().peekable();
            let mut before = Vec::with_capacity(wanted.len());
            for (i, &node) in loops.nodes[side].iter().enumerate().take(events.len()) {
                while next.next_if(|m| m.at[side] as usize == i).is_some() {
                    before.push((node, seen[node as usize]));
                }
                seen[node as usize] += 1;
            }
            for (m, (node, n)) in wanted.iter().zip(before) {
                let after = if self.lossy[side] { u32::MAX } else { seen[node as usize] - n - 1 };
                self.found[m.found].1.first.visits[side] = Some((n, after));
            }
        }
    }

    /// Places as they were recorded, whatever the order of comparing.
    pub fn recorded(&mut self, streams: [&Stream<'_>; 2]) {
        let at = |at: [u32; 2]| [0, 1].map(|s| streams[s].recorded(at[s] as usize));
        self.found.iter_mut().for_each(|(_, f)| f.first.place.at = at(f.first.place.at));
        self.listed.iter_mut().for_each(|d| d.at = at(d.at));
    }
}
