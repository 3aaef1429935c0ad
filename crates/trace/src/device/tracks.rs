//! The layout of tracks in device memory, and the reader of it.
//!
//! All bytes are zero before the launch. Each track has a **region** of 2^k bytes, aligned to its size: a
//! [`TrackHead`], then slots of eight bytes. A warp has one region, which its lowest lane writes, or the lane
//! that leads its group. With [`Layout::lanes`] it has a region for each lane.
//!
//! **[`Form::Records`].** A record is a slot `{low half of the clock, marker + 1}`. The payload words of
//! a marker that has some are in the slot behind it. A lane's **cursor** is the low half of the address of
//! its next slot. Past the end of the region the lane writes nothing, but the cursor goes on, so that missing
//! slots are counted. The cursor stops at [`LAST`]. Regions lie where [`fits`] allows, so all addresses of a
//! region have the same high half.
//!
//! **[`Form::Sums`].** A lane writes nothing before it ends. It has [`Layout::words`] words of 32
//! bits in registers, which start at 0, and writes them behind the head at its end. A word is either a number
//! of begins, or the sum of a region's times: its ends add the low half of the clock, and its begins subtract
//! it. A sum is exact if the visits took fewer than 2^32 cycles together, which holds if the whole track is
//! no longer than that.
//!
//! **[`Form::Ring`].** Slots form entries of 16 bytes, `{low half of the clock, marker + 1 | lane << 24,
//! turn, first word}`. If a marker has two words, entries have 32 bytes, and `{second word, turn, 0, 0}`
//! follows. After the last entry a lane continues with the first one, and its turn grows by 1. The entries
//! therefore show which one is newest and how many were overwritten, even if the lane never ended. An entry
//! whose halves have different turns was being written. A lane that traps does not record that it ended.
//!
//! **[`Form::Spans`].** Slots form entries of 16 bytes. A region has one entry, `{clock at its begin,
//! span + 1 | `[`SPAN`]`, clock at its end, word}`. Any other marker has a record, `{clock, marker + 1,
//! words}`. Entries are in the order in which they were written. The reader gives the records that each entry
//! stands for, in the order of their clocks. If the clock may have wrapped since a span began, both of its
//! records count as lost. Only a track of 2^32 cycles or more can have such a span.
//!
//! **Anchors.** With records and spans, a lane also writes **anchors**:
//! `{low half of the clock, `[`ANCHOR`]` - took, low and high half of the global timer}`. It writes one at a
//! place where it waits, if it has written [`Layout::apart`] slots since the last one. The first anchor comes
//! after [`Layout::first`] slots, which differs from warp to warp, so that not all warps read the timer at
//! once. `took` is the number of cycles until the timer answered, which grows if many warps ask. An anchor
//! that does not fit is neither written nor counted, and the track has no further one.
//!
//! # Invariants
//! Reading never panics and allocates in proportion to the bytes, whatever they are.
//!
//! # Limitations
//! A lane that never ended did not write how many of its records did not fit. The count of missing records
//! stops at 256 MiB. In a ring of a lane that leads its group, loses the lead and leads again, entries of the
//! first time may stand for newer ones.

mod slots;
mod spans;

use crate::device::TrackHead;
use crate::ids::{Cycles, FuncId, Nanos, WarpId, WarpSize};
use crate::mark::{Anchor, Anchors, Record, Records, Sum, Track};
use crate::narrow::{index, low32};

pub use slots::{ANCHOR, ANCHOR_SLOTS, Group, Queues, SLOT, SLOWEST, SPAN, Shape, Spanned};
use slots::{SlotContents, after, high_half, low_half, took};

/// The value at which a cursor stops: 64 KiB before it would wrap. That is more than control-equivalent
/// markers write together.
pub const LAST: u32 = 0xFFFF_0000;
/// Bytes that the addresses after the last region must have before the next multiple of 2^32, for cursors
/// that go on.
pub const BEYOND: u64 = 1 << 28;
/// Largest number of bytes of a launch's regions. An allocation of twice as many bytes plus [`BEYOND`] always
/// has a place for them between two multiples of 2^32.
pub const MOST: u64 = 1 << 31;
/// Smallest and largest base-2 logarithm of a region's bytes: 8 slots and the head, and 64 Ki slots.
pub const LOGS: (u32, u32) = (7, 19);

