//! Addresses of memory instructions.

use super::names::{Encoding, Field};
use super::operand::{Value, scalar};
use super::raw::Inst;
use crate::amdgpu::Family;

/// Where a memory instruction takes its address from. What is there is added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Address {
    /// Vector registers: an address (64 bits; 32 for LDS and scratch memory), or an offset to a scalar base.
    /// For buffers an index, an offset, or both in this order.
    pub vector: Option<Value>,
    /// Scalar registers: an address of 64 bits, an offset in scratch memory, or the four words that describe
    /// a buffer.
    pub base: Option<Value>,
    /// A scalar offset, in bytes.
    pub register: Option<Value>,
    /// An offset that the instruction has, in bytes. For LDS instructions with two offsets, those are
    /// [`Inst::two_offsets`] and this is 0.
    pub offset: i64,
}

/// The value of the low `width` bits as a signed number.
pub(super) fn signed(value: u32, width: u8) -> i64 {
    let value = i64::from(value);
    if width > 0 && value >> (width - 1) & 1 == 1 { value - (1 << width) } else { value }
}

impl Inst {
    /// The address of a memory instruction; `None` for other instructions, and for images.
    pub fn address(&self) -> Option<Address> {
        let operand = |field| self.operands().into_iter().find(|o| o.slot.field == field).map(|o| o.value);
        let mut address = Address::default();
        match self.encoding()? {
            encoding @ (Encoding::Flat | Encoding::Global | Encoding::Scratch) => {
                let has_vector = encoding != Encoding::Scratch || self.scratch_vector();
                address.vector = operand(Field::Addr).filter(|_| has_vector);
                let count = if encoding == Encoding::Scratch { 1 } else { 2 };
                let code = self.scalar_address().filter(|_| encoding != Encoding::Flat);
                address.base = code.and_then(|code| scalar(self.target, code, count));
                address.offset = self.flat_offset();
            }
            Encoding::Smem => {
                address.base = operand(Field::Sbase);
                let (register, offset) = self.scalar_offset();
                address.register = register.and_then(|code| scalar(self.target, code, 1));
                address.offset = signed(offset.unwrap_or(0), self.width(Field::Offset));
            }
            Encoding::Ds => {
                address.vector = operand(Field::Addr);
                let offset = self.get(Field::Offset0) | self.get(Field::Offset1) << 8;
                address.offset = if self.two_offsets().is_some() { 0 } else { i64::from(offset) };
            }
            Encoding::Mubuf | Encoding::Mtbuf => {
                address.vector = self.buffer_address()?;
                address.base = operand(Field::Srsrc);
                address.register = operand(Field::Soffset);
                address.offset = i64::from(self.get(Field::Offset));
            }
            _ => return None,
        }
        Some(address)
    }

    /// The two offsets of an LDS instruction that has two addresses, in elements.
    pub fn two_offsets(&self) -> Option<[u32; 2]> {
        let two = self.meaning.is_some_and(|(_, row)| row.form.two_offsets);
        two.then(|| [self.get(Field::Offset0), self.get(Field::Offset1)])
    }

    /// The offset of a FLAT, GLOBAL or SCRATCH instruction.
    pub(super) fn flat_offset(&self) -> i64 {
        let raw = self.get(Field::Offset);
        match (self.encoding(), self.target.family()) {
            (Some(Encoding::Flat), Family::Gfx9 | Family::Gfx10 | Family::Gfx11) => i64::from(raw),
            _ => signed(raw, self.width(Field::Offset)),
        }
    }

    /// The register of a scalar memory instruction that has an offset, and the bits of its constant offset.
    pub(super) fn scalar_offset(&self) -> (Option<u32>, Option<u32>) {
        let offset = self.get(Field::Offset);
        let null = if self.target.family() >= Family::Gfx11 { 124 } else { 125 };
        let soffset = self.get(Field::Soffset);
        if self.width(Field::Imm) > 0 {
            match (self.get(Field::Imm), self.get(Field::Soffen)) {
                (1, 0) => (None, Some(offset)),
                (1, _) => (Some(soffset), Some(offset)),
                (_, 1) => (Some(soffset), None),
                _ => (Some(offset & 127), None),
            }
        } else if soffset == null && (offset != 0 || self.target.family() == Family::Gfx12) {
            (None, Some(offset))
        } else if self.target.family() == Family::Gfx12 {
            (Some(soffset), Some(offset))
        } else {
            (Some(soffset), (offset != 0).then_some(offset))
        }
    }
}
