//! Registers that M0 chooses: moves by M0, and vector instructions behind `s_set_gpr_idx_on` (CDNA 3 ISA,
//! "Relative GPR Addressing"; RDNA 3 ISA, "VGPR Indexing").
//!
//! # Invariants
//! - The registers of such an instruction are not known ([`Inst::registers`]).

use super::operand::{Bank, Reg, Value};
use super::raw::Inst;
use super::table::{Class, Role};

/// M0 indexes the first source.
pub const INDEX_SOURCE: u8 = 1;
/// M0 indexes the result.
pub const INDEX_RESULT: u8 = 8;

/// Which operands M0 indexes, in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexMode(u8);

impl IndexMode {
    /// The mode behind an instruction, in the order of the text.
    #[must_use]
    pub fn after(self, inst: &Inst) -> IndexMode {
        let immediate = || {
            inst.operands().iter().find_map(|o| match o.value {
                Value::Immediate(n) => u8::try_from(n & 15).ok(),
                _ => None,
            })
        };
        match inst.name() {
            "s_set_gpr_idx_on" => IndexMode(immediate().unwrap_or(15)),
            "s_set_gpr_idx_mode" if self.0 != 0 => IndexMode(immediate().unwrap_or(15)),
            "s_set_gpr_idx_off" => IndexMode(0),
            _ => self,
        }
    }
}

impl Inst {
    /// The instruction in this mode.
    #[must_use]
    pub fn in_mode(self, mode: IndexMode) -> Inst {
        Inst { indexed: mode.0, ..self }
    }

    /// Operands that M0 indexes because of an instruction before this one: [`INDEX_SOURCE`],
    /// [`INDEX_RESULT`], and the second and third source between them; 0: none.
    pub fn indexed(&self) -> u8 {
        self.indexed
    }

    /// The bank whose registers M0 chooses from, if the instruction names no fixed registers.
    pub fn indexes(&self) -> Option<Bank> {
        let vector = matches!(self.class(), Some(Class::Valu | Class::Transcendental | Class::Matrix));
        match self.name() {
            name if name.starts_with("v_movrel") => Some(Bank::Vector),
            name if name.starts_with("s_movrel") => Some(Bank::Scalar),
            _ if self.indexed != 0 && vector => Some(Bank::Vector),
            _ => None,
        }
    }

    /// Registers of the sources that are in the text, and M0.
    pub fn named_sources(&self) -> Vec<Reg> {
        let sources = self.operands().into_iter().filter(|o| o.slot.role == Role::Source);
        sources.flat_map(|o| o.value.registers()).chain([Reg::M0]).collect()
    }
}
