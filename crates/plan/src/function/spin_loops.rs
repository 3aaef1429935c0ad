//! Loops that wait for others: a thread asks memory the same question until the answer is another.
//!
//! A loop waits if it loads, changes nothing that anyone could see, and carries nothing from trip to trip: every trip does
//! what the one before did, so only others can end it. How often it asks, and what it was told before the last time, is a
//! matter of timing and repeats in no second run. What it was told last goes on into decisions and stores, or nowhere.
//!
//! A loop around such loops that changes nothing either, and that goes on or not by what they were told, waits as well: the
//! look-back of a prefix sum adds what others have got so far, and how far back it looks is a matter of who was first. What it has
//! added up goes on, too.
//!
//! Misses: waits by atomic operations (a lock's), which may themselves be what ends them; waits that count their trips or
//! look at several words in turn.

use std::collections::HashSet;

use prlx_isa::cfg::Loop;
use prlx_isa::dataflow::Def;
use prlx_isa::ptx::Op;
use prlx_isa::view::{Class, Inst, InstId};

use crate::function::body::{Body, read};
use crate::function::points;

/// By loop of the body: whether it waits.
pub(crate) fn spin_loops(body: &Body<'_>) -> Vec<bool> {
    let loops = &body.graph.loops;
    let asks: Vec<bool> = (0..loops.len()).map(|l| is_wait(body, l)).collect();
    let walks: Vec<bool> = (0..loops.len()).map(|l| is_walk(body, l, &asks)).collect();
    let around = |l: usize| std::iter::successors(Some(l), |l| loops[*l].parent);
    (0..loops.len()).map(|l| asks[l] || around(l).any(|l| walks[l])).collect()
}

fn is_wait(body: &Body<'_>, l: usize) -> bool {
    let this = &body.graph.loops[l];
    let insts = || this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone()).map(InstId);
    !this.irreducible
        && body.graph.loops.iter().all(|inner| inner.parent != Some(l))
        && insts().any(|i| body.inst(i).class == Class::Load && points::shared_memory(body.inst(i)))
        && insts().all(|i| changes_nothing(body.inst(i)) && afresh(body, this, i))
}

/// Whether loop `l` changes nothing, and is left by a decision that loops inside which ask (`asks`, by loop) were told.
fn is_walk(body: &Body<'_>, l: usize, asks: &[bool]) -> bool {
    let this = &body.graph.loops[l];
    let insts = || this.blocks.iter().flat_map(|b| body.parts[b.index()].insts.clone()).map(InstId);
    if this.irreducible || asks[l] || !insts().all(|i| changes_nothing(body.inst(i))) {
        return false;
    }
    let told = |i: InstId| {
        let inst = body.inst(i);
        let innermost = body.graph.innermost.get(inst.block.index()).copied().flatten();
        inst.class == Class::Load && points::shared_memory(inst) && innermost.is_some_and(|l| asks[l])
    };
    let branches =
        this.exits.iter().filter_map(|(from, _)| body.parts[from.index()].insts.clone().next_back());
    let mut ways: Vec<InstId> =
        branches.map(InstId).filter(|i| body.inst(*i).class == Class::Branch).collect();
    let mut seen: HashSet<InstId> = ways.iter().copied().collect();
    while let Some(at) = ways.pop() {
        if told(at) {
            return true;
        }
        let inst = body.inst(at);
        let regs = read(inst).into_iter().chain(inst.guard.map(|g| g.reg));
        for def in regs.flat_map(|reg| body.defs(at, reg)) {
            if let Def::Inst(def) = def
                && this.contains(body.inst(def).block)
                && seen.insert(def)
            {
                ways.push(def);
            }
        }
    }
    false
}

/// Whether an instruction changes nothing but registers and who goes where.
fn changes_nothing(inst: &Inst) -> bool {
    match inst.class {
        Class::Move
        | Class::Integer
        | Class::Float
        | Class::Convert
        | Class::Compare
        | Class::Select
        | Class::Load
        | Class::Warp
        | Class::Branch => true,
        Class::Sync => matches!(inst.form.op, Some(Op::Membar | Op::Fence)),
        _ => inst.form.op == Some(Op::Nanosleep),
    }
}

/// Whether all that an instruction reads comes from before the loop or from earlier in the same trip.
fn afresh(body: &Body<'_>, this: &Loop, at: InstId) -> bool {
    let inst = body.inst(at);
    let mut read = read(inst);
    read.extend(inst.guard.map(|g| g.reg));
    read.iter().flat_map(|&reg| body.defs(at, reg)).all(|def| {
        let Def::Inst(def) = def else { return true };
        let by = body.inst(def);
        let earlier = match by.block == inst.block {
            true => def < at,
            false => body.graph.dominates(by.block, inst.block),
        };
        // What a guard may leave as it was is the trip's before.
        !this.contains(by.block) || earlier && by.guard.is_none()
    })
}

/// Whether an instruction asks if a barrier's phase is over: how often is a matter of timing.
pub(crate) fn polls_barrier(inst: &prlx_isa::view::Inst) -> bool {
    inst.form.op == Some(Op::Mbarrier) && (inst.form.has("try_wait") || inst.form.has("test_wait"))
}
