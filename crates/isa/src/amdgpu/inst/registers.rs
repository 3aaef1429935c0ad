//! Registers that an instruction reads and writes, and where a branch goes.
//!
//! # Invariants
//! - What is not known is `None`, never an empty list: opaque instructions, image instructions, and those
//!   whose register depends on M0 ([`Inst::indexes`]).
//! - A write that keeps a part of the register (a half, a byte, lanes without a source) is also a read.
//!
//! # Limitations
//! - Vector instructions write the lanes of EXEC. Other lanes keep their values; that is no read here.
//! - Whether an instruction stands behind `s_set_gpr_idx_on` says who decodes several ([`Inst::in_mode`]).

use super::names::{Encoding, Field};
use super::operand::{Reg, Value, scalar};
use super::raw::Inst;
use super::table::{Access, Class, Immediate, Implicit, Kind, Role, Slot};

/// Registers of an instruction, each 32 bits wide, sorted and without repetitions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Registers {
    /// Registers that are read.
    pub reads: Vec<Reg>,
    /// Registers that are written.
    pub writes: Vec<Reg>,
}

impl Inst {
    /// Registers that the instruction reads and writes, implicit ones included; `None` if that is unknown.
    pub fn registers(&self) -> Option<Registers> {
        let (layout, row) = self.meaning?;
        if row.class == Class::Image || self.indexes().is_some() {
            return None;
        }
        let mut all = Registers::default();
        for slot in row.form.slots.iter().filter(|slot| self.has(slot)) {
            let absent =
                slot.field == Field::Addr && layout.encoding == Encoding::Scratch && !self.scratch_vector();
            // Whether VCC is read or written, the form says.
            if absent || slot.kind == Kind::Vcc {
                continue;
            }
            let value = self.value(slot)?;
            let regs = value.registers();
            if slot.role == Role::Source || slot.role == Role::Both || self.keeps_a_part(slot, value) {
                all.reads.extend(&regs);
            }
            if slot.role != Role::Source {
                all.writes.extend(&regs);
            }
            // An atomic operation of buffers returns into the register of its data.
            let returned = row.form.access == Some(Access::Atomic) && self.returns();
            if slot.field == Field::Vdata && returned {
                all.writes.extend(&regs);
            }
        }
        self.addresses(layout.encoding, &mut all)?;
        if self.loads_to_lds() {
            all.reads.push(Reg::M0);
        }
        all.reads.extend(row.form.reads.iter().flat_map(|reg| self.implicit(*reg)));
        all.writes.extend(row.form.writes.iter().flat_map(|reg| self.implicit(*reg)));
        for list in [&mut all.reads, &mut all.writes] {
            list.sort_unstable();
            list.dedup();
        }
        Some(all)
    }

    /// Whether a result keeps a part of the register: a half, or bytes.
    pub(in crate::amdgpu) fn keeps_a_part(&self, slot: &Slot, value: Value) -> bool {
        matches!(value, Value::Half { .. })
            || self.get(Field::DstUnused) == UNUSED_PRESERVE
            || (slot.role == Role::Result && self.keeps_half())
    }

    /// Whether `op_sel` chooses the half of the result that is written.
    pub(in crate::amdgpu) fn keeps_half(&self) -> bool {
        self.meaning.is_some_and(|(_, row)| row.form.op_sel > 2) && self.get(Field::OpSel) & 8 != 0
    }

    /// Registers of addresses, which no form lists because other bits decide whether they are there.
    fn addresses(&self, encoding: Encoding, all: &mut Registers) -> Option<()> {
        match encoding {
            Encoding::Global | Encoding::Scratch => {
                if let Some(code) = self.scalar_address() {
                    let count = if encoding == Encoding::Global { 2 } else { 1 };
                    all.reads.extend(scalar(self.target, code, count)?.registers());
                }
            }
            Encoding::Smem => {
                let code = if self.width(Field::Imm) == 0 || self.get(Field::Soffen) == 1 {
                    Some(self.get(Field::Soffset))
                } else if self.get(Field::Imm) == 0 {
                    Some(self.get(Field::Offset) & 127)
                } else {
                    None
                };
                let has_base = self
                    .meaning
                    .is_some_and(|(_, row)| row.form.slots.iter().any(|slot| slot.field == Field::Sbase));
                if let Some(code) = code.filter(|_| has_base) {
                    all.reads.extend(scalar(self.target, code, 1)?.registers());
                }
            }
            Encoding::Mubuf | Encoding::Mtbuf => {
                if let Some(value) = self.buffer_address()? {
                    all.reads.extend(value.registers());
                }
            }
            Encoding::Exp => {
                let compressed = self.get(Field::Compr) == 1;
                for (at, field) in
                    [Field::Src0, Field::Src1, Field::Src2, Field::Src3].into_iter().enumerate()
                {
                    let bits = if compressed { 3 << (2 * at) } else { 1 << at };
                    if self.get(Field::En) & bits != 0 {
                        all.reads.push(Reg::V(u8::try_from(self.get(field)).ok()?));
                    }
                }
                all.reads.extend([Reg::ExecLo, Reg::ExecHi]);
            }
            _ => {}
        }
        Some(())
    }

    fn implicit(&self, reg: Implicit) -> Vec<Reg> {
        let mask = |low, high| if self.lanes == 64 { vec![low, high] } else { vec![low] };
        match reg {
            Implicit::Vcc => mask(Reg::VccLo, Reg::VccHi),
            Implicit::Exec => mask(Reg::ExecLo, Reg::ExecHi),
            Implicit::Scc => vec![Reg::Scc],
            Implicit::M0 => vec![Reg::M0],
            Implicit::Mode => vec![Reg::Mode],
            Implicit::FlatScratch => vec![Reg::FlatScratchLo, Reg::FlatScratchHi],
        }
    }

    /// Words from the end of the instruction to the target of a branch or call; `None` if it names none.
    pub fn branch_offset(&self) -> Option<i16> {
        let (_, row) = self.meaning?;
        let slot = row.form.slots.iter().find(|slot| slot.kind == Kind::Immediate(Immediate::Label))?;
        let [low, high, ..] = self.get(slot.field).to_le_bytes();
        Some(i16::from_le_bytes([low, high]))
    }

    /// Whether the instruction means something else at another address: branches and calls by offset, and
    /// instructions that read the program counter.
    pub fn is_pc_relative(&self) -> bool {
        self.branch_offset().is_some()
            || self.name() == "s_getpc_b64"
            || self.name() == "s_swappc_b64"
            || self.name().ends_with("_pc_rel")
    }
}

/// The value of `dst_unused` that keeps the rest of the register.
const UNUSED_PRESERVE: u32 = 2;
