//! An instruction, and the registers that it reads and writes.

use std::sync::Arc;

use super::class::{Class, Eval, Role};
use super::ids::{BlockId, LocId, Reg};
use super::operand::Operand;
use super::span::Span;
use super::types::{Space, Type};
use crate::ptx::Form;

/// A guard: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// Predicate.
    pub reg: Reg,
    /// True for `@!p`.
    pub negate: bool,
}

/// An instruction.
#[derive(Clone, Debug, Default)]
pub struct Inst {
    /// From the guard (or opcode) to the `;`, included.
    pub span: Span,
    /// Kind.
    pub class: Class,
    /// Guard.
    pub guard: Option<Guard>,
    /// The instruction set's own description: operation, types, modifiers. Shared by all that are written alike.
    pub form: Arc<Form>,
    /// Operands in source order.
    pub operands: Vec<Operand>,
    /// Their roles, one each.
    pub roles: Vec<Role>,
    /// For memory operations: the space named.
    pub space: Space,
    /// Meaning as integer or predicate arithmetic, where it has one that a decoder can evaluate again.
    pub eval: Option<(Eval, Type)>,
    /// Source location in force.
    pub loc: Option<LocId>,
    /// Its block.
    pub block: BlockId,
}

impl Inst {
    /// Registers it writes; guarded or not. Writing one element of a register counts as writing and reading it.
    pub fn defs(&self) -> impl Iterator<Item = Reg> + use<> {
        let mut regs = vec![];
        self.for_each_reg(&mut |reg, _, written| regs.extend(written.then_some(reg)));
        regs.into_iter()
    }

    /// Registers it reads: guard, addresses, vector elements, indirect targets and all; one may come twice.
    pub fn uses(&self) -> impl Iterator<Item = Reg> + use<> {
        let mut regs = vec![];
        self.for_each_reg(&mut |reg, read, _| regs.extend(read.then_some(reg)));
        regs.into_iter()
    }

    /// Every register it names, guard first, with whether it is read and whether it is written.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg, bool, bool)) {
        if let Some(guard) = self.guard {
            f(guard.reg, true, false);
        }
        for (operand, role) in self.operands.iter().zip(&self.roles) {
            operand.for_each_reg(*role, f);
        }
    }
}
