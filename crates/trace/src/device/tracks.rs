//! How tracks lie in device memory, and reading them.
//!
//! All of it starts as zeros. Each track has a **region** of 2^k bytes, aligned to its size: a [`TrackHead`],
//! then slots of eight bytes. A record is a slot `{low half of the clock, marker + 1}`; the words of a marker
//! that has some are the slot behind it.
//!
//! A lane's **cursor** is the low half of the address of its next slot, and goes on behind the region's end,
//! where nothing is written any more: what is missing is counted. It stops at [`LAST`]. So regions lie where
//! [`fits`] says, and the addresses of a region have one high half.
//!
//! That is [`Form::Records`]. With [`Form::Sums`] nothing is written before the lane ends: it has
//! [`Layout::words`] words of 32 bits in registers, from 0 on, and writes them behind the head at its end. A
//! word is a region's sum, to which its ends add the low half of the clock and from which its begins subtract
//! it, or a number of begins. A sum is exact if what it stands for took fewer than 2^32 cycles: where the
//! track is no longer than that, all are.
//!
//! With [`Form::Ring`] slots are entries of 16 bytes, `{low half of the clock, marker + 1 | lane << 24, turn,
//! first word}`, or, where a marker has two words, of 32: behind those `{second word, turn, 0, 0}`. Behind
//! the last entry a lane goes on with the first, and its turn is one more. So the entries themselves say
//! which is the newest and how many were written over, also where the lane never ended; one whose halves have
//! different turns was being written. A lane that traps does not say that it ended.
//!
//! With [`Form::Spans`] slots are entries of 16 bytes: `{clock as it began, span + 1 | `[`SPAN`]`, clock as
//! it ended, word}` of a region, and of all else a record, `{clock, marker + 1, words}`. They are in the
//! order in which they were written. Reading gives the records that each stands for, in the order of their
//! clocks; of a span whose clock may have turned since it began both are lost, which only a track of 2^32
//! cycles or more can have.
//!
//! With records and spans a lane leaves an **anchor** now and then, `{low half of the clock, `[`ANCHOR`]` -
//! took, low and high half of the global timer}`, where it has written [`Layout::apart`] slots since the last
//! one and comes to a place where it waits; the first one after [`Layout::first`], which differs from warp to
//! warp, so that anchors do not all fall together. `took` are the cycles until the timer had answered: where
//! many warps ask, it takes its time. An anchor that does not fit is neither written nor counted, and no
//! other follows.
//!
//! A warp has one region, of its lowest lane or of the one that leads its group, or 32, one a lane.
//!
//! Holds: reading allocates in proportion to the bytes, whatever they are. Misses: a lane that never ended
//! did not say how many of its records did not fit; of one that wanted more than 256 MiB at least, only that
//! many are counted. In a ring, of a lane that leads again after another has led: entries of its first time
//! may stand for newer ones.

mod spans;

use crate::device::TrackHead;
use crate::ids::{Cycles, Nanos};
use crate::ids::{FuncId, WarpId};
use crate::mark::{Anchor, Anchors, Record, Records, Sum, Track};

/// Bytes of a slot.
pub const SLOT: u64 = 8;
/// Where a cursor stops: 64 KiB, more than what control-equivalent markers write together, from where it
/// would wrap.
pub const LAST: u32 = 0xFFFF_0000;
/// Bytes from regions to where cursors stop.
pub const BEYOND: u64 = 1 << 28;
/// Most bytes of a launch's regions: twice as many and [`BEYOND`] always have room for them between two
/// multiples of 2^32.
pub const MOST: u64 = 1 << 31;
/// Logarithms of a region's bytes: 8 slots and the head at least, 64 Ki slots at most.
pub const LOGS: (u32, u32) = (7, 19);

/// Bytes of an entry of a ring; twice as many where a marker has two words.
pub const ENTRY: u64 = 16;
/// Most entries of a ring that can be asked for.
pub const MOST_ENTRIES: u32 = 1 << 14;
/// Where the lane lies in an entry.
pub const LANE_BIT: u32 = 24;

/// Set in the number of an entry that is a span.
pub const SPAN: u32 = 1 << 31;

