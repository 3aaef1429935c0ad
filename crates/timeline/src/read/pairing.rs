//! Pairs the begins and ends of one track into spans.
//!
//! An end closes the innermost open begin of its region. A span that then crosses another span is marked as
//! asynchronous. A begin without end is cut at the end of the enclosing span, or of the track.
//!
//! # Invariants
//! Spans that are not asynchronous nest, even where times are equal: the order of records decides.

use prlx_trace::{Cycles, Picos};

use crate::model::Span;

/// Numbers of records before the first: of ends whose begins are lost.
const FIRST: u64 = 1 << 32;

/// Builds the spans of one track from its records, which are added in the order of the track.
#[derive(Default)]
pub struct Pairing {
    halves: Vec<Half>,
    /// Indices in `halves` of the spans without an end so far, in the order of their begins.
    open: Vec<usize>,
    records: u64,
    /// End records without a begin, in the order of the track.
    orphans: Vec<Half>,
}

/// A span, and the numbers of its begin and end records. The end's number is `u64::MAX` while the span is
/// open.
struct Half {
    span: Span,
    ends: [u64; 2],
}

/// Counts of records that could not be paired cleanly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairingFaults {
    /// End records without a begin. They are dropped.
    pub orphans: u64,
    /// Begin records without an end. Their spans are cut at the end of the track or of the enclosing region.
    pub open: u64,
    /// Spans that overlap another span without being nested in it.
    pub across: u64,
}

impl PairingFaults {
    /// Adds a note to the timeline for each kind of fault.
    pub fn notes(self, to: &mut crate::model::Timeline) {
        to.note("orphan-end", self.orphans, "ends without a begin were left out");
        to.note(
            "open",
            self.open,
            "begins without an end are cut where their track or the region around them ends",
        );
        to.note(
            "across",
            self.across,
            "spans lie across others, not in them: they are shown as asynchronous work",
        );
    }
}

impl std::ops::AddAssign for PairingFaults {
    fn add_assign(&mut self, other: PairingFaults) {
        self.orphans += other.orphans;
        self.open += other.open;
        self.across += other.across;
    }
}

impl Pairing {
    /// A region begins. `cycles` is the unwrapped clock, 0 where there is none.
    pub fn begin(&mut self, region: u32, at: Picos, cycles: Cycles, payload: [u32; 2]) {
        let span = Span { region, begin: at, end: at, cycles, payload, ..Span::default() };
        self.records += 1;
        self.open.push(self.halves.len());
        self.halves.push(Half { span, ends: [FIRST + self.records, u64::MAX] });
    }

    /// A region ends: the innermost that is open and of which `is` holds.
    pub fn end(&mut self, is: impl Fn(u32) -> bool, otherwise: u32, at: Picos, cycles: Cycles) {
        self.records += 1;
        let Some(place) = self.open.iter().rposition(|i| is(self.halves[*i].span.region)) else {
            let span = Span { region: otherwise, end: at, open: [true, false], ..Span::default() };
            let ends = [FIRST - self.orphans.len() as u64, FIRST + self.records];
            return self.orphans.push(Half { span, ends });
        };
        let half = &mut self.halves[self.open.remove(place)];
        half.span.end = at;
        half.span.cycles = cycles.saturating_sub(half.span.cycles);
        half.ends[1] = FIRST + self.records;
    }

    /// The innermost region ends, and another begins.
    pub fn switch(&mut self, region: u32, at: Picos, cycles: Cycles, payload: [u32; 2]) {
        if !self.open.is_empty() {
            self.end(|_| true, region, at, cycles);
        }
        self.begin(region, at, cycles, payload);
    }

