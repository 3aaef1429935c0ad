//! Ordinary reads whose value a compare-and-swap checks, as at the begin of a loop that computes an atomic
//! operation which the hardware does not have. If another thread changes the word between the two, the swap
//! fails, and the value that was read is lost.
//!
//! # Limitations
//! Both must have the same register as their address, but for conversions between state spaces. Values are
//! followed through registers only, without regard to the order of instructions. A loop that also compares
//! the value with something else, as one that ends early at a maximum, does not count.

use prlx_isa::cfg::Cfg;
use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Base, Class, Effect, Function, Inst, InstId, Operand, Reg, Role};

use super::volatile::derived;

/// Conversions of an address, one after the other, that are followed.
const CONVERSIONS: usize = 4;

/// The loads of a function whose values only go to a compare-and-swap of the same word that is repeated until
/// it succeeds.
pub fn checked(f: &Function) -> Vec<InstId> {
    let mut swaps: Vec<&Inst> = f.insts.iter().filter(|i| is_swap(i)).collect();
    if swaps.is_empty() {
        return Vec::new();
    }
    let graph = Cfg::of(f);
    swaps.retain(|swap| repeats(f, &graph, swap));
    let converted = conversions(f);
    let address = |i: &Inst| address(&converted, i);
    let swaps: Vec<(&Inst, (Reg, i64))> = swaps.into_iter().filter_map(|i| Some((i, address(i)?))).collect();
    let loads = (0..).map(InstId).zip(&f.insts).filter(|(_, i)| opcode(i).op == Some(Ptx::Ld));
    let only_swapped = loads.filter(|(_, load)| {
        let Some(word) = address(load) else { return false };
        let own: Vec<&Inst> = swaps.iter().filter(|(_, of)| *of == word).map(|(swap, _)| *swap).collect();
        !own.is_empty() && only_swapped(f, load, &own)
    });
    only_swapped.map(|(at, _)| at).collect()
}

/// Whether an instruction is a compare-and-swap.
fn is_swap(i: &Inst) -> bool {
    opcode(i).op == Some(Ptx::Atom) && opcode(i).has("cas")
}

/// Whether the result of a swap decides if a loop around it goes on.
fn repeats(f: &Function, graph: &Cfg, swap: &Inst) -> bool {
    let result = derived(f, swap);
    let branches = f.insts.iter().filter(|i| i.class == Class::Branch);
    let mut decided = branches.filter(|i| i.guard.is_some_and(|g| result[g.reg.index()]));
    decided.any(|branch| graph.loops.iter().any(|l| l.contains(swap.block) && l.contains(branch.block)))
}

/// By register: the register that it is converted from, if nothing else writes it.
fn conversions(f: &Function) -> Vec<Option<Reg>> {
    let mut writes = vec![0_u32; f.regs.len()];
    let mut from = vec![None; f.regs.len()];
    for i in &f.insts {
        for reg in i.defs() {
            writes[reg.index()] += 1;
            from[reg.index()] = match i.operands.get(1) {
                Some(Operand::Reg(source)) if opcode(i).op == Some(Ptx::Cvta) => Some(*source),
                _ => None,
            };
        }
    }
    from.into_iter().zip(writes).map(|(from, writes)| from.filter(|_| writes == 1)).collect()
}

/// The register and the offset of the address of an access, before conversions between state spaces.
fn address(converted: &[Option<Reg>], i: &Inst) -> Option<(Reg, i64)> {
    let (mut reg, offset) = i.operands.iter().find_map(|o| match o {
        Operand::Address(Base::Reg(r), offset) => Some((*r, *offset)),
        _ => None,
    })?;
    // A damaged module may have conversions in a circle.
    for _ in 0..CONVERSIONS {
        reg = converted[reg.index()].unwrap_or(reg);
    }
    Some((reg, offset))
}

/// Whether the value of a load goes nowhere but to these swaps and to comparisons with their results.
fn only_swapped(f: &Function, load: &Inst, swaps: &[&Inst]) -> bool {
    let value = derived(f, load);
    let results: Vec<Vec<bool>> = swaps.iter().map(|swap| derived(f, swap)).collect();
    let checked = |r: Reg| value[r.index()] || results.iter().any(|of| of[r.index()]);
    f.insts.iter().all(|i| {
        let mut reads = false;
        let mut others = false;
        for (operand, &role) in i.operands.iter().zip(&i.roles) {
            operand.for_each_reg(role, &mut |r, read, _| {
                reads |= read && value[r.index()];
                others |= read && !checked(r);
            });
            let constant =
                matches!(operand, Operand::Int(_) | Operand::F32(_) | Operand::F64(_) | Operand::Special(_));
            others |= role == Role::Use && constant;
        }
        let guard = i.guard.is_some_and(|g| value[g.reg.index()]);
        match (&i.semantics.effect, i.class) {
            _ if swaps.iter().any(|swap| std::ptr::eq(*swap, i)) => !guard,
            // The loop goes on if the swap failed.
            (_, Class::Branch) => true,
            (Effect::Compare(_), _) => !(guard || reads && others),
            (_, Class::Load | Class::Store | Class::Atomic | Class::Call) => !guard && !reads,
            (Effect::Plain, _) => !guard,
            _ => !guard && !reads,
        }
    })
}