/// The number of an entry that is an anchor, less the cycles that its timer took.
pub const ANCHOR: u32 = SPAN - 1;
/// The most cycles that an anchor's timer takes: more are as many.
pub const SLOWEST: u32 = 1023;
/// Slots of an anchor.
pub const ANCHOR_SLOTS: u32 = 2;
/// Slots from one anchor of a track to the next, about: a ninth of its memory.
pub const APART: u32 = 16;
/// In how many parts of that distance first anchors lie, by the warp's number modulo this: a power of two.
pub const STAGGERED: u32 = 8;

/// Most words of a track of sums: each is a register of the kernel.
pub const WORDS: u32 = 32;

/// What a lane leaves of the markers that it passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// A record of each, the first ones.
    #[default]
    Records,
    /// One of each region, as it ends, and a record of all else; the first ones.
    Spans,
    /// How long regions took together, and how often they began.
    Sums,
    /// A record of each, the last ones.
    Ring {
        /// How many a track keeps, 1 to [`MOST_ENTRIES`]; more where there is room for more.
        entries: u32,
    },
}

/// Where a launch's tracks lie.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// What they hold.
    pub form: Form,
    /// Of [`Form::Sums`]: what words mean.
    pub totals: Vec<Total>,
    /// Of [`Form::Spans`]: between which markers spans are.
    pub spans: Vec<Spanned>,
    /// How many words a track has.
    pub words: u32,
    /// Whether each lane has a track; else the warp has one.
    pub lanes: bool,
    /// Slots from an anchor to the next; 0: there are none between a track's begin and end.
    pub apart: u32,
    /// By marker: what its records look like.
    pub shapes: Vec<Shape>,
}

/// The ring of a track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    /// Bytes of an entry.
    pub entry: u64,
    /// How many there are.
    pub entries: u64,
    /// The logarithm of the region's bytes.
    pub log: u32,
}

/// A region that is added up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Total {
    /// In which kernel; `None`: in a device function, which any may call. Kernels have the same words for
    /// different regions.
    pub kernel: Option<FuncId>,
    /// The first marker at which it begins.
    pub mark: u32,
    /// The word with its cycles.
    pub cycles: u32,
    /// Words that count, and how many of its visits begin each time.
    pub counts: Vec<(u32, u32)>,
}

/// A span: from one marker to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spanned {
    /// Where it begins.
    pub begin: u32,
    /// Where it ends; `None`: as its lane does, which no marker says.
    pub end: Option<u32>,
    /// Whether another span from there is only under way when this one has ended.
    pub alone: bool,
}

/// What a marker's records look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// How many words it has of its own.
    pub words: u32,
    /// Its part in a queue of asynchronous work: the first word of its records is the number of a group,
    /// which the reader counts.
    pub group: Option<Group>,
}

/// Asynchronous work that a lane commits and waits for in groups, in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// A group is committed.
    Commit {
        /// To which queue.
        queue: u8,
    },
    /// All but the last so many have ended: as many records as groups that nothing was known of.
    Wait {
        /// Of which queue.
        queue: u8,
        /// How many may be left.
        left: u32,
    },
}

/// Numbers the groups of asynchronous work in a track's records.
#[derive(Clone, Debug, Default)]
pub struct Queues([(u32, u32); 4]);

impl Queues {
    /// What a record as it was written stands for.
    pub fn push(&mut self, group: Option<Group>, record: Record, out: &mut Vec<Record>) {
        let (Some(Group::Commit { queue } | Group::Wait { queue, .. }), queues) = (group, &mut self.0) else {
            return out.push(record);
        };
        let (committed, ended) = &mut queues[usize::from(queue) % 4];
        match group {
            Some(Group::Wait { left, .. }) => {
                let until = committed.saturating_sub(left).max(*ended);
                out.extend((*ended..until).map(|n| Record { payload: [n, 0], ..record }));
                *ended = until;
            }
            _ => {
                out.push(Record { payload: [*committed, 0], ..record });
                *committed = committed.saturating_add(1);
            }
        }
    }
}

/// Whether regions may lie in `bytes` bytes at `at`.
pub fn fits(at: u64, bytes: u64) -> bool {
    let low = at & u64::from(u32::MAX);
    low + bytes <= (1 << 32) - BEYOND
}

/// Bytes that the longest track in regions of 2^`log` bytes wanted of its own, its head among them; one that
/// never ended: all.
pub fn wanted(log: u32, bytes: &[u8]) -> u64 {
    let size = 1usize.checked_shl(log).unwrap_or(usize::MAX).max(TrackHead::SIZE);
    let of = |head: TrackHead| match head {
        TrackHead { sm: 0, .. } => 0,
        TrackHead { end_nanos: 0, .. } => size as u64,
        head => (TrackHead::SIZE as u64).saturating_add(head.written),
    };
    bytes.chunks_exact(size).filter_map(TrackHead::read).map(of).max().unwrap_or(0)
}