/// Bytes of an entry of a ring; twice as many if a marker has two words.
pub const ENTRY: u64 = 16;
/// Largest number of entries of a ring.
pub const MOST_ENTRIES: u32 = 1 << 14;
/// First bit of the lane in the second word of a ring's entry.
pub const LANE_BIT: u32 = 24;

/// Slots from one anchor of a track to the next, about. Anchors take a ninth of a track's memory.
pub const APART: u32 = 16;
/// The first anchors of warps are staggered in this many steps of [`APART`], by the warp's number. A power of
/// two.
pub const STAGGERED: u32 = 8;

/// Largest number of words of a track of sums. Each word is a register of the kernel.
pub const WORDS: u32 = 32;

/// What a track keeps of the markers that its lane passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// A record for each visit of a marker; the first ones that fit.
    #[default]
    Records,
    /// An entry for each region when it ends, and a record for each other marker; the first ones that fit.
    Spans,
    /// Total time and number of visits of each region.
    Sums,
    /// A record for each visit of a marker; the last ones.
    Ring {
        /// Number of entries to keep, 1 to [`MOST_ENTRIES`]. A track keeps more if its region has room.
        entries: u32,
    },
}

/// The layout of a launch's tracks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// What tracks keep.
    pub form: Form,
    /// For [`Form::Sums`]: the meaning of the words.
    pub totals: Vec<Total>,
    /// For [`Form::Spans`]: the markers of each span.
    pub spans: Vec<Spanned>,
    /// For [`Form::Sums`]: number of words of a track.
    pub words: u32,
    /// Whether each lane has a track. Otherwise each warp has one.
    pub lanes: bool,
    /// Size of the warps.
    pub warp_size: WarpSize,
    /// Slots from one anchor to the next; 0 for no anchors between a track's begin and end.
    pub apart: u32,
    /// By marker: the shape of its records.
    pub shapes: Vec<Shape>,
}

/// The ring in a track's region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ring {
    /// Bytes of an entry.
    pub entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// Base-2 logarithm of the region's bytes.
    pub log: u32,
}

/// A region of [`Form::Sums`], and the words that hold its sums.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Total {
    /// The kernel that has the region. `None`: a device function, which any kernel may call. Different
    /// kernels use the same words for different regions.
    pub kernel: Option<FuncId>,
    /// The first marker at which the region begins.
    pub mark: u32,
    /// Index of the word with its cycles.
    pub cycles: u32,
    /// Index of each word that counts its begins, and the number of visits that begin each time.
    pub counts: Vec<(u32, u32)>,
}

/// Whether `bytes` bytes of regions may lie at address `at`: cursors must not wrap.
pub fn fits(at: u64, bytes: u64) -> bool {
    let low = at & u64::from(u32::MAX);
    low + bytes <= (1 << 32) - BEYOND
}

