//! A canonical order for the events of a warp, independent of the order in which its fragments ran.
//!
//! When the lanes of a warp diverge, the fragments run one after another in an arbitrary order. Two events
//! whose masks share no lane commute; events that share a lane do not.
//!
//! # Invariants
//! Two streams that differ only by such exchanges get the same order: of all events whose lanes have
//! completed their earlier events, the one with the lowest lane comes first.

use std::borrow::Cow;

use crate::v1::EventBytes;

use super::parallel::both;

/// The events of a warp in the order described above, and their original positions.
pub(super) struct Stream<'a> {
    pub events: Cow<'a, [EventBytes]>,
    /// Original index of each event; `None` if the order did not change.
    at: Option<Vec<u32>>,
    /// Every event has all lanes.
    full: bool,
    /// Sum of the masks as numbers. It differs if a lane has other numbers of events.
    masks: u64,
}

impl<'a> Stream<'a> {
    pub fn new(events: Cow<'a, [EventBytes]>) -> Stream<'a> {
        let of = |(all, sum), e| (all & mask(e), u64::wrapping_add(sum, mask(e).into()));
        let (all, masks) = events.iter().fold((u32::MAX, 0), of);
        let full = all == u32::MAX;
        if full || events.windows(2).all(|w| mask(&w[0]) & mask(&w[1]) != 0) {
            return Stream { events, at: None, full, masks };
        }
        let at = ordered(&events);
        let events = Cow::Owned(at.iter().map(|&i| events[i as usize]).collect());
        Stream { events, at: Some(at), full, masks }
    }
    /// Whether events are not where they were recorded.
    pub fn moved(&self) -> bool {
        self.at.is_some()
    }
    /// Where event `i` was recorded.
    pub fn recorded(&self, i: usize) -> u32 {
        self.at.as_ref().map_or(i as u32, |at| at.get(i).copied().unwrap_or(at.len() as u32))
    }
}

/// An event's lanes. One without lanes stays where it is: it counts as of all.
#[inline]
pub(super) fn mask(e: &EventBytes) -> u32 {
    match u32::from_le_bytes([e[8], e[9], e[10], e[11]]) {
        0 => u32::MAX,
        m => m,
    }
}

/// Maximum number of events that an event passes, on average. Beyond it, the order is found by lists.
const MAX_PASSED: usize = 4;

/// The events' numbers in the one order.
fn ordered(events: &[EventBytes]) -> Vec<u32> {
    by_insertion(events).unwrap_or_else(|| by_lists(events))
}

/// Inserts one event after another into the order of those before it. An event passes the last events that it
/// shares no lane with, up to the first of those with a higher lowest lane. `None` if events pass too many.
fn by_insertion(events: &[EventBytes]) -> Option<Vec<u32>> {
    let mut passes = MAX_PASSED * events.len();
    let mut masks: Vec<u32> = Vec::with_capacity(events.len());
    let mut out: Vec<u32> = Vec::with_capacity(events.len());
    for (i, e) in events.iter().enumerate() {
        let m = mask(e);
        let low = m.trailing_zeros();
        let mut place = i;
        for (n, other) in masks.iter().enumerate().rev().take_while(|(_, other)| **other & m == 0) {
            passes = passes.checked_sub(1)?;
            if other.trailing_zeros() > low {
                place = n;
            }
        }
        masks.push(m);
        out.push(i as u32);
        if place < i {
            masks[place..].rotate_right(1);
            out[place..].rotate_right(1);
        }
    }
    Some(out)
}

/// The same order, by lists of the events that wait for another. The time does not depend on the distance
/// that events move.
fn by_lists(events: &[EventBytes]) -> Vec<u32> {
    // By lane, its last event so far, counted from 1; by event, how many it waits for, a list of those that
    // wait for it, and the last of those, counted from 1.
    let mut last = [0u32; 32];
    let mut waits = vec![0u8; events.len()];
    let mut first = vec![u32::MAX; events.len()];
    let mut waiting = vec![0u32; events.len()];
    let mut lists: Vec<(u32, u32)> = Vec::new();
    for (i, e) in events.iter().enumerate() {
        let now = i as u32 + 1;
        let mut rest = mask(e);
        while rest != 0 {
            let before = std::mem::replace(&mut last[rest.trailing_zeros() as usize], now);
            rest &= rest - 1;
            let Some(p) = before.checked_sub(1).map(|p| p as usize).filter(|&p| waiting[p] != now) else {
                continue;
            };
            // All lanes that were last in the same event count once.
            waiting[p] = now;
            waits[i] += 1;
            lists.push((i as u32, first[p]));
            first[p] = lists.len() as u32 - 1;
        }
    }
    // Events that can come next share no lane, so each has a lowest lane of its own.
    let (mut ready, mut lanes) = ([0u32; 32], 0u32);
    let put = |i: u32, ready: &mut [u32; 32], lanes: &mut u32| {
        let lane = mask(&events[i as usize]).trailing_zeros();
        ready[lane as usize] = i;
        *lanes |= 1 << lane;
    };
    for i in (0..events.len()).filter(|&i| waits[i] == 0) {
        put(i as u32, &mut ready, &mut lanes);
    }
    let mut out = Vec::with_capacity(events.len());
    while lanes != 0 {
        let lane = lanes.trailing_zeros();
        lanes &= lanes - 1;
        let i = ready[lane as usize];
        out.push(i);
        let mut at = first[i as usize];
        while let Some(&(next, rest)) = lists.get(at as usize) {
            waits[next as usize] -= 1;
            if waits[next as usize] == 0 {
                put(next, &mut ready, &mut lanes);
            }
            at = rest;
        }
    }
    out
}

/// Whether every lane does the same on both sides, and only its company differs.
pub(super) fn same_but_for_company(
    [a, b]: [&Stream<'_>; 2],
    word: impl Fn(&EventBytes) -> u64 + Sync,
) -> bool {
    // Lanes that do the same visit as often, and visit the same.
    let visits = |stream: &Stream<'_>| {
        let of = |e: &EventBytes| word(e).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
        let sum = |sum: u64, e| of(e).wrapping_mul(mask(e).count_ones().into()).wrapping_add(sum);
        stream.events.iter().fold(0, sum)
    };
    if a.full && b.full || a.masks != b.masks || visits(a) != visits(b) {
        return false;
    }
    let sides = [a, b];
    let hash = |side: usize| {
        let mut lanes = [(0u64, 0u64); 32];
        for e in sides[side].events.iter() {
            let (x, m) = (word(e), mask(e));
            for (lane, (h, n)) in lanes.iter_mut().enumerate() {
                if m >> lane & 1 == 1 {
                    *h = (h.rotate_left(23) ^ x).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    *n += 1;
                }
            }
        }
        lanes
    };
    let [a, b] = both(a.events.len() + b.events.len(), hash);
    a == b
}

#[cfg(test)]
mod tests {
    use super::super::random::random;
    use super::*;
    use crate::v1::Event;