impl Layout {
    /// Regions of a warp.
    pub fn regions(&self) -> u64 {
        if self.lanes { 32 } else { 1 }
    }
    /// Slots before the first anchor of a warp.
    pub fn first(&self, warp: u64) -> u32 {
        ((warp % u64::from(STAGGERED)) as u32 + 1) * (self.apart / STAGGERED)
    }
    /// The logarithm of a region's bytes, where that does not depend on how much memory there is.
    pub fn log(&self) -> Option<u32> {
        match self.form {
            Form::Records | Form::Spans => None,
            Form::Sums => {
                let bytes = TrackHead::SIZE as u64 + 4 * u64::from(self.words);
                Some(bytes.next_power_of_two().ilog2().max(LOGS.0))
            }
            Form::Ring { .. } => self.ring().map(|r| r.log),
        }
    }
    /// Whether a track says that its lane ended there, at a `trap` or elsewhere. A ring's does not at a
    /// `trap`: it is read for where lanes were.
    pub fn ends(&self, trap: bool) -> bool {
        !(trap && matches!(self.form, Form::Ring { .. }))
    }
    /// Of [`Form::Ring`]: where its entries lie.
    pub fn ring(&self) -> Option<Ring> {
        let Form::Ring { entries } = self.form else { return None };
        let entry = if self.shapes.iter().any(|s| s.words > 1) { 2 * ENTRY } else { ENTRY };
        let head = TrackHead::SIZE as u64;
        let bytes = head + u64::from(entries.clamp(1, MOST_ENTRIES)) * entry;
        let log = bytes.next_power_of_two().ilog2().clamp(LOGS.0, LOGS.1);
        Some(Ring { entry, entries: ((1 << log) - head) / entry, log })
    }
    /// Records as they were written, as what they stand for.
    pub fn numbered(&self, written: impl IntoIterator<Item = Record>) -> Vec<Record> {
        let (mut records, mut queues) = (Vec::new(), Queues::default());
        for record in written {
            let group = self.shapes.get(record.mark as usize).and_then(|s| s.group);
            queues.push(group, record, &mut records);
        }
        records
    }
    /// What a track's words say, after a launch of `kernel`: regions that it came to.
    pub fn sums(&self, kernel: FuncId, word: impl Fn(u32) -> u32) -> Vec<Sum> {
        let of = |t: &Total| {
            let count = t.counts.iter().map(|(at, times)| u64::from(word(*at)) * u64::from(*times));
            Sum {
                mark: t.mark,
                count: count.fold(0, u64::saturating_add),
                cycles: Cycles(word(t.cycles).into()),
            }
        };
        let mine = self.totals.iter().filter(|t| t.kernel.is_none_or(|k| k == kernel));
        mine.map(of).filter(|s| (s.count, s.cycles) != (0, Cycles(0))).collect()
    }
    /// The logarithm of a region's bytes for so many warps in `budget` bytes, and for how many of them there
    /// is room.
    pub fn size(&self, warps: u64, budget: u64) -> (u32, u64) {
        let regions = self.regions();
        let room = budget / regions;
        let shared = || (room / warps.max(1)).checked_ilog2().unwrap_or(0).clamp(LOGS.0, LOGS.1);
        let log = self.log().unwrap_or_else(shared);
        (log, warps.min(room >> log))
    }
    /// The tracks of a launch of `kernel` in the regions of warps from `first` on; `log` is the logarithm of
    /// a region's bytes.
    pub fn read(&self, kernel: FuncId, first: u64, log: u32, bytes: &[u8]) -> Vec<Track> {
        let size = 1usize.checked_shl(log).unwrap_or(usize::MAX).max(TrackHead::SIZE);
        let regions = self.regions();
        let track = |(i, region): (usize, &[u8])| {
            let warp = WarpId(first.saturating_add(i as u64 / regions));
            self.track(kernel, warp, region)
        };
        bytes.chunks_exact(size).enumerate().filter_map(track).collect()
    }

