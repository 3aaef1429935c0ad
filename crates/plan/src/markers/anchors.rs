//! Chooses where lanes write anchors (pairs of clock and global time) between the begin and end of their
//! track.
//!
//! Anchors go where warps wait, because a waiting warp has time. The test whether an anchor is due stands at
//! the start of the basic block with the wait. (Further on in the block more registers are live: there the
//! assembler took 31 more for one kernel of the corpus.) Loops without a marker are not touched: for a wait
//! inside such a loop the anchor goes to the block that enters the loop.
//!
//! # Invariants
//!
//! - An anchor's place lies in a loop with a marker, so that the track can grow between two visits.
//! - Of places in one innermost loop, one that dominates another replaces it.
//!
//! # Limitations
//!
//! - Waits for memory that other code writes are loads in a loop, and get no anchor.

use prlx_isa::view::{AsyncStep, BlockId, Effect, Inst, InstId, Participants, Queue};

use super::placed::PlacedMarker;
use crate::function::body::Body;
use crate::plan::At;

/// Places of a function, ascending.
pub(super) fn places(body: &Body<'_>, found: &[(u32, PlacedMarker)]) -> Vec<At> {
    let graph = &body.graph;
    let mut marked = vec![false; graph.loops.len()];
    for (_, f) in found {
        let (At::Before(at) | At::After(at)) = f.at else { continue };
        let mut around = body.graph.innermost_loop(body.inst(at).block);
        while let Some(l) = around {
            marked[l] = true;
            around = graph.loops[l].parent;
        }
    }
    let mut all: Vec<BlockId> = Vec::new();
    for i in (0..body.function.insts.len() as u32).map(InstId).filter(|i| waits(body.inst(*i))) {
        let block = body.inst(i).block;
        let around = std::iter::successors(body.graph.innermost_loop(block), |l| graph.loops[*l].parent);
        match around.take_while(|l| !marked[*l]).last() {
            None => all.push(block),
            Some(quiet) => all.extend(entries(body, quiet)),
        }
    }
    all.retain(|block| body.graph.innermost_loop(*block).is_some_and(|l| marked[l]));
    all.sort_unstable();
    all.dedup();
    let behind = |block: &BlockId| {
        all.iter().any(|other| {
            other != block
                && graph.dominates(*other, *block)
                && body.graph.innermost_loop(*other) == body.graph.innermost_loop(*block)
        })
    };
    let begin = |block: &BlockId| {
        body.parts[block.index()].insts.clone().next().map(|first| At::Before(InstId(first)))
    };
    all.iter().filter(|block| !behind(block)).filter_map(begin).collect()
}

/// Whether lanes stay at an instruction until something has happened. Not products of warp groups: branches
/// among these keep the assembler from letting them overlap, and what they work on was waited for.
fn waits(inst: &Inst) -> bool {
    match inst.semantics.effect {
        Effect::Barrier(barrier) => barrier.participants != Participants::Warp && barrier.waits,
        Effect::BarrierObject { polls, .. } => polls,
        Effect::Async(work) => work.step == AsyncStep::Wait && work.queue != Queue::Products,
        _ => false,
    }
}

/// From where a loop is entered.
fn entries(body: &Body<'_>, l: usize) -> impl Iterator<Item = BlockId> {
    let inside = move |b: &BlockId| body.graph.loops[l].contains(*b);
    let enters =
        move |from: &BlockId| !inside(from) && body.parts[from.index()].end.succs().iter().any(inside);
    body.graph.order.iter().copied().filter(enters)
}
