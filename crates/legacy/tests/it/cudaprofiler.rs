//! Buffers of other profilers: words as their own code makes them, put together here from the documented bits
//! alone.

use prlx_legacy::cudaprofiler::{self, Format, Given, Repair, read, write};
use prlx_timeline::{Span, Timeline};
use prlx_trace::Picos;
use proptest::prelude::*;

/// TVM's device code, as its documentation says it: a cursor and a tag a lane.
struct Tvm {
    words: Vec<u64>,
    stride: usize,
    cursors: Vec<usize>,
}

impl Tvm {
    fn new(blocks: u32, groups: u32, size: usize) -> Tvm {
        let lanes = (blocks * groups) as usize;
        let mut words = vec![0; size];
        words[0] = u64::from(groups) << 32 | u64::from(blocks);
        Tvm { words, stride: lanes, cursors: (1..=lanes).collect() }
    }
    /// The hardware would write past the end.
    fn put(&mut self, lane: u32, nanos: u64, event: u32, kind: u32) {
        let at = self.cursors[lane as usize];
        if let Some(word) = self.words.get_mut(at) {
            *word = (nanos & 0xffff_ffff) << 32 | u64::from(lane << 12 | event << 2 | kind);
        }
        self.cursors[lane as usize] += self.stride;
    }
    fn span(&mut self, lane: u32, event: u32, nanos: [u64; 2]) {
        self.put(lane, nanos[0], event, 0);
        self.put(lane, nanos[1], event, 1);
    }
    fn finalize(&mut self, lane: u32, nanos: u64) {
        self.put(lane, nanos, 0, 3);
    }
}

fn names() -> Vec<String> {
    ["load", "compute", "store"].map(str::to_owned).to_vec()
}

fn spans(timeline: &Timeline, track: usize) -> Vec<(u32, u64, u64)> {
    let nanos = |s: &Span| (s.region, s.begin.nanos().0, s.end.nanos().0);
    timeline.tracks[track].spans.iter().map(nanos).collect()
}

fn notes(timeline: &Timeline) -> Vec<(&str, u64)> {
    timeline.notes.iter().map(|n| (n.kind, n.count)).collect()
}

/// The seed's first example: four CTAs, one group.
fn seed() -> Tvm {
    let mut b = Tvm::new(4, 1, 4096);
    for lane in 0..4 {
        let t = 7_000_000_000 + u64::from(lane) * 32;
        b.span(lane, 0, [t, t + 96]);
        b.span(lane, 1, [t + 96, t + 8800]);
        b.span(lane, 2, [t + 8800, t + 8864]);
        b.finalize(lane, t + 8864);
    }
    b
}

fn tvm(words: &[u64]) -> Timeline {
    let given = Given { events: Some(3), ..Given::default() };
    cudaprofiler::to_timeline(&read(words, Format::CudaProfiler, given).unwrap(), &names())
}

#[test]
fn the_seeds_example() {
    let t = tvm(&seed().words);
    assert_eq!(spans(&t, 0), [(0, 0, 96), (1, 96, 8800), (2, 8800, 8864)]);
    assert_eq!(spans(&t, 3), [(0, 96, 192), (1, 192, 8896), (2, 8896, 8960)]);
    assert_eq!((t.axis.tick, t.regions[1].name.as_str()), (Picos(32_000), "compute"));
    assert_eq!(t.notes, []);
}

#[test]
fn turns_of_the_timer_are_undone() {
    let mut b = Tvm::new(2, 1, 64);
    let t = (1 << 32) - 100;
    b.span(0, 0, [t, t + 200]);
    b.finalize(0, t + 300);
    b.span(1, 1, [t + 150, t + 5000]);
    b.finalize(1, t + 5000);
    let t = tvm(&b.words);
    assert_eq!((spans(&t, 0), spans(&t, 1)), (vec![(0, 0, 200)], vec![(1, 150, 5000)]));
    // Within the one lane, and between the two.
    assert_eq!(notes(&t), [("wrap", 2)]);
}

#[test]
fn a_header_that_was_never_written() {
    let mut words = seed().words;
    words[0] = 0;
    let of = |blocks, groups| read(&words, Format::CudaProfiler, Given { blocks, groups, events: None });
    assert!(of(Some(4), Some(1)).unwrap().repairs.contains_key(&Repair::Header));
    assert!(of(None, None).unwrap_err().to_string().contains("slot 0, num_blocks"));
    assert!(of(Some(4), None).unwrap_err().to_string().contains("slot 0, num_groups"));
    let e = of(Some(2), Some(1)).unwrap_err().to_string();
    assert!(e.contains("slot 3, lane: it is 2"), "{e}");
}