    /// Bytes that tracks in regions of 2^`log` bytes took, their heads among them; of records that did not
    /// fit, what they wanted.
    pub fn took(&self, log: u32, bytes: &[u8]) -> u64 {
        let size = 1usize.checked_shl(log).unwrap_or(usize::MAX).max(TrackHead::SIZE);
        let of = |region: &[u8]| match (self.form, self::wanted(log, region)) {
            (Form::Records | Form::Spans, wanted) => wanted,
            (_, wanted) => {
                if wanted == 0 {
                    0
                } else {
                    size as u64
                }
            }
        };
        bytes.chunks_exact(size).map(of).fold(0, u64::saturating_add)
    }

    /// What one region holds, if a lane began there.
    fn track(&self, kernel: FuncId, warp: WarpId, region: &[u8]) -> Option<Track> {
        let head = TrackHead::read(region)?;
        let sm = head.sm.checked_sub(1).filter(|_| head.left != head.lane.wrapping_add(1))?;
        let slots = region.get(TrackHead::SIZE..)?.as_chunks::<8>().0;
        let ended = head.end_nanos != 0;
        let track = Track {
            warp,
            lane: head.lane.min(63) as u8,
            sm,
            group: (head.grouped != 0).then_some(head.group),
            begin: Some(Anchor {
                cycles: Cycles(head.begin_cycles),
                nanos: Nanos(head.begin_nanos),
                took: None,
            }),
            end: ended.then_some(Anchor {
                cycles: Cycles(head.end_cycles),
                nanos: Nanos(head.end_nanos),
                took: None,
            }),
            ..Track::default()
        };
        Some(match self.form {
            Form::Records | Form::Spans => {
                let read = if self.form == Form::Spans {
                    spans::read(self, &head, slots)
                } else {
                    self.read_slots(&head, slots)
                };
                Track {
                    records: Records(read.records),
                    anchors: Anchors(read.anchors),
                    lost: read.lost,
                    ..track
                }
            }
            Form::Sums => {
                let word =
                    |i: u32| slots.get(i as usize / 2).map_or(0, |slot| half(slot, 4 * (i as usize % 2)));
                Track { sums: self.sums(kernel, word), ..track }
            }
            Form::Ring { .. } => {
                let (written, lost) = self.last(head.lane, region.get(TrackHead::SIZE..)?);
                Track { records: Records(self.numbered(written)), lost, last: true, ..track }
            }
        })
    }

    /// The entries of `lane` in a ring, oldest first, and how many are not there.
    fn last(&self, lane: u32, bytes: &[u8]) -> (Vec<Record>, u64) {
        let Some(ring) = self.ring() else { return Default::default() };
        let entry = |bytes: &[u8]| -> Option<(u32, Record)> {
            let (slots, _) = bytes.as_chunks::<8>();
            let [first, second] = [slots.first()?, slots.get(1)?];
            let (tag, turn) = (half(first, 4), half(second, 0));
            let mark = (tag & ((1 << LANE_BIT) - 1)).checked_sub(1)?;
            let mut payload = [half(second, 4), 0];
            if let Some(third) = slots.get(2) {
                payload[1] = half(third, 0);
                (half(third, 4) == turn).then_some(())?;
            }
            let known = tag >> LANE_BIT == lane && (mark as usize) < self.shapes.len();
            known.then_some((turn, Record { mark, clock: half(first, 0), payload }))
        };
        let all: Vec<Option<(u32, Record)>> =
            bytes.chunks_exact(ring.entry as usize).take(ring.entries as usize).map(entry).collect();
        let newest = all.iter().enumerate().filter_map(|(i, e)| Some((e.as_ref()?.0, i))).max();
        let Some((turn, at)) = newest else { return Default::default() };
        let of = |turn: Option<u32>, e: &Option<(u32, Record)>| {
            e.filter(|(t, _)| Some(*t) == turn).map(|(_, r)| r)
        };
        let before = all[at + 1..].iter().filter_map(|e| of(turn.checked_sub(1), e));
        let records: Vec<Record> =
            before.chain(all[..=at].iter().filter_map(|e| of(Some(turn), e))).collect();
        let made = u64::from(turn) * all.len() as u64 + at as u64 + 1;
        let lost = made - records.len() as u64;
        (records, lost)
    }

