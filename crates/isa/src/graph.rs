//! Control flow of one function: order, dominators, post-dominators, loops.

use crate::view::BlockId;

/// Control flow of a function.
#[derive(Clone, Debug, Default)]
pub struct Graph {
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
}

/// A natural loop or an irreducible region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loop {
    /// Where it is entered (the first entry in reverse post-order if irreducible).
    pub header: BlockId,
    /// Enclosing loop, an index into [`Graph::loops`].
    pub parent: Option<usize>,
    /// All blocks, inner loops' included, sorted.
    pub blocks: Vec<BlockId>,
    /// Blocks with an edge to the header from inside.
    pub latches: Vec<BlockId>,
    /// Edges that leave: from inside, to outside. A block that leaves the function from inside counts as `(block, block)`.
    pub exits: Vec<(BlockId, BlockId)>,
    /// Entered at more than one block.
    pub irreducible: bool,
    /// 1 for an outermost loop.
    pub depth: u32,
}
