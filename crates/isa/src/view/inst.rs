//! An instruction, and the registers that it reads and writes.

use std::sync::Arc;

use super::class::{Class, Eval, Role};
use super::ids::{BlockId, LocId, Reg};
use super::operand::Operand;
use super::semantics::Semantics;
use super::span::Span;
use super::types::{Space, Type};

/// The predicate that guards an instruction: `@p` or `@!p`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate register.
    pub reg: Reg,
    /// Whether the guard is negated: `@!p`.
    pub negate: bool,
}

/// An instruction with its guard and operands.
#[derive(Clone, Debug, Default)]
pub struct Inst {
    /// Text from the guard (or opcode) to the `;`, included.
    pub span: Span,
    /// What the instruction does.
    pub class: Class,
    /// Guard, if the instruction has one.
    pub guard: Option<Guard>,
    /// What its opcode says. Instructions with the same opcode share it.
    pub semantics: Arc<Semantics>,
    /// Operands, in source order.
    pub operands: Vec<Operand>,
    /// Roles of the operands, one each.
    pub roles: Vec<Role>,
    /// State space that a memory operation names.
    pub space: Space,
    /// The arithmetic and its type, if a decoder can evaluate the instruction again.
    pub eval: Option<(Eval, Type)>,
    /// Source location of the instruction.
    pub loc: Option<LocId>,
    /// Basic block that contains it.
    pub block: BlockId,
}

/// Special registers that change by themselves (PTX ISA, Special Registers).
const CLOCKS: [&str; 6] =
    ["%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"];

impl Inst {
    /// Whether the instruction reads a clock.
    pub fn reads_clock(&self) -> bool {
        self.operands.iter().any(|o| matches!(o, Operand::Special(s) if CLOCKS.contains(&s.as_str())))
    }

    /// Whether the instruction calls a function whose address is in a register.
    pub fn calls_pointer(&self) -> bool {
        let mut operands = self.operands.iter().zip(&self.roles);
        self.class == Class::Call
            && operands.any(|(o, role)| *role == Role::Target && matches!(o, Operand::Reg(..)))
    }

    /// Registers that the instruction writes, guarded or not. A write of one element of a register counts as
    /// a write and a read.
    pub fn defs(&self) -> impl Iterator<Item = Reg> + use<> {
        let mut regs = vec![];
        self.for_each_reg(&mut |reg, _, written| regs.extend(written.then_some(reg)));
        regs.into_iter()
    }

    /// Registers that the instruction reads: guard, addresses, vector elements and indirect targets included.
    /// A register may occur twice.
    pub fn uses(&self) -> impl Iterator<Item = Reg> + use<> {
        let mut regs = vec![];
        self.for_each_reg(&mut |reg, read, _| regs.extend(read.then_some(reg)));
        regs.into_iter()
    }

    /// Calls `f` for every register, guard first, with whether it is read and whether it is written.
    pub fn for_each_reg(&self, f: &mut impl FnMut(Reg, bool, bool)) {
        if let Some(guard) = self.guard {
            f(guard.reg, true, false);
        }
        for (operand, role) in self.operands.iter().zip(&self.roles) {
            operand.for_each_reg(*role, f);
        }
    }
}