    /// What a region's slots hold.
    fn read_slots(&self, head: &TrackHead, slots: &[[u8; 8]]) -> Read {
        let ended = head.end_nanos != 0;
        let room = slots.len() as u64 * SLOT;
        let used = if ended { head.written.min(room) } else { room };
        let slots = &slots[..(used / SLOT) as usize];
        let (mut records, mut anchors, mut at) = (Vec::new(), Vec::new(), 0);
        let mut now = head.begin_cycles;
        while let Some(slot) = slots.get(at) {
            now = after(now, half(slot, 0));
            let Some(mark) = half(slot, 4).checked_sub(1) else { break };
            if let Some(took) = took(mark + 1) {
                let Some(timer) = slots.get(at + 1) else { break };
                anchors.push(Anchor {
                    cycles: Cycles(now),
                    nanos: Nanos(u64::from_le_bytes(*timer)),
                    took: Some(took),
                });
                at += ANCHOR_SLOTS as usize;
                continue;
            }
            let Some(shape) = self.shapes.get(mark as usize) else { break };
            let mut record = Record { mark, clock: half(slot, 0), payload: [0; 2] };
            at += 1;
            if shape.words > 0 {
                let Some(words) = slots.get(at) else { break };
                record.payload = [half(words, 0), half(words, 4)];
                at += 1;
            }
            records.push(record);
        }
        let lost = if ended { head.written.saturating_sub(at as u64 * SLOT) / SLOT } else { 0 };
        Read { records: self.numbered(records), anchors, lost }
    }
}

/// The cycles that an anchor's timer took, by the number of its entry; `None`: that of something else.
fn took(number: u32) -> Option<u32> {
    ANCHOR.checked_sub(number).filter(|took| *took <= SLOWEST)
}

/// What a region holds.
struct Read {
    records: Vec<Record>,
    anchors: Vec<Anchor>,
    /// How many slots are missing.
    lost: u64,
}

/// The next whole clock from `now` on whose low half is `low`.
fn after(now: u64, low: u32) -> u64 {
    now.wrapping_add(low.wrapping_sub(now as u32).into())
}

