//! The control flow of a function within one trip: the order of its blocks, which blocks can follow which,
//! and what lies between a branch and its reconvergence.
//!
//! # Invariants
//! Back edges are ignored, so every answer is about one trip. An index out of range gives a smaller answer,
//! never a panic.
//!
//! # Limitations
//! Functions of more than [`MAX_BLOCKS`] blocks are not analysed.

use std::collections::BTreeSet;

use prlx_trace::kernel::{End, Function};
use prlx_trace::{BlockId, LoopId};

/// The largest number of blocks of a function that is analysed.
const MAX_BLOCKS: usize = 1 << 12;

/// The control flow of one function.
#[derive(Debug, Default)]
pub(crate) struct ControlFlow {
    /// By block: its position in a topological order (back edges ignored).
    pub order: Vec<u32>,
    /// By block: a bit set of the blocks that can follow it in one trip.
    after: Vec<Vec<u64>>,
    /// By block: the loops around it, outermost first.
    pub loops: Vec<Vec<LoopId>>,
}

/// The successors of a block.
pub(crate) fn successors(end: &End) -> Vec<BlockId> {
    match end {
        End::Jump(to) => vec![*to],
        End::Branch { taken, other, .. } => vec![*taken, *other],
        End::Switch { targets, .. } => targets.clone(),
        End::Return | End::Exit => Vec::new(),
    }
}

impl ControlFlow {
    /// Analyses a function.
    pub fn new(f: &Function) -> ControlFlow {
        let n = f.blocks.len();
        if n == 0 || n > MAX_BLOCKS || f.loops.len() > MAX_BLOCKS {
            return ControlFlow::default();
        }
        let mut order = vec![u32::MAX; n];
        let mut last = n as u32;
        // Depth-first search without recursion: a block, and how many of its successors were visited.
        let mut seen = vec![false; n];
        let mut stack = vec![(0usize, 0usize)];
        seen[0] = true;
        while let Some((b, taken)) = stack.pop() {
            let ways = successors(&f.blocks[b].end);
            // Visits the last successor first, so that blocks keep the order in which they are written.
            match ways.len().checked_sub(taken + 1).and_then(|i| ways.get(i)) {
                Some(to) => {
                    stack.push((b, taken + 1));
                    if let Some(s) = seen.get_mut(to.index()).filter(|s| !**s) {
                        *s = true;
                        stack.push((to.index(), 0));
                    }
                }
                None => {
                    last -= 1;
                    order[b] = last;
                }
            }
        }
        let mut by_order: Vec<usize> = (0..n).collect();
        by_order.sort_by_key(|b| std::cmp::Reverse(order[*b]));
        let mut after = vec![vec![0u64; n.div_ceil(64)]; n];
        for &b in &by_order {
            for to in successors(&f.blocks[b].end) {
                if to.index() < n && order[to.index()] > order[b] {
                    let next = after[to.index()].clone();
                    after[b].iter_mut().zip(next).for_each(|(x, y)| *x |= y);
                    after[b][to.index() / 64] |= 1 << (to.index() % 64);
                }
            }
        }
        let loops: Vec<Vec<LoopId>> = f
            .blocks
            .iter()
            .map(|b| {
                let mut chain = Vec::new();
                let mut at = b.in_loop;
                while let Some(l) = at.filter(|_| chain.len() < f.loops.len()) {
                    chain.push(l);
                    at = f.loops.get(l.index()).and_then(|l| l.parent);
                }
                chain.reverse();
                chain
            })
            .collect();
        ControlFlow { order, after, loops }
    }
    /// Whether `b` can come after `a` in one trip.
    pub fn follows(&self, a: BlockId, b: BlockId) -> bool {
        self.after
            .get(a.index())
            .and_then(|w| w.get(b.index() / 64))
            .is_some_and(|w| w >> (b.index() % 64) & 1 == 1)
    }
    /// Whether every complete trip of the block's innermost loop passes through the block. Outside of loops:
    /// whether every lane that reaches the function's end does.
    pub fn on_every_trip(&self, f: &Function, block: BlockId) -> bool {
        let Some(around) = self.loops.get(block.index()) else { return false };
        let of = around.last();
        let head = of.map_or(BlockId(0), |l| f.loops[l.index()].header);
        let inside =
            |b: BlockId| of.is_none_or(|l| self.loops.get(b.index()).is_some_and(|ls| ls.contains(l)));
        let mut seen = BTreeSet::new();
        let mut todo = vec![head];
        while let Some(b) = todo.pop() {
            if b == block || !inside(b) || !seen.insert(b) {
                continue;
            }
            let next = f.blocks.get(b.index()).map(|b| successors(&b.end)).unwrap_or_default();
            // A path around the block reaches the end.
            if of.is_some() && next.contains(&head) || of.is_none() && next.is_empty() {
                return false;
            }
            todo.extend(next);
        }
        true
    }
    /// The blocks on paths from `from` to `until`, without `until`.
    pub fn region(f: &Function, from: BlockId, until: Option<BlockId>) -> BTreeSet<BlockId> {
        let mut out = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(b) = todo.pop() {
            let Some(block) = f.blocks.get(b.index()).filter(|_| Some(b) != until) else { continue };
            if out.insert(b) {
                todo.extend(successors(&block.end));
            }
        }
        out
    }
}
