//! Where lanes leave anchors between their track's begin and end: at waits, now and then.
//!
//! A warp that waits has time. Where a basic block with a wait begins it is looked at whether an anchor is due, which is one comparison; nothing is added to
//! loops that do not wait. (Further on in the block more registers are in use: there the assembler took 31 more for one kernel of the corpus.) A wait's loop,
//! and any loop around a wait in which no marker positions, is stayed out of: the place is the block that enters it.
//!
//! Holds: a place lies in a loop with a marker, so that a track can grow between two visits; of places in one innermost loop of which one is always
//! passed before the other, only that one is taken. Misses: waits for what other code writes to memory, which are loads in a loop.

use prlx_isa::ptx::Op;
use prlx_isa::view::{BlockId, Inst, InstId};

use super::placed::PlacedMarker;
use crate::function::body::Body;
use crate::function::spin_loops::polls_barrier;
use crate::plan::At;

/// Places of a function, ascending.
pub(super) fn places(body: &Body<'_>, found: &[(u32, PlacedMarker)]) -> Vec<At> {
    let graph = &body.graph;
    let mut marked = vec![false; graph.loops.len()];
    for (_, f) in found {
        let (At::Before(at) | At::After(at)) = f.at else { continue };
        let mut around = innermost(body, body.inst(at).block);
        while let Some(l) = around {
            marked[l] = true;
            around = graph.loops[l].parent;
        }
    }
    let mut all: Vec<BlockId> = Vec::new();
    for i in (0..body.function.insts.len() as u32).map(InstId).filter(|i| waits(body.inst(*i))) {
        let block = body.inst(i).block;
        let around = std::iter::successors(innermost(body, block), |l| graph.loops[*l].parent);
        match around.take_while(|l| !marked[*l]).last() {
            None => all.push(block),
            Some(quiet) => all.extend(entries(body, quiet)),
        }
    }
    all.retain(|block| innermost(body, *block).is_some_and(|l| marked[l]));
    all.sort_unstable();
    all.dedup();
    let behind = |block: &BlockId| {
        all.iter().any(|other| {
            other != block
                && graph.dominates(*other, *block)
                && innermost(body, *other) == innermost(body, *block)
        })
    };
    let begin = |block: &BlockId| {
        body.parts[block.index()].insts.clone().next().map(|first| At::Before(InstId(first)))
    };
    all.iter().filter(|block| !behind(block)).filter_map(begin).collect()
}

fn innermost(body: &Body<'_>, block: BlockId) -> Option<usize> {
    body.graph.innermost.get(block.index()).copied().flatten()
}

/// Whether lanes stay at an instruction until something has happened. Not products of warp groups: branches among these keep the assembler from letting them
/// overlap, and what they work on was waited for.
fn waits(inst: &Inst) -> bool {
    let form = &inst.form;
    match form.op {
        Some(Op::Bar | Op::Barrier) => !form.has("warp") && !form.has("arrive"),
        Some(Op::Mbarrier) => polls_barrier(inst),
        Some(Op::Cp) => form.has("wait_group") || form.has("wait_all"),
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
