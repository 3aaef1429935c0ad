//! Slots of a track's region: the numbers in them, and the records that they stand for.
//!
//! The readers of all forms share this module. The header of [`super`] describes the forms.

use crate::mark::{Anchor, Record};
use crate::narrow::low32;

/// Bytes of a slot.
pub const SLOT: u64 = 8;
/// Bit that marks the number of an entry as a span's.
pub const SPAN: u32 = 1 << 31;
/// The number of an anchor's entry is this, minus the cycles that the timer took to answer.
pub const ANCHOR: u32 = SPAN - 1;
/// Largest number of cycles that an anchor stores for the timer's answer. Longer answers are stored as this.
pub const SLOWEST: u32 = 1023;
/// Slots of an anchor.
pub const ANCHOR_SLOTS: u32 = 2;

/// The shape of a marker's records.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// Number of payload words, 0 to 2.
    pub words: u32,
    /// For a marker of asynchronous work that is committed in groups: its role. The device does not write the
    /// group's number. The reader counts groups and puts the number into the first payload word.
    pub group: Option<Group>,
}

/// A marker's role in a queue of asynchronous work. A lane commits work in groups and waits for them in order
/// (PTX ISA, `cp.async.commit_group`, `wgmma.commit_group`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// The lane commits a group.
    Commit {
        /// Number of the queue.
        queue: u8,
    },
    /// The lane waits until at most `left` groups are pending. The marker stands for one record for each
    /// group that this wait completes.
    Wait {
        /// Number of the queue.
        queue: u8,
        /// Groups that may still be pending, the newest ones.
        left: u32,
    },
}

/// A span: a region from one marker to another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Spanned {
    /// The marker at which it begins.
    pub begin: u32,
    /// The marker at which it ends. `None`: it ends with its lane, without a marker.
    pub end: Option<u32>,
    /// Whether at most one span from the same begin marker is open at a time.
    pub alone: bool,
}

/// Numbers the groups of asynchronous work in a track's records. By queue: groups committed, groups
/// completed.
#[derive(Clone, Debug, Default)]
pub struct Queues([(u32, u32); 4]);

impl Queues {
    /// Appends to `out` the records that a written record stands for: itself, or one for each group.
    pub fn push(&mut self, group: Option<Group>, record: Record, out: &mut Vec<Record>) {
        let (Some(Group::Commit { queue } | Group::Wait { queue, .. }), queues) = (group, &mut self.0) else {
            return out.push(record);
        };
        let Some((committed, ended)) = queues.get_mut(usize::from(queue) % 4) else { return };
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

/// The cycles that the timer took to answer, from an entry's number. `None` if the entry is not an anchor.
pub(super) fn took(number: u32) -> Option<u32> {
    ANCHOR.checked_sub(number).filter(|took| *took <= SLOWEST)
}

/// The contents of a region's slots.
pub(super) struct SlotContents {
    /// Records, in the order of their clocks.
    pub records: Vec<Record>,
    /// Anchors between the track's begin and end.
    pub anchors: Vec<Anchor>,
    /// Number of slots that did not fit into the region.
    pub lost: u64,
}

/// The first 64-bit clock value at or after `now` whose low half is `low`.
pub(super) fn after(now: u64, low: u32) -> u64 {
    now.wrapping_add(low.wrapping_sub(low32(now)).into())
}

/// The first 32 bits of a slot.
pub(super) fn low_half(slot: &[u8; 8]) -> u32 {
    low32(u64::from_le_bytes(*slot))
}

/// The last 32 bits of a slot.
pub(super) fn high_half(slot: &[u8; 8]) -> u32 {
    low32(u64::from_le_bytes(*slot) >> 32)
}