    /// The spans of the track, whose time is `life`. Where its first records are lost, ends without begin are
    /// spans from the first record that is there.
    pub fn finish(mut self, life: [Picos; 2], first_lost: bool) -> (Vec<Span>, PairingFaults) {
        let mut found = PairingFaults { open: self.open.len() as u64, ..PairingFaults::default() };
        let heads = std::mem::take(&mut self.orphans);
        let mut halves: Vec<Half> = Vec::new();
        if first_lost {
            // They were open at the first record that is there; for how long is not known.
            let first = [heads.first().map(|h| h.span.end), self.halves.first().map(|h| h.span.begin)];
            let begin = first.into_iter().flatten().min().unwrap_or(life[0]);
            halves.extend(heads.into_iter().rev());
            halves.iter_mut().for_each(|h| h.span.begin = begin);
        } else {
            found.orphans = heads.len() as u64;
        }
        halves.append(&mut self.halves);
        let mut around: Vec<([u64; 2], Picos)> = Vec::new();
        let mut visits: std::collections::HashMap<u32, u32> = std::collections::HashMap::new();
        let mut last = Picos(0);
        for half in &mut halves {
            // What is recorded later does not begin before.
            last = half.span.begin.max(last);
            (half.span.begin, half.span.end) = (last, half.span.end.max(last));
            while around.last().is_some_and(|(ends, _)| ends[1] < half.ends[0]) {
                around.pop();
            }
            if half.ends[1] == u64::MAX {
                half.span.open[1] = true;
                half.span.cycles = Cycles(0);
                let (ends, at) = around.last().map_or((u64::MAX, life[1]), |(ends, at)| (ends[1], *at));
                (half.ends[1], half.span.end) = (ends, at.max(half.span.begin));
            }
            let visit = visits.entry(half.span.region).or_default();
            half.span.trip = *visit;
            *visit += 1;
            if around.last().is_some_and(|(ends, _)| ends[1] < half.ends[1]) {
                half.span.asynchronous = true;
                found.across += 1;
                continue;
            }
            half.span.depth = around.len() as u32;
            around.push((half.ends, half.span.end));
        }
        (halves.into_iter().map(|h| h.span).collect(), found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Shown = (u32, u64, u64, u32, bool, [bool; 2]);

    fn shown(spans: &[Span]) -> Vec<Shown> {
        spans.iter().map(|s| (s.region, s.begin.0, s.end.0, s.depth, s.asynchronous, s.open)).collect()
    }

    #[test]
    fn spans_of_one_moment_lie_as_they_were_recorded() {
        let mut p = Pairing::default();
        p.begin(0, Picos(10), Cycles(0), [0; 2]);
        p.end(|r| r == 0, 0, Picos(10), Cycles(0));
        p.begin(1, Picos(10), Cycles(0), [0; 2]);
        p.begin(2, Picos(10), Cycles(0), [0; 2]);
        p.end(|r| r == 2, 2, Picos(10), Cycles(0));
        p.end(|r| r == 1, 1, Picos(10), Cycles(0));
        let (spans, found) = p.finish([Picos(0), Picos(20)], false);
        let no = [false; 2];
        assert_eq!(
            shown(&spans),
            [(0, 10, 10, 0, false, no), (1, 10, 10, 0, false, no), (2, 10, 10, 1, false, no)]
        );
        assert_eq!(found, PairingFaults::default());
    }

    #[test]
    fn what_lies_across_is_asynchronous_and_what_is_open_is_cut() {
        let mut p = Pairing::default();
        p.end(|r| r == 5, 5, Picos(1), Cycles(0));
        p.begin(0, Picos(10), Cycles(0), [0; 2]);
        p.begin(1, Picos(20), Cycles(0), [0; 2]);
        p.end(|r| r == 0, 0, Picos(30), Cycles(0));
        p.end(|r| r == 1, 1, Picos(40), Cycles(0));
        p.begin(2, Picos(50), Cycles(0), [0; 2]);
        p.begin(3, Picos(51), Cycles(0), [0; 2]);
        p.begin(3, Picos(52), Cycles(0), [0; 2]);
        p.end(|r| r == 2, 2, Picos(60), Cycles(0));
        p.begin(0, Picos(70), Cycles(0), [0; 2]);
        let (spans, found) = p.finish([Picos(0), Picos(99)], false);
        let no = [false; 2];
        let expected: Vec<Shown> = vec![
            (0, 10, 30, 0, false, no),
            (1, 20, 40, 0, true, no),
            (2, 50, 60, 0, false, no),
            (3, 51, 60, 1, false, [false, true]),
            (3, 52, 60, 2, false, [false, true]),
            (0, 70, 99, 0, false, [false, true]),
        ];
        assert_eq!(shown(&spans), expected);
        assert_eq!(found, PairingFaults { orphans: 1, open: 3, across: 1 });
        assert_eq!(spans.iter().map(|s| s.trip).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1]);
    }

    #[test]
    fn where_the_first_records_are_lost_the_last_end_is_the_outermost() {
        let mut p = Pairing::default();
        p.end(|r| r == 1, 1, Picos(12), Cycles(0));
        p.end(|r| r == 0, 0, Picos(15), Cycles(0));
        p.switch(2, Picos(16), Cycles(0), [0; 2]);
        p.switch(3, Picos(18), Cycles(0), [0; 2]);
        let (spans, found) = p.finish([Picos(10), Picos(20)], true);
        let head = [true, false];
        let expected: Vec<Shown> = vec![
            (0, 12, 15, 0, false, head),
            (1, 12, 12, 1, false, head),
            (2, 16, 18, 0, false, [false; 2]),
            (3, 18, 20, 0, false, [false, true]),
        ];
        assert_eq!(shown(&spans), expected);
        assert_eq!(found, PairingFaults { orphans: 0, open: 1, across: 0 });
    }
}
