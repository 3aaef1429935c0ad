//! Decoding and encoding.

use super::names::{Encoding, Field};
use super::operand::Value;
use super::print;
use super::raw::{Inst, MOST_WORDS};
use super::table;
use crate::amdgpu::{Family, Target};

impl Inst {
    /// Reads the instruction at the start of `words`, for waves of `lanes` lanes. `None`: there are no words.
    pub fn decode(target: Target, lanes: u8, words: &[u32]) -> Option<Inst> {
        let lanes = if lanes == 32 && target.family() != Family::Gfx9 { 32 } else { 64 };
        let mut inst = Inst { target, lanes, words: [0; MOST_WORDS], length: 1, meaning: None, indexed: 0 };
        for (to, from) in inst.words.iter_mut().zip(words) {
            *to = *from;
        }
        let first = *words.first()?;
        let raw = inst.raw();
        for layout in table::of(target).candidates(first) {
            if raw & layout.fixed.0 != layout.fixed.1 {
                continue;
            }
            let Some(row) = layout.row(layout.opcode_of(raw)) else { continue };
            inst.meaning = Some((layout, row));
            if let Some(length) = inst.checked_length().filter(|length| usize::from(*length) <= words.len()) {
                inst.length = length;
                inst.clear_rest();
                return Some(inst);
            }
        }
        inst.meaning = None;
        inst.clear_rest();
        Some(inst)
    }

    /// Words behind the instruction are not part of it.
    fn clear_rest(&mut self) {
        for word in self.words.iter_mut().skip(usize::from(self.length)) {
            *word = 0;
        }
    }

    /// The length in words, if every bit and operand has a meaning.
    fn checked_length(&self) -> Option<u8> {
        let (layout, row) = self.meaning?;
        if self.raw() & row.fixed.0 != row.fixed.1 {
            return None;
        }
        let mut literal = 0;
        for slot in row.form.slots.iter().filter(|slot| self.has(slot)) {
            if matches!(self.value(slot)?, Value::Literal(_)) {
                literal = 1;
            }
        }
        print::has_text(self).then_some(())?;
        // RDNA 2 and 3: further words with registers of addresses.
        let addresses = u8::try_from(self.get(Field::Nsa)).ok()?;
        Some(layout.words + literal + addresses)
    }

    /// An instruction of that mnemonic and encoding with all fields 0, except those
    /// that must not be; `None` if the target has none.
    pub fn new(target: Target, lanes: u8, encoding: Encoding, name: &str) -> Option<Inst> {
        let layout = table::of(target).layout(encoding)?;
        let row = layout.rows.iter().find(|row| row.name == name)?;
        let mut words = [0; MOST_WORDS];
        let raw = layout.with_opcode(row.opcode) | row.fixed.1;
        for (at, word) in words.iter_mut().take(4).enumerate() {
            *word = u32::try_from(raw >> (32 * at) & 0xffff_ffff).unwrap_or(0);
        }
        let meaning = Some((layout, row));
        Some(Inst { target, lanes, words, length: layout.words, meaning, indexed: 0 })
    }

    /// The same instruction with another value in a field; `None` if it has no such field, the value does not
    /// fit, or the result means nothing. A literal that the change adds is 0.
    pub fn set(&self, field: Field, value: u32) -> Option<Inst> {
        let bits = self.meaning?.0.field(field)?;
        if bits.width < 32 && value >> bits.width != 0 {
            return None;
        }
        let mut changed = *self;
        changed.put(bits, value);
        let inst = Inst::decode(self.target, self.lanes, &changed.words)?;
        (inst.name() == self.name()).then_some(inst)
    }
}
