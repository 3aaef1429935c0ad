//! Branches on EXEC, which skip a region that has no lane to run.
//!
//! A lane that is not in EXEC skips the region, and the wave may run it for others. The lane meets the wave
//! again only if all ways through the region lead to where it waits. After tail duplication they may not:
//! then the branch is a decision of the whole wave, which its lanes follow.

use std::collections::BTreeSet;

use super::addresses::{Addresses, inside};
use super::code::{Code, ends, small};
use super::semantics;
use crate::amdgpu::inst::Inst;
use crate::cfg::Cfg;
use crate::view::{self, Block, BlockId, Class, Function};

/// Whether it is a branch on the lanes of EXEC.
pub(super) fn is_on_exec(inst: &Inst) -> bool {
    matches!(inst.name(), "s_cbranch_execz" | "s_cbranch_execnz")
}

/// Positions of the branches on EXEC that are decisions of the whole wave. `begins` says where blocks begin.
pub(super) fn of_waves(code: &Code<'_>, begins: &[usize], addresses: &Addresses) -> BTreeSet<usize> {
    let block_at = |at: usize| begins.binary_search(&at).ok().map(|block| BlockId(small(block)));
    let mut graph = Function::default();
    let mut branches = Vec::new();
    for (block, next) in begins.iter().skip(1).chain([&code.insts.len()]).enumerate() {
        let Some((last, (_, inst))) =
            next.checked_sub(1).and_then(|last| Some((last, code.insts.get(last)?)))
        else {
            continue;
        };
        let after = block_at(*next).filter(|_| !ends(inst) && !semantics::is_trap(inst));
        let jump = addresses.destinations.get(&last).filter(|_| inst.name() == "s_setpc_b64");
        let target = match jump {
            Some(destination) => inside(code, *destination),
            None if inst.name() == "s_call_b64" => None,
            None => code.target(last).and_then(|address| code.at(address)),
        };
        let target = target.and_then(block_at);
        if is_on_exec(inst) {
            branches.extend(target.zip(after).map(|(target, after)| match inst.name() {
                "s_cbranch_execz" => (last, after, target),
                _ => (last, target, after),
            }));
        }
        let succs: Vec<BlockId> = target.into_iter().chain(after).collect();
        let (at, class) = (small(block), if succs.is_empty() { Class::Exit } else { Class::Branch });
        graph.insts.push(view::Inst { class, block: BlockId(at), ..view::Inst::default() });
        graph.blocks.push(Block { insts: at..at + 1, succs, ..Block::default() });
    }
    if branches.is_empty() {
        return BTreeSet::new();
    }
    let edges = graph.blocks.iter().zip((0..).map(BlockId));
    let edges: Vec<(BlockId, BlockId)> =
        edges.flat_map(|(b, from)| b.succs.iter().map(move |to| (from, *to))).collect();
    for (from, to) in edges {
        if let Some(block) = graph.blocks.get_mut(to.index()) {
            block.preds.push(from);
        }
    }
    let graph = Cfg::of(&graph);
    let meets = |(_, region, skips): &(usize, BlockId, BlockId)| graph.post_dominates(*skips, *region);
    branches.into_iter().filter(|branch| !meets(branch)).map(|(at, ..)| at).collect()
}