/// Bytes that the longest track wanted, its head included, in regions of 2^`log` bytes. A track that never
/// ended counts as its whole region.
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
    /// Number of regions of a warp.
    pub fn regions(&self) -> u64 {
        if self.lanes { self.warp_size.lanes() } else { 1 }
    }
    /// Number of slots before the first anchor of a warp.
    pub fn first(&self, warp: u64) -> u32 {
        (low32(warp % u64::from(STAGGERED)) + 1) * (self.apart / STAGGERED)
    }
    /// Base-2 logarithm of a region's bytes, for forms whose size does not depend on the available memory.
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
    /// Whether a lane records its end at a place where it ends; `trap`: the place is a `trap`. A ring does
    /// not record an end at a `trap`, because it is read to see where lanes were.
    pub fn ends(&self, trap: bool) -> bool {
        !(trap && matches!(self.form, Form::Ring { .. }))
    }
    /// For [`Form::Ring`]: the layout of the ring.
    pub fn ring(&self) -> Option<Ring> {
        let Form::Ring { entries } = self.form else { return None };
        let entry = if self.shapes.iter().any(|s| s.words > 1) { 2 * ENTRY } else { ENTRY };
        let head = TrackHead::SIZE as u64;
        let bytes = head + u64::from(entries.clamp(1, MOST_ENTRIES)) * entry;
        let log = bytes.next_power_of_two().ilog2().clamp(LOGS.0, LOGS.1);
        Some(Ring { entry, entries: ((1 << log) - head) / entry, log })
    }
    /// The records that written records stand for: groups of asynchronous work get their numbers.
    pub fn numbered(&self, written: impl IntoIterator<Item = Record>) -> Vec<Record> {
        let (mut records, mut queues) = (Vec::new(), Queues::default());
        for record in written {
            let group = self.shapes.get(record.mark as usize).and_then(|s| s.group);
            queues.push(group, record, &mut records);
        }
        records
    }
    /// The sums of all regions that a track visited, from its words, after a launch of `kernel`.
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
    /// For `warps` warps in `budget` bytes: base-2 logarithm of a region's bytes, and the number of warps
    /// that have room.
    pub fn size(&self, warps: u64, budget: u64) -> (u32, u64) {
        let regions = self.regions();
        let room = budget / regions;
        let shared = || (room / warps.max(1)).checked_ilog2().unwrap_or(0).clamp(LOGS.0, LOGS.1);
        let log = self.log().unwrap_or_else(shared);
        (log, warps.min(room >> log))
    }
    /// Reads the tracks of a launch of `kernel`. `bytes` are the regions of the warps from number `first` on,
    /// each of 2^`log` bytes.
    pub fn read(&self, kernel: FuncId, first: u64, log: u32, bytes: &[u8]) -> Vec<Track> {
        let size = 1usize.checked_shl(log).unwrap_or(usize::MAX).max(TrackHead::SIZE);
        let regions = self.regions();
        let track = |(i, region): (usize, &[u8])| {
            let warp = WarpId(first.saturating_add(i as u64 / regions));
            self.track(kernel, warp, region)
        };
        bytes.chunks_exact(size).enumerate().filter_map(track).collect()
    }

    /// Bytes that the tracks in regions of 2^`log` bytes used, their heads included. Records that did not fit
    /// count as well.
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

    /// Reads one region. `None` if no lane began there.
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
                    spans::read(&self.shapes, &self.spans, &head, slots)
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
                let word = |i: u32| {
                    slots
                        .get(i as usize / 2)
                        .map_or(0, if i.is_multiple_of(2) { low_half } else { high_half })
                };
                Track { sums: self.sums(kernel, word), ..track }
            }
            Form::Ring { .. } => {
                let (written, lost) = self.last(head.lane, region.get(TrackHead::SIZE..)?);
                Track { records: Records(self.numbered(written)), lost, last: true, ..track }
            }
        })
    }

    /// The entries of `lane` in a ring, oldest first, and the number of overwritten ones.
    fn last(&self, lane: u32, bytes: &[u8]) -> (Vec<Record>, u64) {
        let Some(ring) = self.ring() else { return Default::default() };
        let entry = |bytes: &[u8]| -> Option<(u32, Record)> {
            let (slots, _) = bytes.as_chunks::<8>();
            let [first, second] = [slots.first()?, slots.get(1)?];
            let (tag, turn) = (high_half(first), low_half(second));
            let mark = (tag & ((1 << LANE_BIT) - 1)).checked_sub(1)?;
            let mut payload = [high_half(second), 0];
            if let Some(third) = slots.get(2) {
                payload[1] = low_half(third);
                (high_half(third) == turn).then_some(())?;
            }
            let known = tag >> LANE_BIT == lane && (mark as usize) < self.shapes.len();
            known.then_some((turn, Record { mark, clock: low_half(first), payload }))
        };
        let all: Vec<Option<(u32, Record)>> =
            bytes.chunks_exact(index(ring.entry)).take(index(ring.entries)).map(entry).collect();
        let newest = all.iter().enumerate().filter_map(|(i, e)| Some((e.as_ref()?.0, i))).max();
        let Some((turn, at)) = newest else { return Default::default() };
        let of = |turn: Option<u32>, e: &Option<(u32, Record)>| {
            e.filter(|(t, _)| Some(*t) == turn).map(|(_, r)| r)
        };
        let (now, before) = all.split_at_checked(at + 1).unwrap_or_default();
        let before = before.iter().filter_map(|e| of(turn.checked_sub(1), e));
        let records: Vec<Record> = before.chain(now.iter().filter_map(|e| of(Some(turn), e))).collect();
        let made = u64::from(turn) * all.len() as u64 + at as u64 + 1;
        let lost = made - records.len() as u64;
        (records, lost)
    }

    /// Reads the slots of a region of [`Form::Records`].
    fn read_slots(&self, head: &TrackHead, slots: &[[u8; 8]]) -> SlotContents {
        let ended = head.end_nanos != 0;
        let room = slots.len() as u64 * SLOT;
        let used = if ended { head.written.min(room) } else { room };
        let slots = slots.get(..index(used / SLOT)).unwrap_or_default();
        let (mut records, mut anchors, mut at) = (Vec::new(), Vec::new(), 0);
        let mut now = head.begin_cycles;
        while let Some(slot) = slots.get(at) {
            now = after(now, low_half(slot));
            let Some(mark) = high_half(slot).checked_sub(1) else { break };
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
            let mut record = Record { mark, clock: low_half(slot), payload: [0; 2] };
            at += 1;
            if shape.words > 0 {
                let Some(words) = slots.get(at) else { break };
                record.payload = [low_half(words), high_half(words)];
                at += 1;
            }
            records.push(record);
        }
        let lost = if ended { head.written.saturating_sub(at as u64 * SLOT) / SLOT } else { 0 };
        SlotContents { records: self.numbered(records), anchors, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::narrow::low8;

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
        // For a lane that never ended, all records in the region count. A region without a lane is no track.
        // Records that did not fit are counted.
        bytes.extend(region(&head, &slots[..3]));
        bytes.extend(region(&TrackHead::default(), &slots));
        bytes.extend(region(&TrackHead { written: 80, ..ended }, &[[1, 1]; 8]));
        // A region that its lane has left is no track.
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
        // The third of the five regions has no track.
        assert_eq!(layout.took(7, &bytes), 96 + 128 + 144 + 96);
        let ring = Layout { form: Form::Ring { entries: 3 }, ..layout };
        assert_eq!(ring.took(7, &bytes), 4 * 128);
    }

    /// Anchors are no records. Their clocks have 64 bits, even if the low half wrapped since the track's
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
        // Turn 3 has reached its second entry: of 14 records the last four are left.
        let turned =
            [[50, tag(0, 2), 3, 0], [60, tag(1, 2), 3, 8], [30, tag(0, 2), 2, 0], [40, tag(0, 2), 2, 0]];
        let there = vec![(0, 30, [0; 2]), (0, 40, [0; 2]), (0, 50, [0; 2]), (1, 60, [8, 0])];
        assert_eq!(of(1, &turned), (there, 10));
        // Entries of another lane, which led before, and of impossible turns are ignored.
        let odd =
            [[50, tag(0, 2), 3, 0], [60, tag(1, 9), 3, 8], [30, tag(0, 2), 1, 0], [40, tag(0, 2), 2, 0]];
        assert_eq!(of(1, &odd), (vec![(0, 40, [0; 2]), (0, 50, [0; 2])], 11));
        // A record with two words may be half written.
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
        let bytes: Vec<u8> = (0..1000u64).map(|i| low8(i * 37)).collect();
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
        let of_lanes = Layout { lanes: true, ..Layout::default() };
        assert_eq!(of_lanes.size(64, 1 << 20), (9, 64));
        let wide = Layout { warp_size: WarpSize::W64, ..of_lanes };
        assert_eq!((wide.regions(), wide.size(64, 1 << 20)), (64, (8, 64)));
        assert_eq!(of_warps.size(1, 0), (7, 0));
        assert!(fits(7 << 32, (1 << 32) - BEYOND) && !fits((7 << 32) + 128, (1 << 32) - BEYOND));
    }
}