/// The 32 bits at byte `at` of a slot.
fn half(slot: &[u8; 8], at: usize) -> u32 {
    u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(head: &TrackHead, slots: &[[u32; 2]]) -> Vec<u8> {
        let mut bytes = head.to_bytes();
        bytes.extend(slots.iter().flatten().flat_map(|w| w.to_le_bytes()));
        bytes.resize(128, 0);
        bytes
    }

    #[test]
    fn regions_are_read_back() {
        let shapes = vec![Shape::default(), Shape { words: 1, group: None }];
        let layout = Layout { shapes, ..Layout::default() };
        let head =
            TrackHead { sm: 4, lane: 7, group: 9, grouped: 1, begin_cycles: 5, ..TrackHead::default() };
        let ended = TrackHead { end_nanos: 1, end_cycles: 8, written: 32, ..head };
        let slots = [[10, 1], [11, 2], [70, 0], [12, 1]];
        let mut bytes = region(&ended, &slots);
        // One that never ended has what is there, one in which nobody began is none; what did not fit is
        // counted.
        bytes.extend(region(&head, &slots[..3]));
        bytes.extend(region(&TrackHead::default(), &slots));
        bytes.extend(region(&TrackHead { written: 80, ..ended }, &[[1, 1]; 8]));
        // Nor is one whose lane has left it.
        bytes.extend(region(&TrackHead { left: 8, ..ended }, &slots));
        let tracks = layout.read(FuncId(0), 100, 7, &bytes);
        let r = |mark, clock, word| Record { mark, clock, payload: [word, 0] };
        let all = vec![r(0, 10, 0), r(1, 11, 70), r(0, 12, 0)];
        let first = Track {
            warp: WarpId(100),
            lane: 7,
            sm: 3,
            group: Some(9),
            begin: Some(Anchor { cycles: Cycles(5), nanos: Nanos(0), took: None }),
            end: Some(Anchor { cycles: Cycles(8), nanos: Nanos(1), took: None }),
            records: Records(all.clone()),
            ..Track::default()
        };
        assert_eq!(tracks[0], first);
        let second = Track { warp: WarpId(101), end: None, records: Records(all[..2].to_vec()), ..first };
        assert_eq!(tracks[1], second);
        assert_eq!((tracks[2].warp, tracks[2].records.0.len(), tracks[2].lost), (WarpId(103), 8, 2));
        assert_eq!(tracks.len(), 3);
        assert_eq!((wanted(7, &bytes), wanted(7, &bytes[..128]), wanted(7, &[0; 128])), (144, 96, 0));
        // The third of the five has none.
        assert_eq!(layout.took(7, &bytes), 96 + 128 + 144 + 96);
        let ring = Layout { form: Form::Ring { entries: 3 }, ..layout };
        assert_eq!(ring.took(7, &bytes), 4 * 128);
    }

    /// Anchors are no records; their clocks are whole, also where the low half turned since the track's
    /// begin.
    #[test]
    fn anchors_are_taken_out() {
        let shapes = vec![Shape::default(), Shape { words: 1, group: None }];
        let head = TrackHead { sm: 1, begin_cycles: (7 << 32) - 100, end_nanos: 1, ..TrackHead::default() };
        let slow = ANCHOR - SLOWEST;
        let slots = [
            [u32::MAX - 20, 1],
            [u32::MAX - 9, ANCHOR - 30],
            [5, 6],
            [40, 2],
            [ANCHOR, ANCHOR],
            [50, slow],
            [7, 8],
        ];
        let anchor = |cycles, nanos, took| Anchor { cycles, nanos, took: Some(took) };
        let anchors = vec![
            anchor(Cycles((7 << 32) - 10), Nanos(6 << 32 | 5), 30),
            anchor(Cycles((7 << 32) + 50), Nanos(8 << 32 | 7), SLOWEST),
        ];
        let of = |form, slots: &[[u32; 2]]| {
            let spans = vec![Spanned { begin: 0, end: None, alone: true }];
            let layout = Layout { form, apart: APART, shapes: shapes.clone(), spans, ..Layout::default() };
            let head = TrackHead { written: slots.len() as u64 * SLOT, ..head };
            layout.read(FuncId(0), 0, 7, &region(&head, slots)).pop().unwrap()
        };
        let track = of(Form::Records, &slots);
        let records: Vec<_> = track.records.0.iter().map(|r| (r.mark, r.clock, r.payload)).collect();
        assert_eq!(records, [(0, u32::MAX - 20, [0; 2]), (1, 40, [ANCHOR, ANCHOR])]);
        assert_eq!((track.anchors.0, track.lost), (anchors.clone(), 0));
        let entries = [[u32::MAX - 9, ANCHOR - 30], [5, 6], [30, 1 | SPAN], [40, 0], [50, slow], [7, 8]];
        let track = of(Form::Spans, &entries);
        assert_eq!((track.anchors.0, track.records.0.len(), track.lost), (anchors, 1, 0));
        let layout = Layout { apart: APART, ..Layout::default() };
        assert_eq!([0, 1, 7, 8].map(|warp| layout.first(warp)), [2, 4, 16, 2]);
    }

    #[test]
    fn rings_are_read_from_the_oldest_on() {
        let layout = |words| {
            let shapes = vec![Shape::default(), Shape { words, group: None }];
            Layout { form: Form::Ring { entries: 3 }, shapes, ..Layout::default() }
        };
        let ring = |words| layout(words).ring().unwrap();
        assert_eq!(ring(1), Ring { entry: 16, entries: 4, log: 7 });
        assert_eq!(ring(2), Ring { entry: 32, entries: 6, log: 8 });
        let head = TrackHead { sm: 1, lane: 2, begin_cycles: 5, ..TrackHead::default() };
        let tag = |mark: u32, lane: u32| (mark + 1) | lane << LANE_BIT;
        let of = |words, entries: &[[u32; 4]]| {
            let mut bytes = head.to_bytes();
            bytes.extend(entries.iter().flatten().flat_map(|w| w.to_le_bytes()));
            bytes.resize(1 << ring(words).log, 0);
            let track = layout(words).read(FuncId(0), 0, ring(words).log, &bytes).pop().unwrap();
            assert!(track.last);
            (track.records.0.iter().map(|r| (r.mark, r.clock, r.payload)).collect::<Vec<_>>(), track.lost)
        };
        assert_eq!(of(1, &[]), (vec![], 0));
        assert_eq!(of(1, &[[9, tag(1, 2), 0, 7]]), (vec![(1, 9, [7, 0])], 0));
        // Turn 3 has come to its second entry: of 14 records the last four are there.
        let turned =
            [[50, tag(0, 2), 3, 0], [60, tag(1, 2), 3, 8], [30, tag(0, 2), 2, 0], [40, tag(0, 2), 2, 0]];
        let there = vec![(0, 30, [0; 2]), (0, 40, [0; 2]), (0, 50, [0; 2]), (1, 60, [8, 0])];
        assert_eq!(of(1, &turned), (there, 10));
        // What another lane left, which led before, and what is of no turn that can be, is not there.
        let odd =
            [[50, tag(0, 2), 3, 0], [60, tag(1, 9), 3, 8], [30, tag(0, 2), 1, 0], [40, tag(0, 2), 2, 0]];
        assert_eq!(of(1, &odd), (vec![(0, 40, [0; 2]), (0, 50, [0; 2])], 11));
        // Of a record with two words one half may be there alone.
        let halves = [[9, tag(1, 2), 0, 7], [8, 0, 0, 0], [10, tag(1, 2), 1, 7], [8, 0, 0, 0]];
        assert_eq!(of(2, &halves), (vec![(1, 9, [7, 8])], 0));
    }

    #[test]
    fn sums_are_of_the_kernel_that_ran() {
        let total = |kernel, mark, counts| Total { kernel, mark, cycles: mark, counts };
        let totals = vec![
            total(None, 0, vec![(3, 1)]),
            total(Some(FuncId(1)), 1, vec![(3, 2), (4, 1)]),
            total(Some(FuncId(2)), 1, vec![(4, 1)]),
            total(Some(FuncId(1)), 2, vec![(5, 1)]),
        ];
        let layout = Layout { form: Form::Sums, totals, words: 6, ..Layout::default() };
        let head =
            TrackHead { sm: 1, begin_cycles: 5, end_cycles: 900, end_nanos: 1, ..TrackHead::default() };
        let bytes = region(&head, &[[100, 200], [0, 7], [8, 0]]);
        let sum = |mark, count, cycles| Sum { mark, count, cycles };
        let of = |kernel| layout.read(kernel, 0, 7, &bytes).pop().unwrap().sums;
        assert_eq!(of(FuncId(1)), [sum(0, 7, Cycles(100)), sum(1, 22, Cycles(200))]);
        assert_eq!(of(FuncId(2)), [sum(0, 7, Cycles(100)), sum(1, 8, Cycles(200))]);
        assert_eq!((layout.log(), layout.size(10, 1 << 20)), (Some(7), (7, 10)));
        assert_eq!(Layout { words: 30, ..layout }.size(10, 1 << 10), (8, 4));
    }

    #[test]
    fn groups_are_numbered() {
        let (commit, wait) = (Group::Commit { queue: 1 }, |left| Group::Wait { queue: 1, left });
        let (mut queues, mut out) = (Queues::default(), Vec::new());
        for group in [commit, commit, wait(1), wait(1), commit, wait(0), wait(5)] {
            queues.push(
                Some(group),
                Record { mark: u32::from(group != commit), ..Record::default() },
                &mut out,
            );
        }
        queues.push(None, Record { mark: 7, ..Record::default() }, &mut out);
        let said: Vec<(u32, u32)> = out.iter().map(|r| (r.mark, r.payload[0])).collect();
        assert_eq!(said, [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1), (1, 2), (7, 0)]);
    }

    #[test]
    fn garbage_is_read_in_its_own_size() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 37) as u8).collect();
        for log in [0, 7, 9, 40, 64, 99] {
            for lanes in [false, true] {
                for form in [Form::Records, Form::Spans, Form::Ring { entries: 5 }] {
                    let shapes = vec![Shape::default()];
                    let spans = vec![Spanned::default()];
                    let layout = Layout { form, lanes, shapes, spans, ..Layout::default() };
                    let tracks = layout.read(FuncId(0), u64::MAX - 1, log, &bytes);
                    assert!(tracks.iter().map(|t| t.records.0.len()).sum::<usize>() <= bytes.len() / 8);
                }
            }
        }
    }

    #[test]
    fn regions_share_what_there_is() {
        let of_warps = Layout::default();
        assert_eq!(of_warps.size(4, 1 << 30), (19, 4));
        assert_eq!(of_warps.size(10_000, 1 << 30), (16, 10_000));
        assert_eq!(of_warps.size(1 << 30, 1 << 30), (7, 1 << 23));
        assert_eq!(Layout { lanes: true, ..Layout::default() }.size(64, 1 << 20), (9, 64));
        assert_eq!(of_warps.size(1, 0), (7, 0));
        assert!(fits(7 << 32, (1 << 32) - BEYOND) && !fits((7 << 32) + 128, (1 << 32) - BEYOND));
    }
}
