//! The control-flow graph of one function: block order, dominators, post-dominators and loops.
//!
//! A block that leaves the function (see [`Function::leaves`]) has an edge to a virtual exit, which
//! post-dominates all blocks. A region without an exit gets one such edge, from its last block in reverse
//! post-order. Every reachable block therefore has a parent in the post-dominator tree.
//!
//! # Invariants
//! - Any graph is accepted, irreducible and endless ones included.
//! - No recursion, and near linear time.
//! - Unreachable blocks are in no order, tree or loop.
//!
//! # Limitations
//! - Calls count as straight-line code.
//! - Loops nested so deep that their block lists would exceed [`MOST_LOOP_BLOCKS`] are omitted.

use crate::view::{BlockId, Function};

mod dominators;
mod loops;

pub use loops::{Loop, MOST_LOOP_BLOCKS};

/// The control-flow graph of a function.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// Blocks reachable from the entry, in reverse post-order.
    pub order: Vec<BlockId>,
    /// Immediate dominator of each block; `None` for the entry and for unreachable blocks.
    pub idom: Vec<Option<BlockId>>,
    /// Immediate post-dominator of each block; `None` if only the virtual exit post-dominates it.
    pub ipdom: Vec<Option<BlockId>>,
    /// Loops, outer loops before inner ones.
    pub loops: Vec<Loop>,
    /// Innermost loop of each block, as an index into `loops`.
    pub innermost: Vec<Option<usize>>,
    /// When a walk of the dominator tree enters and leaves each block; equal for blocks outside the tree.
    dominated: Vec<(u32, u32)>,
    /// When a walk of the post-dominator tree enters and leaves each block.
    post_dominated: Vec<(u32, u32)>,
}

impl Cfg {
    /// Builds the control-flow graph of a function.
    pub fn of(f: &Function) -> Cfg {
        let n = f.blocks.len();
        let order = reverse_post_order(f);
        let mut reached = vec![false; n];
        for b in &order {
            reached[b.index()] = true;
        }
        let idom = dominators::forward(f, &reached);
        let ipdom = dominators::backward(f, &order, &reached);
        let (loops, innermost) = loops::nest(f, &order);
        let dominated = dominators::intervals(&idom, &order);
        let post_dominated = dominators::intervals(&ipdom, &order);
        Cfg { order, idom, ipdom, loops, innermost, dominated, post_dominated }
    }

    /// Whether every path from the entry to `b` goes through `a`. If `b` is unreachable: whether they are the
    /// same block.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        within(&self.dominated, a, b)
    }

    /// Whether every path from `b` out of the function goes through `a`.
    pub fn post_dominates(&self, a: BlockId, b: BlockId) -> bool {
        within(&self.post_dominated, a, b)
    }

    /// When a walk of the dominator tree enters a block. Dominators come before the blocks that they
    /// dominate.
    pub(crate) fn entered(&self, block: BlockId) -> u32 {
        self.dominated.get(block.index()).map_or(0, |(enter, _)| *enter)
    }

    /// The innermost loop of a block, as an index into `loops`.
    pub fn innermost_loop(&self, block: BlockId) -> Option<usize> {
        self.innermost.get(block.index()).copied().flatten()
    }

    /// Whether a path leads from the entry to a block.
    pub fn reaches(&self, block: BlockId) -> bool {
        self.dominated.get(block.index()).is_some_and(|(enter, leave)| enter < leave)
    }
}

fn within(intervals: &[(u32, u32)], a: BlockId, b: BlockId) -> bool {
    match (intervals.get(a.index()), intervals.get(b.index())) {
        (Some(a), Some(b)) if a.0 < a.1 && b.0 < b.1 => a.0 <= b.0 && b.1 <= a.1,
        _ => a == b,
    }
}

/// Reverse post-order of a depth-first walk. Of a branch, the fall-through block comes before the target.
fn reverse_post_order(f: &Function) -> Vec<BlockId> {
    let mut order = vec![];
    let mut seen = vec![false; f.blocks.len()];
    if seen.is_empty() {
        return order;
    }
    seen[0] = true;
    let mut stack = vec![(BlockId(0), 0usize)];
    while let Some((block, next)) = stack.last_mut() {
        match f.blocks[block.index()].succs.get(*next) {
            Some(succ) => {
                *next += 1;
                let succ = *succ;
                if !seen[succ.index()] {
                    seen[succ.index()] = true;
                    stack.push((succ, 0));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
