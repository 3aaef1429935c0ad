//! How tracks lie in device memory, and reading them.
//!
//! All of it starts as zeros. Each track has a **region** of 2^k bytes, aligned to its size: a [`TrackHead`], then slots of eight bytes.
//! A record is a slot `{low half of the clock, marker + 1}`; the words of a marker that has some are the slot behind it.
//!
//! A lane's **cursor** is the low half of the address of its next slot, and goes on behind the region's end, where nothing is
//! written any more: what is missing is counted. It stops at [`LAST`]. So regions lie where [`fits`] says, and the
//! addresses of a region have one high half.
//!
//! A warp has one region, of its lowest lane or of the one that leads its group, or 32, one a lane.
//!
//! Holds: reading allocates in proportion to the bytes, whatever they are. Misses: a lane that never ended did not say how many of its
//! records did not fit; of one that wanted more than 256 MiB at least, only that many are counted.

use crate::device::TrackHead;
use crate::ids::WarpId;
use crate::mark::{Anchor, Record, Records, Track};

/// Bytes of a slot.
pub const SLOT: u64 = 8;
/// Where a cursor stops: 64 KiB, more than what control-equivalent markers write together, from where it would wrap.
pub const LAST: u32 = 0xFFFF_0000;
/// Bytes from regions to where cursors stop.
pub const BEYOND: u64 = 1 << 28;
/// Most bytes of a launch's regions: twice as many and [`BEYOND`] always have room for them between two multiples of 2^32.
pub const MOST: u64 = 1 << 31;
/// Logarithms of a region's bytes: 8 slots and the head at least, 64 Ki slots at most.
pub const LOGS: (u32, u32) = (7, 19);

/// Where a launch's tracks lie.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Whether each lane has a track; else the warp has one.
    pub lanes: bool,
    /// By marker: what its records look like.
    pub shapes: Vec<Shape>,
}

/// What a marker's records look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Whether a slot of words follows.
    pub words: bool,
    /// Its part in a queue of asynchronous work: the first word of its records is the number of a group, which the reader counts.
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