#[test]
fn ends_without_begin_and_begins_without_end() {
    let mut b = Tvm::new(1, 1, 64);
    b.put(0, 100, 1, 1);
    b.span(0, 0, [200, 300]);
    b.put(0, 400, 2, 0);
    b.finalize(0, 500);
    let t = tvm(&b.words);
    assert_eq!(spans(&t, 0), [(0, 100, 200), (2, 300, 400)]);
    assert_eq!(t.tracks[0].spans[1].open, [false, true]);
    assert_eq!(notes(&t), [("orphan-end", 1), ("open", 1)]);
}

#[test]
fn what_an_earlier_launch_left() {
    let mut b = seed();
    // A longer launch before: its words lie behind those of this one, and between them where its stride was
    // another.
    let mut old = Tvm::new(4, 1, 4096);
    let before = 7_000_000_000 - 100_000;
    for lane in 0..4 {
        for n in 0..40 {
            old.span(lane, 0, [before + n * 100, before + 10 + n * 100]);
        }
        old.finalize(lane, before + 9000);
    }
    for (new, old) in b.words.iter_mut().zip(&old.words) {
        *new = if *new == 0 { *old } else { *new };
    }
    let t = tvm(&b.words);
    assert_eq!(spans(&t, 0), spans(&tvm(&seed().words), 0));
    assert_eq!(notes(&t), [("stale", 4 * (81 - 7))]);
    // The same where the launch was stopped: what goes back in time is older.
    let mut b = seed();
    for slot in 25..29 {
        b.words[slot] = old.words[slot];
    }
    let t = tvm(&b.words);
    assert_eq!(spans(&t, 0), spans(&tvm(&seed().words), 0));
    assert_eq!(notes(&t), [("stale", 4), ("unfinished", 4)]);
}

#[test]
fn a_stride_wider_than_the_lanes() {
    let mut b = Tvm { stride: 9, ..Tvm::new(2, 2, 64) };
    for lane in 0..4 {
        b.span(lane, 0, [100, 132]);
        b.finalize(lane, 164);
    }
    // A word of lane 0 where no word of it can be.
    b.words[6] = 50 << 32;
    let t = tvm(&b.words);
    assert_eq!(
        t.tracks.iter().map(|t| (t.cta, t.group)).collect::<Vec<_>>(),
        [(0, Some(0)), (0, Some(1)), (1, Some(0)), (1, Some(1))]
    );
    assert_eq!(notes(&t), [("stale", 1)]);
}

#[test]
fn a_buffer_that_is_too_small() {
    let mut b = Tvm::new(2, 1, 8);
    for lane in 0..2 {
        b.span(lane, 0, [100, 132]);
        b.span(lane, 1, [132, 164]);
        b.finalize(lane, 164);
    }
    let t = tvm(&b.words);
    assert_eq!(notes(&t), [("truncated", 2), ("open", 1)]);
    assert_eq!(t.tracks[0].lost, 1);
}

/// Lane 0 begins event 0 as the timer's low half is 0: an empty slot.
#[test]
fn a_word_that_is_zero() {
    let mut b = Tvm::new(1, 1, 16);
    let t = 1 << 32;
    b.span(0, 1, [t - 64, t - 32]);
    b.span(0, 0, [t, t + 32]);
    b.finalize(0, t + 64);
    assert_eq!(b.words[3], 0);
    let t = tvm(&b.words);
    assert_eq!(spans(&t, 0), [(1, 0, 32), (0, 64, 96)]);
    assert_eq!(notes(&t), [("wrap", 1), ("zero-word", 1)]);
    // Any other empty slot is a record that is missing.
    let mut b = seed();
    b.words[9] = 0;
    let t = tvm(&b.words);
    assert_eq!((notes(&t), t.tracks[0].lost), (vec![("hole", 1), ("orphan-end", 1)], 1));
}

#[test]
fn regions_that_lie_across_each_other() {
    let mut b = Tvm::new(1, 1, 16);
    b.put(0, 10, 0, 0);
    b.put(0, 20, 1, 0);
    b.put(0, 30, 0, 1);
    b.put(0, 40, 1, 1);
    b.finalize(0, 50);
    let t = tvm(&b.words);
    assert_eq!(spans(&t, 0), [(0, 0, 20), (1, 10, 30)]);
    assert_eq!(notes(&t), [("across", 1)]);
}

#[test]
fn what_cannot_be_is_refused_with_its_slot() {
    let refused = |words: &[u64]| {
        let given = Given { events: Some(3), ..Given::default() };
        read(words, Format::CudaProfiler, given).unwrap_err().to_string()
    };
    let mut words = seed().words;
    words[6] |= 9 << 12;
    assert!(refused(&words).contains("slot 6, lane"), "{}", refused(&words));
    let mut words = seed().words;
    words[5] |= 3 << 2;
    assert!(refused(&words).contains("slot 5, event: it is 3, and there are 3 names"), "{}", refused(&words));
    assert!(refused(&[]).contains("slot 0"));
    assert!(refused(&[1]).contains("num_groups: it is 0"));
    assert!(refused(&[1 << 32 | 0x10_0001]).contains("slot 0, num_blocks"));
}

