//! Reads regions of [`Form::Spans`](super::Form::Spans): expands each entry into the records that
//! it stands for.
//!
//! # Invariants
//! Records come in the order of their clocks. A region of no length begins before it ends.
//!
//! # Limitations
//! If the clock may have wrapped within a span, both of its records count as lost.

use std::collections::{HashMap, HashSet};

use super::slots::{Queues, SLOT, SPAN, Shape, SlotContents, Spanned, after, high_half, low_half, took};
use crate::device::TrackHead;
use crate::ids::{Cycles, Nanos};
use crate::mark::{Anchor, Record};
use crate::narrow::index;

/// The order of records with equal clocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    /// The end of a span.
    End,
    /// A record of its own, or one of a span without length.
    Own,
    /// The begin of a span.
    Begin,
}

/// Reads a region's slots. `shapes` are those of all markers, `spans` those of all spans of the layout.
pub(super) fn read(shapes: &[Shape], spans: &[Spanned], head: &TrackHead, slots: &[[u8; 8]]) -> SlotContents {
    let ended = head.end_nanos != 0;
    let room = slots.len() as u64 * SLOT;
    let used = if ended { head.written.min(room) } else { room };
    let (entries, _) = slots.get(..index(used / SLOT)).unwrap_or_default().as_chunks::<2>();
    let mut all: Vec<(u64, Edge, Record)> = Vec::new();
    let (mut queues, mut numbered, mut lost, mut read) = (Queues::default(), Vec::new(), 0, 0);
    let mut anchors = Vec::new();
    // Entries are in the order of their last clocks, so each wrap of the low half shows.
    let mut now = head.begin_cycles;
    let mut last: HashMap<u32, u64> = HashMap::new();
    for [first, second] in entries {
        let number = high_half(first);
        let (Some(n), span) = ((number & !SPAN).checked_sub(1), number & SPAN != 0) else { break };
        let clock = if span { low_half(second) } else { low_half(first) };
        let at = after(now, clock);
        if let Some(took) = took(number) {
            anchors.push(Anchor {
                cycles: Cycles(at),
                nanos: Nanos(u64::from_le_bytes(*second)),
                took: Some(took),
            });
        } else if !span {
            let Some(shape) = shapes.get(n as usize) else { break };
            let payload = if shape.words > 0 { [low_half(second), high_half(second)] } else { [0; 2] };
            queues.push(shape.group, Record { mark: n, clock, payload }, &mut numbered);
            all.extend(numbered.drain(..).map(|r| (at, Edge::Own, r)));
        } else {
            let Some(of) = spans.get(n as usize) else { break };
            let begin = low_half(first);
            let began = at.wrapping_sub(clock.wrapping_sub(begin).into());
            let since = last.insert(of.begin, at).filter(|_| of.alone).unwrap_or(head.begin_cycles);
            let words = shapes.get(of.begin as usize).is_some_and(|s| s.words > 0);
            if at.wrapping_sub(since) >> 32 != 0 {
                lost += 2;
            } else {
                let payload = if words { [high_half(second), 0] } else { [0; 2] };
                // A span without length begins before it ends.
                let sides = if began == at { [Edge::Own; 2] } else { [Edge::Begin, Edge::End] };
                all.push((began, sides[0], Record { mark: of.begin, clock: begin, payload }));
                all.extend(of.end.map(|mark| (at, sides[1], Record { mark, clock, payload: [0; 2] })));
            }
        }
        now = at;
        read += 1;
    }
    all.sort_by_key(|(at, side, _)| (*at, *side));
    // A switch marker ends one span and begins another: it is one record.
    let begins: HashSet<(u64, u32)> =
        all.iter().filter(|(_, side, _)| *side == Edge::Begin).map(|(at, _, r)| (*at, r.mark)).collect();
    let once = |(at, side, r): &(u64, Edge, Record)| *side != Edge::End || !begins.contains(&(*at, r.mark));
    let records = all.into_iter().filter(once).map(|(.., r)| r).collect();
    let missing = if ended { head.written.saturating_sub(read * 2 * SLOT) / SLOT } else { 0 };
    SlotContents { records, anchors, lost: missing + lost }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, Layout, SPAN, Shape, Spanned};
    use crate::device::TrackHead;
    use crate::ids::FuncId;

    /// The records that entries stand for (clock, marker, first word), and the number of lost slots.
    fn read(head: TrackHead, entries: &[[u32; 4]]) -> (Vec<(u32, u32, u32)>, u64) {
        let word = Shape { words: 1, group: None };
        let shapes = vec![word, Shape::default(), Shape::default(), Shape::default()];
        let spans = vec![
            Spanned { begin: 0, end: Some(1), alone: true },
            Spanned { begin: 1, end: Some(2), alone: true },
            Spanned { begin: 0, end: None, alone: false },
        ];
        let layout = Layout { form: Form::Spans, shapes, spans, ..Layout::default() };
        let mut bytes = head.to_bytes();
        bytes.extend(entries.iter().flatten().flat_map(|w| w.to_le_bytes()));
        bytes.resize(256, 0);
        let track = layout.read(FuncId(0), 0, 8, &bytes).pop().unwrap();
        (track.records.0.iter().map(|r| (r.clock, r.mark, r.payload[0])).collect(), track.lost)
    }

    #[test]
    fn spans_stand_for_their_ends() {
        let head =
            TrackHead { sm: 1, begin_cycles: 5, end_cycles: 900, end_nanos: 1, ..TrackHead::default() };
        let span = |n: u32, from, to, word| [from, (n + 1) | SPAN, to, word];
        // Marker 1 ends one span and begins another, in one record. Then an instant, and a region that the
        // lane's end cuts.
        let entries = [span(0, 10, 20, 7), [25, 4, 0, 0], span(1, 20, 30, 2), span(2, 8, 40, 9)];
        let ended = TrackHead { written: 64, ..head };
        let all = vec![(8, 0, 9), (10, 0, 7), (20, 1, 0), (25, 3, 0), (30, 2, 0)];
        assert_eq!(read(ended, &entries), (all.clone(), 0));
        // If the second span is lost, the first one still ends.
        let short = TrackHead { written: 96, ..head };
        assert_eq!(read(short, &entries[..1]), (vec![(10, 0, 7), (20, 1, 0)], 10));
        // For a lane that never ended, all entries in the region count.
        let stuck = TrackHead { end_nanos: 0, ..head };
        assert_eq!(read(stuck, &entries), (all, 0));
        // A number that the layout does not have ends the reading.
        assert_eq!(read(ended, &[span(9, 1, 2, 3)]), (vec![], 8));
        assert_eq!(read(ended, &[[1, 9, 2, 3]]), (vec![], 8));
    }

    #[test]
    fn spans_that_the_clock_may_have_wrapped_in_are_lost() {
        let head = TrackHead { sm: 1, begin_cycles: 5, end_nanos: 1, written: 64, ..TrackHead::default() };
        let span = |n: u32, from, to| [from, (n + 1) | SPAN, to, 0];
        let moment = |clock| [clock, 4, 0, 0];
        // The clock wraps between the second and the third entry: the last span ends more than a wrap after
        // its track began.
        let entries = [moment(3_000_000_000), moment(1_000_000_000), span(2, 990_000_000, 1_000_000_010)];
        let (records, lost) = read(head, &entries);
        assert_eq!((records.len(), lost), (2, 2 + 2));
        // If an earlier span from that marker ended since, and only one can be open, the time is known.
        let entries = [
            span(0, 2_000_000_000, 3_000_000_000),
            moment(1_000_000_000),
            span(0, 990_000_000, 1_000_000_010),
        ];
        let (records, lost) = read(head, &entries);
        assert_eq!((records[2], records[4], lost), ((990_000_000, 0, 0), (1_000_000_010, 1, 0), 2));
    }
}
