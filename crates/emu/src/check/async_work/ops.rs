//! The table of asynchronous operations in flight, and the marks on the memory that they use.
//!
//! # Invariants
//! A word of shared memory is marked as long as an operation in the table writes or reads it. An operation
//! leaves the table, with its marks, when it is complete for this check.

use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;

use crate::check::accesses::{self, WarpAccess};
use crate::check::findings::WarpStep;
use crate::check::proxy::Proxy;
use crate::exec::cta_state::CtaState;
use crate::exec::launch::Launch;
use crate::matrix::wgmma_state::WARPS;
use prlx_lanes::LANES;
use prlx_trace::check::Space;

/// Bytes that share a mark: the least that a copy moves.
pub const WORD: u64 = 4;

/// Bytes of global memory whose operations are listed together.
const PAGE: u64 = 4096;

/// The most operations of one warp that are tracked; beyond it the oldest count as complete.
const MAX_OPS: usize = 1 << 14;

/// A range of bytes in memory.
#[derive(Clone, Copy, Debug)]
pub enum Span {
    /// Bytes of the shared memory of a CTA.
    Shared {
        /// Number of the CTA in the grid.
        cta: u64,
        /// The first address in the CTA's shared memory.
        at: u64,
        /// The length in bytes.
        bytes: u64,
    },
    /// Cells of the tensor memory of a CTA.
    Tensor {
        /// Number of the CTA in the grid.
        cta: u64,
        /// The first cell: the lane by groups of 16, times the columns, plus the column.
        at: u64,
        /// The number of cells.
        cells: u64,
    },
    /// Bytes of global memory.
    Global {
        /// The first address.
        at: u64,
        /// The length in bytes.
        bytes: u64,
    },
}

impl Span {
    /// The bytes that lane `l` accesses, if they lie in global memory or inside shared memory. Accesses
    /// outside shared memory belong to the bounds check.
    pub fn of(launch: &Launch<'_>, cta: &CtaState, access: &WarpAccess, l: usize) -> Option<Span> {
        let (at, bytes) = (access.addr.0[l], u64::from(access.bytes[l]));
        match accesses::space(access.space, at) {
            _ if bytes == 0 => None,
            Space::Shared => {
                // All CTAs have the same amount of shared memory.
                let at = accesses::within(access.space, at);
                let inside = cta.shared.len().checked_sub(bytes).is_some_and(|last| at <= last);
                inside.then(|| Span::Shared { cta: accesses::owner(launch, cta, access, l), at, bytes })
            }
            Space::Global => Some(Span::Global { at, bytes }),
            _ => None,
        }
    }
    /// Whether the span has some of these bytes of global memory.
    pub fn overlaps_global(self, first: u64, len: u64) -> bool {
        matches!(self, Span::Global { at, bytes }
            if first < at.saturating_add(bytes) && at < first.saturating_add(len))
    }
    /// Whether the span has some of these bytes of the shared memory of a CTA.
    fn overlaps_shared(self, owner: u64, first: u64, len: u64) -> bool {
        matches!(self, Span::Shared { cta, at, bytes }
            if cta == owner && first < at + bytes && at < first + len)
    }
}

/// What a thread waits for until the operation is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitGroup {
    /// A group of `cp.async`: the lane, and the number of the group in it.
    LaneCopy(usize, u32),
    /// A group of bulk copies: the lane, and the number of the group in it.
    BulkCopy(usize, u32),
    /// A group of `wgmma`: the number of the group in the warp.
    Product(u32),
    /// The instructions of a lane on tensor memory that `tcgen05.commit` tracks.
    Tensor(usize),
    /// The `tcgen05.ld` of a warp.
    TensorLoad,
    /// The `tcgen05.st` of a warp.
    TensorStore,
    /// No group: only the phase of an mbarrier.
    Mbarrier,
}

/// An asynchronous operation in flight.
#[derive(Clone, Debug)]
pub struct AsyncOp {
    /// The lanes that began it, and the step.
    pub by: WarpStep,
    /// The memory that it writes.
    pub writes: Vec<Span>,
    /// The memory that it reads.
    pub reads: Vec<Span>,
    /// It updates what it writes (a reduction): other updates may happen at the same time.
    pub updates: bool,
    /// Accumulators, as registers of [`Facts`](crate::check::facts::Facts).
    pub registers: Vec<u32>,
    /// Registers that it still reads.
    pub operands: Vec<u32>,
    /// The group that completes it.
    pub group: WaitGroup,
    /// Whether a phase of an mbarrier completes it.
    pub counted: bool,
    /// For a product: the warps of the warpgroup that have waited for it, one bit each.
    pub waited: u8,
}

