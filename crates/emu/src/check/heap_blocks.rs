//! Blocks of `malloc`, tracked one by one for the bounds check.
//!
//! With the check on, unused bytes separate the blocks, and a freed block is not handed out again for a
//! while.

use std::collections::{BTreeMap, VecDeque};

use prlx_trace::check::{Allocation, Kind, Space};

use crate::exec::launch::Launch;
use crate::mem::access::each;
use crate::mem::heap;

use super::accesses::{self, WarpAccess};
use super::findings::{self, FindingLog, WarpStep};

/// Unused bytes behind each block.
const REDZONE: u64 = 32;
/// Bytes of freed blocks that are kept before the heap may reuse them.
const MAX_QUARANTINE: u64 = heap::SIZE / 4;

/// A block that `malloc` returned.
#[derive(Clone, Copy, Debug)]
pub struct HeapBlock {
    /// The address of the block.
    pub at: u64,
    /// The size in bytes that the kernel asked for.
    pub bytes: u64,
    /// The lane that called `malloc`.
    pub by: WarpStep,
    /// The step that freed the block.
    pub freed: Option<WarpStep>,
}

impl HeapBlock {
    /// Whether an address lies in the block.
    pub fn holds(&self, at: u64) -> bool {
        at >= self.at && at - self.at < self.bytes
    }
    /// The block as the allocation of a finding.
    pub fn allocation(&self) -> Allocation {
        Allocation { name: "a block of `malloc`".into(), base: self.at, bytes: self.bytes }
    }
}

/// The blocks of a launch.
#[derive(Debug, Default)]
pub struct HeapBlocks {
    by_address: BTreeMap<u64, HeapBlock>,
    quarantine: VecDeque<u64>,
    quarantine_bytes: u64,
    /// First and last address that a block ever had: a quick test for accesses outside the heap.
    range: (u64, u64),
}

impl HeapBlocks {
    /// Allocates a block; returns 0 if there is no room.
    pub fn malloc(&mut self, launch: &Launch<'_>, bytes: u64, by: WarpStep) -> u64 {
        let room = bytes.saturating_add(REDZONE);
        let mut at = launch.heap.malloc(room);
        while at == 0 && !self.quarantine.is_empty() {
            self.release_oldest(launch);
            at = launch.heap.malloc(room);
        }
        if at != 0 {
            let end = at.saturating_add(room);
            self.range =
                if self.range.1 == 0 { (at, end) } else { (self.range.0.min(at), self.range.1.max(end)) };
            self.by_address.insert(at, HeapBlock { at, bytes, by, freed: None });
        }
        at
    }
    /// Frees a block, or reports that `at` is no live block.
    pub fn free(&mut self, launch: &Launch<'_>, log: &mut FindingLog, at: u64, by: WarpStep) {
        if at == 0 {
            return;
        }
        match self.by_address.get_mut(&at) {
            Some(b) if b.freed.is_none() => {
                b.freed = Some(by);
                self.quarantine.push_back(at);
                self.quarantine_bytes += b.bytes + REDZONE;
                while self.quarantine_bytes > MAX_QUARANTINE {
                    self.release_oldest(launch);
                }
            }
            twice => {
                let before = twice.and_then(|b| b.freed.map(|f| (b.by, f)));
                log.add(launch, Kind::BadFree, by, before.map(|b| b.1.step), 0, || {
                    let mut sides = vec![findings::side(launch, "this `free`", by)];
                    let what = match before {
                        Some((by, freed)) => {
                            sides.push(findings::side(launch, "freed before here", freed));
                            sides.push(findings::side(launch, "allocated here", by));
                            format!("frees the block at {at:#x} again")
                        }
                        None => format!("frees {at:#x}, which `malloc` did not give"),
                    };
                    findings::finding(Kind::BadFree, what, sides)
                });
            }
        }
    }
    fn release_oldest(&mut self, launch: &Launch<'_>) {
        if let Some(b) = self.quarantine.pop_front().and_then(|at| self.by_address.remove(&at)) {
            self.quarantine_bytes = self.quarantine_bytes.saturating_sub(b.bytes + REDZONE);
            // The block was allocated until now, so this cannot fail.
            let _ = launch.heap.free(b.at);
        }
    }
    /// The lanes among `lanes` that access bytes of the heap outside every live block.
    pub fn outside_blocks(&self, t: &WarpAccess, lanes: u32) -> u32 {
        let mut outside = 0;
        if self.range.1 != 0 {
            each(lanes, |l| {
                let (at, bytes) = (t.addr.0[l], u64::from(t.bytes[l]));
                if at < self.range.0 || at >= self.range.1 || accesses::space(t.space, at) != Space::Global {
                    return;
                }
                let whole =
                    |b: &HeapBlock| b.freed.is_none() && b.holds(at) && b.bytes - (at - b.at) >= bytes;
                outside |= u32::from(!self.near(at).is_some_and(|b| whole(&b))) << l;
            });
        }
        outside
    }
    /// The last block that begins at or before an address.
    pub fn near(&self, at: u64) -> Option<HeapBlock> {
        if at < self.range.0 || at >= self.range.1 {
            return None;
        }
        self.by_address.range(..=at).next_back().map(|(_, b)| *b)
    }
    /// Reports the blocks that were not freed, by the source line of their `malloc`.
    pub fn leaks(&self, launch: &Launch<'_>, log: &mut FindingLog) {
        let live = |step: u32| {
            let each = self.by_address.values().filter(|b| b.freed.is_none() && b.by.step == step);
            each.fold((0u64, 0u64), |(n, bytes), b| (n + 1, bytes + b.bytes))
        };
        let mut steps: Vec<WarpStep> =
            self.by_address.values().filter(|b| b.freed.is_none()).map(|b| b.by).collect();
        steps.sort_by_key(|w| (w.step, w.cta, w.warp, w.lanes));
        steps.dedup_by_key(|w| w.step);
        for by in steps {
            let (n, bytes) = live(by.step);
            log.add(launch, Kind::Leak, by, None, 0, || {
                let what = format!(
                    "{n} blocks of `malloc`, {bytes} bytes in all, were not freed by the end of the launch"
                );
                findings::finding(Kind::Leak, what, vec![findings::side(launch, "allocated here", by)])
            });
        }
    }
}
