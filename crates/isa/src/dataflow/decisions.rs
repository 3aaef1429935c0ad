//! Decisions: which predicates and indices steer control flow, guarded instructions and selects.

use std::collections::BTreeMap;

use super::def_use::{Def, DefUse};
use crate::view::{Class, Function, InstId, Operand, Reg, Type};

/// How a predicate or index steers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SteerKind {
    /// It guards a branch.
    Branch,
    /// It guards another instruction. Returns and exits count as branches.
    Guard,
    /// It selects one of two values.
    Select,
    /// It is the index of a `brx.idx`.
    Switch,
}

/// A predicate or index that steers something. It is recorded where it is defined, because its operands are
/// still available there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The instruction after which its value is known. For a switch: the `brx.idx` itself, before it.
    pub at: InstId,
    /// The predicate register, or the register with the index.
    pub reg: Reg,
    /// What it steers, in source order; never empty.
    pub steers: Vec<(InstId, SteerKind)>,
}

/// Every predicate and index that steers something, by the instruction that defines it: sorted by `at`, then
/// `reg`.
///
/// A predicate that comes from the entry (a register parameter, or never written) has no defining instruction
/// and is in no decision.
pub fn decisions(f: &Function, flow: &DefUse) -> Vec<Decision> {
    let is_predicate = |reg: Reg| f.regs.get(reg.index()).is_some_and(|r| r.ty == Type::Pred);
    let mut found: BTreeMap<(InstId, Reg), Vec<(InstId, SteerKind)>> = BTreeMap::new();
    for (i, inst) in f.insts.iter().enumerate() {
        let at = InstId(u32::try_from(i).unwrap_or(u32::MAX));
        let mut steer = |reg: Reg, kind: SteerKind| {
            for def in flow.defs(at, reg) {
                if let Def::Inst(def) = def {
                    found.entry((def, reg)).or_default().push((at, kind));
                }
            }
        };
        if let Some(guard) = inst.guard {
            let branches = matches!(inst.class, Class::Branch | Class::Switch | Class::Return | Class::Exit);
            steer(guard.reg, if branches { SteerKind::Branch } else { SteerKind::Guard });
        }
        match (inst.class, inst.operands.first(), inst.operands.last()) {
            (Class::Select, _, Some(Operand::Reg(p) | Operand::Not(p))) if is_predicate(*p) => {
                steer(*p, SteerKind::Select);
            }
            (Class::Switch, Some(Operand::Reg(index)), _) => {
                found.entry((at, *index)).or_default().push((at, SteerKind::Switch));
            }
            _ => {}
        }
    }
    found.into_iter().map(|((at, reg), steers)| Decision { at, reg, steers }).collect()
}