    fn event(site: u32, mask: u32) -> EventBytes {
        Event { site, mask, ..Event::default() }.bytes()
    }

    #[test]
    fn fragments_have_one_order() {
        let (lo, hi, all) = (0xffff, 0xffff_0000, u32::MAX);
        let one = [event(0, all), event(1, lo), event(2, lo), event(3, hi), event(4, hi), event(5, all)];
        let other = [event(0, all), event(3, hi), event(1, lo), event(4, hi), event(2, lo), event(5, all)];
        let [a, b] = [&one, &other].map(|e| Stream::new(Cow::Borrowed(&e[..])));
        assert_eq!(a.events, b.events);
        assert_eq!((0..6).map(|i| b.recorded(i)).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
        // What shares a lane stays in its order.
        let c = [event(2, 3), event(1, 1), event(3, 2)];
        assert_eq!(Stream::new(Cow::Borrowed(&c[..])).events[..], c);
    }

    /// Any streams that come from each other by changing places of neighbours that share no lane get the same
    /// order.
    #[test]
    fn any_legal_order_gives_the_same() {
        let mut random = random(7);
        for _ in 0..500 {
            let n = 2 + random(20) as usize;
            let a: Vec<_> = (0..n).map(|i| event(i as u32, 1 << random(4) | 1 << random(4))).collect();
            let mut b = a.clone();
            for _ in 0..200 {
                let i = random(n as u32 - 1) as usize;
                if mask(&b[i]) & mask(&b[i + 1]) == 0 {
                    b.swap(i, i + 1);
                }
            }
            assert_eq!(Stream::new(Cow::Borrowed(&a)).events, Stream::new(Cow::Borrowed(&b)).events);
            assert_eq!(by_lists(&a), by_insertion(&a).unwrap_or_else(|| by_lists(&a)));
        }
    }

    #[test]
    fn company_alone() {
        let word = |e: &EventBytes| u64::from(e[0]);
        let whole = [event(1, 3), event(2, 3)];
        let split = [event(1, 1), event(2, 1), event(1, 2), event(2, 2)];
        let same = |a: &[EventBytes], b: &[EventBytes]| {
            let [a, b] = [a, b].map(|events| Stream::new(Cow::Borrowed(events)));
            same_but_for_company([&a, &b], word)
        };
        assert!(same(&whole, &split));
        assert!(!same(&whole, &split[..3]));
    }
}