impl AsyncOp {
    /// An operation that was just begun.
    pub fn new(by: WarpStep, writes: Vec<Span>, reads: Vec<Span>, group: WaitGroup) -> AsyncOp {
        AsyncOp {
            by,
            writes,
            reads,
            updates: false,
            registers: Vec::new(),
            operands: Vec::new(),
            group,
            counted: false,
            waited: 0,
        }
    }
    /// Whether `who` must not write what the operation reads: nobody has waited for it, or `who` is a warp of
    /// its warpgroup that has not. The wait of one warp covers the parts of all four; threads outside the
    /// warpgroup learn of completion through that warp.
    pub fn still_reads(&self, who: WarpStep) -> bool {
        let (group, place) = (who.warp / WARPS as u32, who.warp % WARPS as u32);
        let inside = who.cta == self.by.cta && group == self.by.warp / WARPS as u32;
        self.waited == 0 || inside && self.waited >> place & 1 == 0
    }
}

/// The operations of a warp.
#[derive(Clone, Debug, Default)]
pub struct WarpOps {
    /// By lane: groups of `cp.async` that were committed.
    pub copies: [u32; LANES],
    /// By lane: groups of bulk copies that were committed.
    pub bulks: [u32; LANES],
    /// Groups of products that were committed.
    pub products: u32,
    /// The operations in flight, in the order in which they began.
    pub in_flight: Vec<u64>,
    /// Accumulators that a product may still write, and the product.
    pub registers: FxHashMap<u32, u64>,
    /// Registers that a product may still read, and the product.
    pub operands: FxHashMap<u32, u64>,
}

/// The marks on the words of a CTA's shared memory, or on the cells of its tensor memory.
#[derive(Clone, Debug, Default)]
pub struct WordMarks {
    /// By word: the operation that still writes it; 0: none.
    pub written: Vec<u64>,
    /// By word: the operation that began last of those that read it, and how many still do.
    pub read: Vec<(u64, u32)>,
}

/// All operations in flight, by number from 1 on.
#[derive(Debug, Default)]
pub struct AsyncOps {
    /// The operations by number.
    pub in_flight: FxHashMap<u64, AsyncOp>,
    /// The marks on shared memory, by CTA.
    pub shared: FxHashMap<u64, WordMarks>,
    /// The marks on tensor memory, by CTA.
    pub tensor: FxHashMap<u64, WordMarks>,
    /// By page of global memory: the operations with a source or destination in it.
    pub global: FxHashMap<u64, Vec<u64>>,
    /// The ordinary writes that the asynchronous proxy may not see.
    pub proxy: Proxy,
    /// The operations of each warp, by CTA and warp.
    pub warps: FxHashMap<(u64, u32), WarpOps>,
    /// The operations that wait for a phase, by CTA and address of the mbarrier.
    /// Each with the parity of the phase.
    pub phases: FxHashMap<(u64, u64), Vec<(u64, bool)>>,
    last: u64,
}

