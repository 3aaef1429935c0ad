//! Volatile reads that poll a flag. Other volatile reads read data, and volatile accesses order no data.
//!
//! A read polls if its value decides whether a loop around it goes on, or whether the thread goes on to a
//! fence, or if a fence is the next memory operation.
//!
//! # Limitations
//! Values are followed through registers only, without regard to the order of instructions.

use prlx_isa::cfg::Cfg;
use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Class, Function, Inst, InstId, Reg};

/// Whether an instruction is a volatile load.
pub fn is_read(i: &Inst) -> bool {
    opcode(i).op == Some(Ptx::Ld) && opcode(i).has("volatile")
}

/// The volatile reads of a function that poll.
pub fn polls(f: &Function) -> Vec<InstId> {
    let reads: Vec<InstId> =
        (0..f.insts.len() as u32).map(InstId).filter(|i| is_read(&f.insts[i.index()])).collect();
    if reads.is_empty() {
        return reads;
    }
    let graph = Cfg::of(f);
    reads.into_iter().filter(|&read| fence_follows(f, read) || decides(f, &graph, read)).collect()
}

fn is_fence(i: &Inst) -> bool {
    matches!(opcode(i).op, Some(Ptx::Fence | Ptx::Membar))
}

/// Whether a fence is the next memory operation in the block of a read.
fn fence_follows(f: &Function, read: InstId) -> bool {
    let block = f.insts[read.index()].block;
    let rest = f.insts[read.index() + 1..].iter().take_while(|i| i.block == block);
    let next = rest
        .into_iter()
        .find(|i| is_fence(i) || matches!(i.class, Class::Load | Class::Store | Class::Atomic));
    next.is_some_and(is_fence)
}

/// Whether the value of a read decides if a loop around the read goes on, or if the thread goes on to a
/// fence.
fn decides(f: &Function, graph: &Cfg, read: InstId) -> bool {
    let derived = derived(f, &f.insts[read.index()]);
    let home = f.insts[read.index()].block;
    let steered = f.insts.iter().filter(|i| matches!(i.class, Class::Branch | Class::Return | Class::Exit));
    let mut steered = steered.filter(|i| i.guard.is_some_and(|g| derived[g.reg.index()]));
    steered.any(|branch| {
        let leaves = graph.loops.iter().any(|l| {
            l.contains(home)
                && l.contains(branch.block)
                && l.exits.iter().any(|(from, _)| *from == branch.block)
        });
        let mut fences = f.insts.iter().filter(|i| is_fence(i) && i.block != branch.block);
        leaves || fences.any(|fence| graph.dominates(branch.block, fence.block))
    })
}

/// By register: whether its value may come from the result of `source` through registers.
pub(super) fn derived(f: &Function, source: &Inst) -> Vec<bool> {
    let mut derived = vec![false; f.regs.len()];
    let written = |i: &Inst, mark: &mut dyn FnMut(Reg)| {
        for (operand, &role) in i.operands.iter().zip(&i.roles) {
            operand.for_each_reg(role, &mut |r, _, written| {
                if written {
                    mark(r)
                }
            });
        }
    };
    written(source, &mut |r| derived[r.index()] = true);
    loop {
        let mut changed = false;
        for i in f.insts.iter().filter(|i| !matches!(i.class, Class::Load | Class::Atomic | Class::Call)) {
            let mut from = i.guard.is_some_and(|g| derived[g.reg.index()]);
            for (operand, &role) in i.operands.iter().zip(&i.roles) {
                operand.for_each_reg(role, &mut |r, read, _| from |= read && derived[r.index()]);
            }
            if from {
                written(i, &mut |r| changed |= !std::mem::replace(&mut derived[r.index()], true));
            }
        }
        if !changed {
            return derived;
        }
    }
}
