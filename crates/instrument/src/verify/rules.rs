//! Invariants 4 to 6: the instructions, registers, memory, branches and masks that inserted code may use.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Base, Class, Inst, Operand, Reg, Role, Space, SymbolId};
use prlx_plan::At;
use prlx_trace::kernel::Level;
use rustc_hash::FxHashSet;

use crate::error::Error;
use crate::verify::function::{FunctionPair, InsertedCode};

impl FunctionPair<'_> {
    /// Checks the rules for one snippet.
    pub fn rules(&self, place: At, inserted: &InsertedCode) -> Result<(), Error> {
        let insts = &self.new.insts[inserted.insts.clone()];
        let mut written: FxHashSet<Reg> = FxHashSet::default();
        let mut masks: FxHashSet<Reg> = FxHashSet::default();
        let mut addresses: FxHashSet<Reg> = FxHashSet::default();
        addresses
            .extend(["cursor", "at", "records", "recorder"].into_iter().filter_map(|name| self.state(name)));
        if place != At::Entry {
            addresses.extend(self.state("state"));
        }
        for (i, inst) in insts.iter().enumerate() {
            let known = match self.calls_next_chunk(inst) {
                true => AllowedKind::Plain,
                false => allowed(inst)
                    .ok_or_else(|| self.wrong(inst, "is not an instruction that recording needs"))?,
            };
            for reg in inst.uses() {
                let read_early = self.temporary(reg) && !written.contains(&reg);
                // An operand that was not understood as a register would be missing here.
                if read_early {
                    return Err(self.wrong(inst, "reads a register before it was written"));
                }
            }
            for reg in inst.defs() {
                if !self.is_ours(reg) {
                    return Err(self.wrong(inst, "writes a register of the original"));
                }
            }
            if inst.operands.iter().any(|o| matches!(o, Operand::Text(_))) {
                return Err(self.wrong(inst, "has an operand that the reader does not understand"));
            }
            self.memory(inst, &addresses)?;
            if known == AllowedKind::Lanes {
                let mask = inst.operands.last();
                let fine = matches!(mask, Some(Operand::Reg(r)) if masks.contains(r));
                if !fine {
                    return Err(self.wrong(inst, "waits for lanes that may never arrive"));
                }
            }
            if known == AllowedKind::Branch {
                self.branch(inst, inserted.insts.start + i, inserted.insts.end)?;
            }
            let from_address = self.reads_address(inst, &addresses);
            for reg in inst.defs() {
                written.insert(reg);
                masks.remove(&reg);
                // The mask of the active lanes, or of those among them with the same value. All of the latter
                // get the same mask.
                if matches!(opcode(inst).op, Some(Op::Activemask | Op::Match)) {
                    masks.insert(reg);
                }
                if from_address {
                    addresses.insert(reg);
                }
            }
        }
        Ok(())
    }

    /// Checks the address of a memory access.
    fn memory(&self, inst: &Inst, addresses: &FxHashSet<Reg>) -> Result<(), Error> {
        let address = inst.operands.iter().zip(&inst.roles).find(|(_, r)| **r == Role::Addr).map(|(o, _)| o);
        let Some(address) = address else { return Ok(()) };
        let symbol = |id: SymbolId| self.texts.after.symbols.get(id.index()).map_or("", |s| s.name.as_str());
        let fine = match (address, inst.space) {
            // A probe may read the kernel's own arguments.
            (Operand::Address(Base::Symbol(_), _), Space::Param)
                if self.kernel()
                    && inst.class == Class::Load
                    && self.texts.plan.request.level == Level::Probe =>
            {
                true
            }
            (Operand::Address(Base::Symbol(id), _), Space::Param | Space::Local) => {
                symbol(*id).starts_with(self.texts.prefix)
            }
            (Operand::Address(Base::Reg(r), _), Space::Local) => Some(*r) == self.state("state"),
            (Operand::Address(Base::Reg(r), _), Space::Global) => addresses.contains(r),
            _ => false,
        };
        if fine { Ok(()) } else { Err(self.wrong(inst, "touches memory that is not the recorder's")) }
    }

    /// Whether the result of an instruction is an address of the recorder, or leads to one.
    fn reads_address(&self, inst: &Inst, addresses: &FxHashSet<Reg>) -> bool {
        match inst.class {
            Class::Load | Class::Atomic => true,
            Class::Compare => false,
            _ => inst.uses().any(|r| addresses.contains(&r)),
        }
    }

    fn branch(&self, inst: &Inst, at: usize, end: usize) -> Result<(), Error> {
        let Some(Operand::Label(target)) = inst.operands.first() else {
            return Err(self.wrong(inst, "has no known target"));
        };
        let target = self.new.blocks.get(target.index()).map_or(0, |b| b.insts.start as usize);
        match target > at && target <= end {
            true => Ok(()),
            false => Err(self.wrong(inst, "leaves its snippet, or branches backward")),
        }
    }
}

/// Kinds of instructions that recording needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AllowedKind {
    Plain,
    Lanes,
    Branch,
}

fn allowed(inst: &Inst) -> Option<AllowedKind> {
    use Op::*;
    let form = opcode(inst);
    Some(match form.op? {
        Mov | Cvt | Add | Sub | Mul | Mad | Div | Rem | And | Or | Xor | Not | Neg | Abs | Shl | Shr
        | Shf | Min | Max | Brev | Clz | Popc | Setp | Selp | Isspacep | Activemask => AllowedKind::Plain,
        Ld | St | Red => AllowedKind::Plain,
        Atom if ["add", "cas", "exch", "min", "max", "and", "or", "xor"].iter().any(|op| form.has(op)) => {
            AllowedKind::Plain
        }
        Match | Shfl | Vote | Redux if form.has("sync") => AllowedKind::Lanes,
        Bar if form.has("warp") => AllowedKind::Lanes,
        Bra => AllowedKind::Branch,
        _ => return None,
    })
}
