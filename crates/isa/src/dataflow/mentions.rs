//! Which instructions name a register, and whether they read or write it.

use crate::view::{Class, Inst, InstId, Operand, Reg, RegInfo, Type, VideoSelector};

/// An instruction that names a register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mention {
    pub inst: InstId,
    pub reads: bool,
    pub writes: bool,
    /// The instruction writes the whole register whenever it executes.
    pub ends: bool,
}

/// Fills `list` with every register that an instruction names, once each. `regs`: the function's registers.
pub(super) fn mentions(id: InstId, inst: &Inst, regs: &[RegInfo], list: &mut Vec<(Reg, Mention)>) {
    list.clear();
    let cleared =
        |reg: Reg| inst.semantics.clears && regs.get(reg.index()).is_some_and(|r| r.ty == Type::Pred);
    inst.for_each_reg(&mut |reg, reads, writes| {
        // A write of a vector element also reads the vector: the other elements stay.
        let whole = inst.guard.is_none() || cleared(reg);
        let ends = writes && whole && inst.class != Class::Opaque;
        match list.iter_mut().find(|(r, _)| *r == reg) {
            Some((_, m)) => {
                m.reads |= reads;
                m.writes |= writes;
                m.ends |= ends;
            }
            None => list.push((reg, Mention { inst: id, reads, writes, ends })),
        }
    });
    for operand in &inst.operands {
        partial(operand, list);
    }
}

/// Marks writes of single vector elements, which leave the other elements.
fn partial(operand: &Operand, list: &mut Vec<(Reg, Mention)>) {
    match operand {
        Operand::Element(reg, code) if VideoSelector::from_code(*code).is_none() => {
            for (_, m) in list.iter_mut().filter(|(r, _)| r == reg) {
                m.ends = false;
            }
        }
        Operand::Vector(l) | Operand::List(l) => l.iter().for_each(|o| partial(o, list)),
        Operand::Pair(a, b) => {
            partial(a, list);
            partial(b, list);
        }
        _ => {}
    }
}
