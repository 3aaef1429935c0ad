//! An instruction: its words, and the row of the tables that says what they are.

use super::names::{Encoding, Field};
use super::table::{Bits, Class, Layout, Role, Row, Slot};
use crate::amdgpu::{Family, Target};

/// Most words of an instruction.
pub const MOST_WORDS: usize = 5;

/// One instruction: its words, and the operation that the tables have for them.
#[derive(Clone, Copy, Debug)]
pub struct Inst {
    pub(super) target: Target,
    pub(super) lanes: u8,
    pub(super) words: [u32; MOST_WORDS],
    pub(super) length: u8,
    pub(super) meaning: Option<(&'static Layout, &'static Row)>,
    /// Operands that M0 indexes, as `s_set_gpr_idx_on` before it says; 0: none.
    pub(super) indexed: u8,
}

impl PartialEq for Inst {
    fn eq(&self, other: &Inst) -> bool {
        let all = |inst: &Inst| (inst.target, inst.lanes, inst.indexed);
        (all(self), self.words()) == (all(other), other.words())
    }
}

impl Inst {
    /// The target whose code it is.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The words of the instruction: what [`Inst::decode`] read.
    pub fn words(&self) -> &[u32] {
        self.words.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Lanes of the wave that it is decoded for: 32 or 64.
    pub fn lanes(&self) -> u8 {
        self.lanes
    }

    /// The first four words as one number. Fields stand in them.
    pub(super) fn raw(&self) -> u128 {
        self.words.iter().take(4).rev().fold(0, |raw, word| raw << 32 | u128::from(*word))
    }

    /// Writes a field. What the words mean is not looked at again.
    pub(super) fn put(&mut self, bits: Bits, value: u32) {
        let raw = (self.raw() & !bits.mask()) | u128::from(value) << bits.low;
        for (at, word) in self.words.iter_mut().take(4).enumerate() {
            *word = u32::try_from(raw >> (32 * at) & 0xffff_ffff).unwrap_or(0);
        }
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// Words without a literal.
    pub(super) fn base_words(&self) -> u8 {
        self.meaning.map_or(1, |(layout, _)| layout.words)
    }

    /// Whether the operand is there. Results are, unless an atomic operation returns nothing, or data goes to
    /// LDS.
    pub(super) fn has(&self, slot: &Slot) -> bool {
        match slot.role {
            Role::Returned => self.returns(),
            // Loads to LDS write no register.
            Role::Result | Role::Both => self.get(Field::Lds) == 0,
            Role::Source => true,
        }
    }

    /// Whether an atomic operation returns what was in memory.
    pub fn returns(&self) -> bool {
        [Field::Glc, Field::Sc0, Field::Th].into_iter().any(|field| self.get(field) & 1 == 1)
    }

    /// The value of a field, 0 if the encoding does not have it.
    pub fn get(&self, field: Field) -> u32 {
        self.meaning.and_then(|(layout, _)| layout.field(field)).map_or(0, |bits| bits.of(self.raw()))
    }

    /// Whether a DPP8 instruction reads lanes that are not active.
    pub(super) fn fetches_inactive(&self) -> bool {
        let code = if self.base_words() == 3 { self.word(1) & 0x1ff } else { self.word(0) & 0x1ff };
        code == 0xea
    }

    /// Bits of a field; 0 if the encoding does not have it.
    pub(super) fn width(&self, field: Field) -> u8 {
        self.meaning.and_then(|(layout, _)| layout.field(field)).map_or(0, |bits| bits.width)
    }

    /// The encoding; `None` if opaque.
    pub fn encoding(&self) -> Option<Encoding> {
        self.meaning.map(|(layout, _)| layout.encoding)
    }

    /// The mnemonic without the ending of its encoding, as `v_add_f32`; empty if opaque.
    pub fn name(&self) -> &'static str {
        self.meaning.map_or("", |(_, row)| row.name)
    }

    /// The class of effect; `None` if opaque.
    pub fn class(&self) -> Option<Class> {
        self.meaning.map(|(_, row)| row.class)
    }

    /// Whether the tables do not have this instruction.
    pub fn is_opaque(&self) -> bool {
        self.meaning.is_none()
    }

    /// The scalar address of a FLAT instruction; `None` if it has none.
    pub(super) fn scalar_address(&self) -> Option<u32> {
        let code = self.get(Field::Saddr);
        // RDNA 2 has a second code for it.
        let scratch = self.target.family() == Family::Gfx10 && self.encoding() == Some(Encoding::Scratch);
        let none = code == self.target.no_scalar_address() || (scratch && code == 127);
        (!none).then_some(code)
    }

    /// Whether the vector address of a GLOBAL instruction is an offset to a scalar address.
    pub(super) fn has_scalar_base(&self) -> bool {
        self.encoding() == Some(Encoding::Global) && self.scalar_address().is_some()
    }

    /// Whether a SCRATCH instruction has a vector address.
    pub(in crate::amdgpu) fn scratch_vector(&self) -> bool {
        if self.width(Field::Sve) > 0 {
            self.get(Field::Sve) == 1
        } else {
            // RDNA 2 has a code for neither address.
            let neither = self.target.family() == Family::Gfx10 && self.get(Field::Saddr) == 127;
            self.scalar_address().is_none() && !neither
        }
    }
}
