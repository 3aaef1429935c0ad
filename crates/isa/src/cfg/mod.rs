//! Control flow of one function: order, dominators, post-dominators, loops.
//!
//! A block that leaves the function (see [`Function::leaves`]) has an edge to a virtual exit, which post-dominates all. A
//! region without a way out gets one such edge, from the block of it that comes last, so that every reachable block has a
//! place in the post-dominator tree.
//!
//! Holds: any graph will do, irreducible and endless ones too; no recursion; near linear time. Blocks that nothing reaches
//! are in no order, tree or loop. Misses: calls are straight-line code; loops nested so deep that their lists of blocks
//! would not fit are left out from there on ([`MOST_LOOP_BLOCKS`]).

use crate::view::{BlockId, Function};

mod dominators;
mod loops;

pub use loops::{Loop, MOST_LOOP_BLOCKS};

/// Control flow of a function.
#[derive(Clone, Debug, Default)]
pub struct Cfg {
    /// Blocks reachable from the entry, in reverse post-order.
    pub order: Vec<BlockId>,
    /// By block: immediate dominator; `None` for the entry and for blocks that nothing reaches.
    pub idom: Vec<Option<BlockId>>,
    /// By block: immediate post-dominator; `None` where only the exit is.
    pub ipdom: Vec<Option<BlockId>>,
    /// Loops, outer before inner.
    pub loops: Vec<Loop>,
    /// By block: innermost loop, an index into `loops`.
    pub innermost: Vec<Option<usize>>,
    /// By block: when a walk of the dominator tree enters and leaves it; equal if it is not in the tree.
    dominated: Vec<(u32, u32)>,
    /// The same of the post-dominator tree.
    post_dominated: Vec<(u32, u32)>,
}

impl Cfg {
    /// The control flow of a function.
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

    /// Whether every way from the entry to `b` goes through `a`. Of a block that nothing reaches: only if they are the same.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        within(&self.dominated, a, b)
    }

    /// Whether every way from `b` out of the function goes through `a`.
    pub fn post_dominates(&self, a: BlockId, b: BlockId) -> bool {
        within(&self.post_dominated, a, b)
    }

    /// When a walk of the dominator tree enters a block: dominators come before what they dominate.
    pub(crate) fn entered(&self, block: BlockId) -> u32 {
        self.dominated.get(block.index()).map_or(0, |(enter, _)| *enter)
    }

    /// Whether the entry reaches a block.
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

/// A depth-first walk that takes successors in their order: of a branch, what follows comes before its target.
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
