//! Expands the entries of [`Form::Spans`](super::Form::Spans) into the records that they stand for.

use std::collections::{HashMap, HashSet};

use super::{Layout, Queues, Read, SLOT, SPAN, after, half, took};
use crate::device::TrackHead;
use crate::ids::{Cycles, Nanos};
use crate::mark::{Anchor, Record};

/// Which of two records of one moment is first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    End,
    Own,
    Begin,
}

/// What a region's slots hold, records by their clocks.
pub(super) fn read(layout: &Layout, head: &TrackHead, slots: &[[u8; 8]]) -> Read {
    let ended = head.end_nanos != 0;
    let room = slots.len() as u64 * SLOT;
    let used = if ended { head.written.min(room) } else { room };
    let (entries, _) = slots[..(used / SLOT) as usize].as_chunks::<2>();
    let mut all: Vec<(u64, Side, Record)> = Vec::new();
    let (mut queues, mut numbered, mut lost, mut read) = (Queues::default(), Vec::new(), 0, 0);
    let mut anchors = Vec::new();
    // Entries are in the order of their last clocks: these tell how often it turned.
    let mut now = head.begin_cycles;
    let mut last: HashMap<u32, u64> = HashMap::new();
    for [first, second] in entries {
        let number = half(first, 4);
        let (Some(n), span) = ((number & !SPAN).checked_sub(1), number & SPAN != 0) else { break };
        let clock = if span { half(second, 0) } else { half(first, 0) };
        let at = after(now, clock);
        if let Some(took) = took(number) {
            anchors.push(Anchor {
                cycles: Cycles(at),
                nanos: Nanos(u64::from_le_bytes(*second)),
                took: Some(took),
            });
        } else if !span {
            if n as usize >= layout.shapes.len() {
                break;
            }
            let shape = layout.shapes[n as usize];
            let payload = if shape.words > 0 { [half(second, 0), half(second, 4)] } else { [0; 2] };
            queues.push(shape.group, Record { mark: n, clock, payload }, &mut numbered);
            all.extend(numbered.drain(..).map(|r| (at, Side::Own, r)));
        } else {
            let Some(of) = layout.spans.get(n as usize) else { break };
            let begin = half(first, 0);
            let began = at.wrapping_sub(clock.wrapping_sub(begin).into());
            let since = last.insert(of.begin, at).filter(|_| of.alone).unwrap_or(head.begin_cycles);
            let words = layout.shapes.get(of.begin as usize).is_some_and(|s| s.words > 0);
            if at.wrapping_sub(since) >> 32 != 0 {
                lost += 2;
            } else {
                let payload = if words { [half(second, 4), 0] } else { [0; 2] };
                // What takes no time begins before it ends.
                let sides = if began == at { [Side::Own; 2] } else { [Side::Begin, Side::End] };
                all.push((began, sides[0], Record { mark: of.begin, clock: begin, payload }));
                all.extend(of.end.map(|mark| (at, sides[1], Record { mark, clock, payload: [0; 2] })));
            }
        }
        now = at;
        read += 1;
    }
    all.sort_by_key(|(at, side, _)| (*at, *side));
    // A switch is the end of one and the begin of another.
    let begins: HashSet<(u64, u32)> =
        all.iter().filter(|(_, side, _)| *side == Side::Begin).map(|(at, _, r)| (*at, r.mark)).collect();
    let once = |(at, side, r): &(u64, Side, Record)| *side != Side::End || !begins.contains(&(*at, r.mark));
    let records = all.into_iter().filter(once).map(|(.., r)| r).collect();
    let missing = if ended { head.written.saturating_sub(read * 2 * SLOT) / SLOT } else { 0 };
    Read { records, anchors, lost: missing + lost }
}

#[cfg(test)]
mod tests {
    use super::super::{Form, Layout, SPAN, Shape, Spanned};
    use crate::device::TrackHead;
    use crate::ids::FuncId;

    /// What entries stand for: clock, marker, first word; and what is lost.
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
        // Marker 1 ends one and begins another: it is one record. A moment between, and a region that its
        // lane's end cuts.
        let entries = [span(0, 10, 20, 7), [25, 4, 0, 0], span(1, 20, 30, 2), span(2, 8, 40, 9)];
        let ended = TrackHead { written: 64, ..head };
        let all = vec![(8, 0, 9), (10, 0, 7), (20, 1, 0), (25, 3, 0), (30, 2, 0)];
        assert_eq!(read(ended, &entries), (all.clone(), 0));
        // Where the second is lost, the first still ends.
        let short = TrackHead { written: 96, ..head };
        assert_eq!(read(short, &entries[..1]), (vec![(10, 0, 7), (20, 1, 0)], 10));
        // A lane that never ended has what is there.
        let stuck = TrackHead { end_nanos: 0, ..head };
        assert_eq!(read(stuck, &entries), (all, 0));
        // What no layout can have ends it.
        assert_eq!(read(ended, &[span(9, 1, 2, 3)]), (vec![], 8));
        assert_eq!(read(ended, &[[1, 9, 2, 3]]), (vec![], 8));
    }

    #[test]
    fn spans_that_a_clock_may_have_turned_in_are_lost() {
        let head = TrackHead { sm: 1, begin_cycles: 5, end_nanos: 1, written: 64, ..TrackHead::default() };
        let span = |n: u32, from, to| [from, (n + 1) | SPAN, to, 0];
        let moment = |clock| [clock, 4, 0, 0];
        // The clock turns between the second and the third: the last span ends more than a turn after its
        // track began.
        let entries = [moment(3_000_000_000), moment(1_000_000_000), span(2, 990_000_000, 1_000_000_010)];
        let (records, lost) = read(head, &entries);
        assert_eq!((records.len(), lost), (2, 2 + 2));
        // But where another from there ended since, and only one can be under way, it is known.
        let entries = [
            span(0, 2_000_000_000, 3_000_000_000),
            moment(1_000_000_000),
            span(0, 990_000_000, 1_000_000_010),
        ];
        let (records, lost) = read(head, &entries);
        assert_eq!((records[2], records[4], lost), ((990_000_000, 0, 0), (1_000_000_010, 1, 0), 2));
    }
}