impl AsyncOps {
    /// An empty table.
    pub fn new(proxy: Proxy) -> AsyncOps {
        AsyncOps { proxy, ..AsyncOps::default() }
    }
    /// The operations of the warp that runs `here`.
    pub fn warp_ops(&mut self, here: WarpStep) -> &mut WarpOps {
        self.warps.entry((here.cta, here.warp)).or_default()
    }
    /// Adds an operation, marks its memory, and returns its number.
    pub fn track(&mut self, p: AsyncOp) -> u64 {
        self.last += 1;
        let n = self.last;
        for (spans, written) in [(&p.writes, true), (&p.reads, false)] {
            for span in spans {
                let (words, first, end) = match *span {
                    Span::Shared { cta, at, bytes } => {
                        let words = self.shared.entry(cta).or_default();
                        (words, (at / WORD) as usize, (at + bytes).div_ceil(WORD) as usize)
                    }
                    Span::Tensor { cta, at, cells } => {
                        (self.tensor.entry(cta).or_default(), at as usize, (at + cells) as usize)
                    }
                    Span::Global { at, bytes } => {
                        for page in pages(at, bytes) {
                            let there = self.global.entry(page).or_default();
                            if there.last() != Some(&n) {
                                there.push(n);
                            }
                        }
                        continue;
                    }
                };
                if words.written.len() < end {
                    words.written.resize(end, 0);
                    words.read.resize(end, (0, 0));
                }
                if written {
                    words.written[first..end].fill(n);
                } else {
                    words.read[first..end].iter_mut().for_each(|r| *r = (n, r.1 + 1));
                }
            }
        }
        let ops = self.warp_ops(p.by);
        ops.in_flight.push(n);
        let oldest = (ops.in_flight.len() > MAX_OPS).then(|| ops.in_flight[0]);
        p.registers.iter().for_each(|&r| _ = ops.registers.insert(r, n));
        p.operands.iter().for_each(|&r| _ = ops.operands.insert(r, n));
        self.in_flight.insert(n, p);
        oldest.into_iter().for_each(|n| self.complete(n));
        n
    }
    /// Notes that the phase of the mbarrier `key` with this parity completes operation `n`.
    pub fn complete_with_phase(&mut self, key: (u64, u64), n: u64, parity: bool) {
        let (waiting, pending) = (self.phases.entry(key).or_default(), &self.in_flight);
        waiting.push((n, parity));
        if waiting.len() > MAX_OPS {
            waiting.retain(|(n, _)| pending.contains_key(n));
        }
    }
    /// Removes the marks of an operation.
    pub fn unmark(&mut self, n: u64, spans: &[Span], written: bool) {
        for span in spans {
            let (words, first, end) = match *span {
                Span::Shared { cta, at, bytes } => {
                    (self.shared.get_mut(&cta), at / WORD, (at + bytes).div_ceil(WORD))
                }
                Span::Tensor { cta, at, cells } => (self.tensor.get_mut(&cta), at, at + cells),
                Span::Global { at, bytes } => {
                    for page in pages(at, bytes) {
                        if let Entry::Occupied(mut there) = self.global.entry(page) {
                            there.get_mut().retain(|&g| g != n);
                            if there.get().is_empty() {
                                there.remove();
                            }
                        }
                    }
                    continue;
                }
            };
            let Some(words) = words else { continue };
            let range = first as usize..(end as usize).min(words.written.len());
            if written {
                let marks = words.written.get_mut(range).into_iter().flatten();
                marks.filter(|w| **w == n).for_each(|w| *w = 0);
            } else {
                words.read.get_mut(range).into_iter().flatten().for_each(|r| r.1 = r.1.saturating_sub(1));
            }
        }
    }
    /// Removes an operation that is complete.
    pub fn complete(&mut self, n: u64) {
        let Some(p) = self.in_flight.remove(&n) else { return };
        self.unmark(n, &p.writes, true);
        self.unmark(n, &p.reads, false);
        if let Some(ops) = self.warps.get_mut(&(p.by.cta, p.by.warp)) {
            ops.in_flight.retain(|&g| g != n);
            ops.registers.retain(|_, g| *g != n);
            ops.operands.retain(|_, g| *g != n);
        }
        if matches!(p.group, WaitGroup::LaneCopy(..)) {
            // Compilers emit no fence between `cp.async` and a product.
            for span in &p.writes {
                if let Span::Shared { cta, at, bytes } = *span {
                    self.proxy.replaced(cta, at, bytes);
                }
            }
        }
    }
    /// Completes the operations of a warp whose group is `due`.
    pub fn complete_due(&mut self, here: WarpStep, due: impl Fn(WaitGroup) -> bool) {
        self.due(here, due).into_iter().for_each(|n| self.complete(n));
    }
    /// The operations of a warp whose group is `due`.
    pub fn due(&self, of: WarpStep, due: impl Fn(WaitGroup) -> bool) -> Vec<u64> {
        let pending = self.warps.get(&(of.cta, of.warp)).map_or(&[][..], |g| &g.in_flight);
        pending.iter().copied().filter(|n| self.in_flight.get(n).is_some_and(|p| due(p.group))).collect()
    }
    /// The operation that still reads some bytes: `last`, which began last, or the first of those in flight.
    pub fn reader(&self, last: u64, cta: u64, at: u64, bytes: u64) -> u64 {
        let reads = |s: &Span| s.overlaps_shared(cta, at, bytes);
        if self.in_flight.contains_key(&last) {
            return last;
        }
        let left = self.in_flight.iter().filter(|(_, p)| p.reads.iter().any(reads)).map(|(&n, _)| n);
        left.min().unwrap_or(last)
    }
}

/// The pages of global memory that have some of these bytes.
pub fn pages(at: u64, bytes: u64) -> RangeInclusive<u64> {
    at / PAGE..=at.saturating_add(bytes.saturating_sub(1)) / PAGE
}

/// Whether group `n` of `begun` groups is complete when at most `left` groups may be in flight; `u32::MAX`
/// waits for all operations.
pub fn group_done(n: u32, begun: u32, left: u32) -> bool {
    left == u32::MAX || n < begun.saturating_sub(left)
}
