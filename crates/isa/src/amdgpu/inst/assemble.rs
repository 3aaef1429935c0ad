//! Encodes an instruction from its mnemonic and operands.

use super::names::{Encoding, Field};
use super::operand::{Bank, Value};
use super::raw::Inst;
use super::table::{self, Kind, Role, Slot};
use crate::amdgpu::{Family, Target};

impl Inst {
    /// The instruction of that mnemonic and encoding with these operands, in the order of the text. `fields`
    /// are set besides; the result of an atomic operation is an operand if one of them asks for it.
    ///
    /// `None` if the target has no such instruction, or an operand cannot stand there.
    pub fn assemble(
        target: Target,
        lanes: u8,
        encoding: Encoding,
        name: &str,
        operands: &[Value],
        fields: &[(Field, u32)],
    ) -> Option<Inst> {
        let mut raw = Inst::new(target, lanes, encoding, name)?;
        let layout = table::of(target).layout(encoding)?;
        let mut put = |field: Field, value: u32| {
            let bits = layout.field(field)?;
            (bits.width >= 32 || value >> bits.width == 0).then_some(())?;
            raw.put(bits, value);
            Some(())
        };
        for (field, value) in fields {
            put(*field, *value)?;
        }
        let form = layout.rows.iter().find(|row| row.name == name)?.form;
        let mut slots: Vec<&Slot> =
            form.slots.iter().filter(|slot| !matches!(slot.kind, Kind::Vcc | Kind::Exec)).collect();
        if slots.len() > operands.len() {
            slots.retain(|slot| slot.role != Role::Returned);
        }
        if slots.len() != operands.len() {
            return None;
        }
        let mut literal = None;
        for (slot, operand) in slots.into_iter().zip(operands) {
            let wide = layout.field(slot.field)?.width >= 9;
            let (code, more) = code(target, slot.field, wide, *operand)?;
            literal = literal.or(more);
            put(slot.field, code)?;
        }
        let mut words = raw.words;
        let count = usize::from(layout.words);
        if let Some(literal) = literal {
            *words.get_mut(count)? = literal;
        }
        let inst = Inst::decode(target, lanes, words.get(..count + usize::from(literal.is_some()))?)?;
        (inst.name() == name && inst.encoding() == Some(encoding)).then_some(inst)
    }
}

/// What a field holds for an operand, and the literal behind the instruction.
fn code(target: Target, field: Field, wide: bool, value: Value) -> Option<(u32, Option<u32>)> {
    let small = |n: i32| u32::try_from(n).ok();
    Some(match value {
        Value::Registers { bank: Bank::Scalar, first, .. } => match field {
            Field::Sbase => (u32::from(first) / 2, None),
            Field::Srsrc => (u32::from(first) / 4, None),
            _ => (first.into(), None),
        },
        Value::Registers { bank: Bank::Trap, first, .. } => (108 + u32::from(first), None),
        Value::Registers { bank: Bank::Vector | Bank::Accumulation, first, .. } => {
            (u32::from(first) + if wide { 256 } else { 0 }, None)
        }
        Value::Half { .. } => return None,
        Value::Named(name, _) => (named(target, name)?, None),
        Value::Integer(n @ 0..=64) => (128 + small(n)?, None),
        Value::Integer(n @ -16..=-1) => (small(192 - n)?, None),
        Value::Integer(n) => (LITERAL, Some(n.cast_unsigned())),
        Value::Float(code) => (code.into(), None),
        Value::Literal(bits) => (LITERAL, Some(bits)),
        Value::Immediate(bits) => (bits, None),
    })
}

/// The code of a source that says that a literal follows.
const LITERAL: u32 = 255;

/// The code of a register with a name.
fn named(target: Target, name: &str) -> Option<u32> {
    let (m0, null) = if target.family() >= Family::Gfx11 { (125, 124) } else { (124, 125) };
    Some(match name {
        "vcc" | "vcc_lo" => 106,
        "vcc_hi" => 107,
        "m0" => m0,
        "null" => null,
        "exec" | "exec_lo" => 126,
        "exec_hi" => 127,
        _ => return None,
    })
}