/// Bytes that the longest track in regions of 2^`log` bytes wanted of its own, its head among them; one that never ended: all.
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
    /// The logarithm of a region's bytes for so many warps in `budget` bytes, and for how many of them there is room.
    pub fn size(&self, warps: u64, budget: u64) -> (u32, u64) {
        let regions = self.regions();
        let room = budget / regions;
        let log = (room / warps.max(1)).checked_ilog2().unwrap_or(0).clamp(LOGS.0, LOGS.1);
        (log, warps.min(room >> log))
    }
    /// The tracks in the regions of warps from `first` on; `log` is the logarithm of a region's bytes.
    pub fn read(&self, first: u64, log: u32, bytes: &[u8]) -> Vec<Track> {
        let size = 1usize.checked_shl(log).unwrap_or(usize::MAX).max(TrackHead::SIZE);
        let regions = self.regions();
        let track = |(i, region): (usize, &[u8])| {
            let warp = WarpId(first.saturating_add(i as u64 / regions));
            self.track(warp, region)
        };
        bytes.chunks_exact(size).enumerate().filter_map(track).collect()
    }

    /// What one region holds, if a lane began there.
    fn track(&self, warp: WarpId, region: &[u8]) -> Option<Track> {
        let head = TrackHead::read(region)?;
        let sm = head.sm.checked_sub(1).filter(|_| head.left != head.lane.wrapping_add(1))?;
        let slots = region.get(TrackHead::SIZE..)?.as_chunks::<8>().0;
        let ended = head.end_nanos != 0;
        let room = slots.len() as u64 * SLOT;
        let used = if ended { head.written.min(room) } else { room };
        let slots = &slots[..(used / SLOT) as usize];
        let half = |slot: &[u8; 8], at: usize| u32::from_le_bytes([slot[at], slot[at + 1], slot[at + 2], slot[at + 3]]);
        let (mut records, mut at, mut queues) = (Vec::new(), 0, Queues::default());
        while let Some(slot) = slots.get(at) {
            let Some(mark) = half(slot, 4).checked_sub(1) else { break };
            let Some(shape) = self.shapes.get(mark as usize) else { break };
            let mut record = Record { mark, clock: half(slot, 0), payload: [0; 2] };
            at += 1;
            if shape.words {
                let Some(words) = slots.get(at) else { break };
                record.payload = [half(words, 0), half(words, 4)];
                at += 1;
            }
            queues.push(shape.group, record, &mut records);
        }
        let lost = if ended { head.written.saturating_sub(at as u64 * SLOT) / SLOT } else { 0 };
        Some(Track {
            warp,
            lane: head.lane.min(63) as u8,
            sm,
            group: (head.grouped != 0).then_some(head.group),
            begin: Some(Anchor { cycles: head.begin_cycles, nanos: head.begin_nanos }),
            end: ended.then_some(Anchor { cycles: head.end_cycles, nanos: head.end_nanos }),
            lost,
            last: false,
            records: Records(records),
            sums: Vec::new(),
        })
    }
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
        let shapes = vec![Shape::default(), Shape { words: true, group: None }];
        let layout = Layout { lanes: false, shapes };
        let head = TrackHead { sm: 4, lane: 7, group: 9, grouped: 1, begin_cycles: 5, ..TrackHead::default() };
        let ended = TrackHead { end_nanos: 1, end_cycles: 8, written: 32, ..head };
        let slots = [[10, 1], [11, 2], [70, 0], [12, 1]];
        let mut bytes = region(&ended, &slots);
        // One that never ended has what is there, one in which nobody began is none; what did not fit is counted.
        bytes.extend(region(&head, &slots[..3]));
        bytes.extend(region(&TrackHead::default(), &slots));
        bytes.extend(region(&TrackHead { written: 80, ..ended }, &[[1, 1]; 8]));
        // Nor is one whose lane has left it.
        bytes.extend(region(&TrackHead { left: 8, ..ended }, &slots));
        let tracks = layout.read(100, 7, &bytes);
        let r = |mark, clock, word| Record { mark, clock, payload: [word, 0] };
        let all = vec![r(0, 10, 0), r(1, 11, 70), r(0, 12, 0)];
        let first = Track {
            warp: WarpId(100),
            lane: 7,
            sm: 3,
            group: Some(9),
            begin: Some(Anchor { cycles: 5, nanos: 0 }),
            end: Some(Anchor { cycles: 8, nanos: 1 }),
            records: Records(all.clone()),
            ..Track::default()
        };
        assert_eq!(tracks[0], first);
        let second = Track { warp: WarpId(101), end: None, records: Records(all[..2].to_vec()), ..first };
        assert_eq!(tracks[1], second);
        assert_eq!((tracks[2].warp, tracks[2].records.0.len(), tracks[2].lost), (WarpId(103), 8, 2));
        assert_eq!(tracks.len(), 3);
        assert_eq!((wanted(7, &bytes), wanted(7, &bytes[..128]), wanted(7, &[0; 128])), (144, 96, 0));
    }

    #[test]
    fn groups_are_numbered() {
        let (commit, wait) = (Group::Commit { queue: 1 }, |left| Group::Wait { queue: 1, left });
        let (mut queues, mut out) = (Queues::default(), Vec::new());
        for group in [commit, commit, wait(1), wait(1), commit, wait(0), wait(5)] {
            queues.push(Some(group), Record { mark: u32::from(group != commit), ..Record::default() }, &mut out);
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
                let shapes = vec![Shape::default()];
                let tracks = Layout { lanes, shapes }.read(u64::MAX - 1, log, &bytes);
                assert!(tracks.iter().map(|t| t.records.0.len()).sum::<usize>() <= bytes.len() / 8);
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