/// FlashInfer's code at fb28d724: the tag has the CTA, and what reads it divides that by the number of
/// groups.
#[test]
fn flashinfers_groups_are_told_apart() {
    let mut words = vec![0; 64];
    words[0] = 2 << 32 | 3;
    let mut put = |block: u64, group: u64, n: u64, nanos: u64, event: u64, kind: u64| {
        words[(1 + block * 2 + group + n * 6) as usize] =
            nanos << 32 | (7 + block) << 24 | block << 12 | event << 2 | kind;
    };
    for block in 0..3 {
        put(block, 0, 0, 1000, 1, 0);
        put(block, 1, 0, 1010, 1, 0);
        put(block, 0, 1, 1100, 1, 1);
        put(block, 1, 1, 1159, 1, 1);
    }
    let b = read(&words, Format::FlashInfer, Given::default()).unwrap();
    let t = cudaprofiler::to_timeline(&b, &names());
    assert_eq!((spans(&t, 0), spans(&t, 1)), (vec![(1, 0, 100)], vec![(1, 10, 159)]));
    assert_eq!(t.tracks.iter().map(|t| t.sm.unwrap()).collect::<Vec<_>>(), [7, 7, 8, 8, 9, 9]);
    assert_eq!(notes(&t), [("groups", 12)]);
    let mut bad = words.clone();
    bad[1] |= 5 << 12;
    assert!(
        read(&bad, Format::FlashInfer, Given::default()).unwrap_err().to_string().contains("slot 1, block")
    );
    bad[1] = words[1] | 3;
    assert!(
        read(&bad, Format::FlashInfer, Given::default()).unwrap_err().to_string().contains("slot 1, type")
    );
}

/// Lanes of nested spans and moments, times in nanoseconds.
fn made() -> impl Strategy<Value = Vec<Vec<(u64, u16, bool)>>> {
    prop::collection::vec(prop::collection::vec((0..500u64, 0..1024u16, any::<bool>()), 0..30), 1..12)
}

proptest! {
    /// What is written is read: spans in spans, at any times and turns of the timer.
    #[test]
    fn what_is_written_is_read(lanes in made(), start in 0..1u64 << 33) {
        let mut b = Tvm::new(lanes.len() as u32, 1, 2048);
        for (lane, steps) in lanes.iter().enumerate() {
            let (lane, mut now) = (lane as u32, start + 1 + lane as u64);
            let mut open = Vec::new();
            for &(wait, event, begins) in steps {
                now += wait;
                if begins {
                    open.push(event);
                    b.put(lane, now, event.into(), 0);
                } else if let Some(event) = open.pop() {
                    b.put(lane, now, event.into(), 1);
                }
            }
            while let Some(event) = open.pop() {
                b.put(lane, now, event.into(), 1);
            }
            b.finalize(lane, now);
        }
        let given = Given::default();
        let mut first = cudaprofiler::to_timeline(&read(&b.words, Format::CudaProfiler, given).unwrap(), &[]);
        prop_assert!(first.notes.iter().all(|n| ["wrap", "zero-word"].contains(&n.kind)), "{:?}", first.notes);
        first.notes.clear();
        let (written, names) = cudaprofiler::from_timeline(&mut first).unwrap();
        let again = read(&write(&written).unwrap(), Format::CudaProfiler, given).unwrap();
        prop_assert_eq!(&again.repairs, &Default::default());
        let again = cudaprofiler::to_timeline(&again, &names);
        prop_assert_eq!(&again.tracks, &first.tracks);
    }

    /// Any words are a buffer or refused, whatever is said of them.
    #[test]
    fn any_words_are_read_or_refused(
        words in prop::collection::vec(any::<u64>(), 0..80),
        small: bool,
        flash: bool,
    ) {
        let mut words = words;
        if small {
            words.iter_mut().for_each(|w| *w &= 0xffff_ffff_0000_3fff);
            if let Some(w) = words.first_mut() { *w = 1 << 32 | 4; }
        }
        let format = if flash { Format::FlashInfer } else { Format::CudaProfiler };
        if let Ok(read) = read(&words, format, Given::default()) {
            let events: usize = read.lanes.iter().map(|l| l.events.len()).sum();
            prop_assert!(events <= words.len() + 1);
            let t = cudaprofiler::to_timeline(&read, &[]);
            for track in &t.tracks {
                prop_assert!(track.spans.windows(2).all(|s| s[0].begin <= s[1].begin));
                prop_assert!(track.spans.iter().all(|s| s.begin <= s.end));
            }
        }
    }
}

#[test]
fn several_launches_are_no_buffer() {
    let mut t = tvm(&seed().words);
    t.launches.push(t.launches[0].clone());
    assert!(cudaprofiler::from_timeline(&mut t).unwrap_err().contains("2"));
}
