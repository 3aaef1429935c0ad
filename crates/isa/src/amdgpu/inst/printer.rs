//! Writes operands and single modifiers.

use std::fmt::{self, Write};

use super::immediate;
use super::names::Field;
use super::operand::Value;
use super::raw::Inst;
use super::table::{Immediate, Kind, Slot, Type};

/// Writes the target of a branch: gets the number of words from the next instruction.
pub type Labels<'a> = &'a dyn Fn(i16) -> Option<String>;

/// What is written to, and where. Text that cannot be written is an error, and the instruction opaque.
pub(super) struct Printer<'a> {
    pub(super) inst: &'a Inst,
    pub(super) out: &'a mut String,
    pub(super) labels: Labels<'a>,
}

impl Printer<'_> {
    pub(super) fn slot(&mut self, slot: &Slot) -> fmt::Result {
        let value = self.inst.value(slot).ok_or(fmt::Error)?;
        let (neg, abs) = if slot.float_modifiers { self.signs(slot.field) } else { (false, false) };
        let sext = slot.sign_extends && self.sign_extends(slot.field);
        let start = self.out.len();
        self.one(slot.kind, value)?;
        let text = self.out.split_off(start);
        let number = matches!(value, Value::Integer(_) | Value::Float(_) | Value::Literal(_));
        let text = if abs {
            format!("|{text}|")
        } else if sext {
            format!("sext({text})")
        } else {
            text
        };
        // `-1` would be the constant; LLVM writes `neg(1)`.
        if neg && number && !abs && !text.starts_with("lit(") {
            write!(self.out, "neg({text})")
        } else {
            write!(self.out, "{}{text}", if neg { "-" } else { "" })
        }
    }

    pub(super) fn signs(&self, field: Field) -> (bool, bool) {
        let inst = self.inst;
        let bit = |field, at: u32| inst.get(field) >> at & 1 == 1;
        if inst.width(Field::Src0Neg) > 0 && inst.width(Field::Neg) == 0 {
            return match field {
                Field::Src0 => (bit(Field::Src0Neg, 0), bit(Field::Src0Abs, 0)),
                _ => (bit(Field::Src1Neg, 0), bit(Field::Src1Abs, 0)),
            };
        }
        let at = match field {
            Field::Src0 => 0,
            Field::Src1 => 1,
            _ => 2,
        };
        // Mixed-precision operations of VOP3P have the absolute values where others have `neg_hi`.
        let abs = if inst.width(Field::Abs) > 0 { Field::Abs } else { Field::NegHi };
        let scalar_result =
            inst.meaning.is_some_and(|(_, row)| row.form.slots.iter().any(|slot| slot.field == Field::Sdst));
        // The bits of absolute values are those of a second, scalar result.
        (bit(Field::Neg, at), bit(abs, at) && !scalar_result)
    }

    pub(super) fn sign_extends(&self, field: Field) -> bool {
        self.inst.get(if field == Field::Src0 { Field::Src0Sext } else { Field::Src1Sext }) == 1
    }

    pub(super) fn one(&mut self, kind: Kind, value: Value) -> fmt::Result {
        match value {
            Value::Registers { bank, first, count: 1 } => write!(self.out, "{}{first}", bank.prefix()),
            Value::Registers { bank, first, count } => {
                let last = u32::from(first) + u32::from(count) - 1;
                write!(self.out, "{}[{first}:{last}]", bank.prefix())
            }
            Value::Half { index, high } => write!(self.out, "v{index}.{}", if high { "h" } else { "l" }),
            Value::Named(name, _) => self.out.write_str(name),
            Value::Integer(number) => write!(self.out, "{number}"),
            Value::Float(code) => self.float(kind, code),
            Value::Literal(bits) => self.literal(kind, bits),
            Value::Immediate(value) => self.immediate(kind, value),
        }
    }

    pub(super) fn float(&mut self, kind: Kind, code: u8) -> fmt::Result {
        let ty = type_of(kind);
        let text = match (ty, code) {
            (Some(Type::B16), _) => {
                let bits = float_constant(code, 10, 5, 0x3118);
                return write!(self.out, "{bits:#x}");
            }
            (_, 240) => "0.5",
            (_, 241) => "-0.5",
            (_, 242) => "1.0",
            (_, 243) => "-1.0",
            (_, 244) => "2.0",
            (_, 245) => "-2.0",
            (_, 246) => "4.0",
            (_, 247) => "-4.0",
            (Some(Type::B64 | Type::F64), _) => "0.15915494309189532",
            _ => "0.15915494",
        };
        self.out.write_str(text)
    }

    /// A literal. One whose value could have been a constant in the code is `lit(…)`.
    pub(super) fn literal(&mut self, kind: Kind, bits: u32) -> fmt::Result {
        let low = bits & 0xffff;
        let (constant, shown) = match type_of(kind) {
            Some(Type::B64) => (bits <= 64, bits),
            Some(Type::F64) if bits == 0 => return self.out.write_char('0'),
            Some(Type::F64) => (false, bits),
            Some(Type::B16) if constant_32(bits) => (true, bits),
            Some(Type::B16) => (false, low),
            Some(Type::F16) if constant_16(low, 10, 5, 0x3118) => (true, bits),
            Some(Type::F16) => (false, low),
            Some(Type::Bf16) => (constant_16(low, 7, 8, 0x3e22), bits),
            Some(Type::V2F16) => (integer_constant(bits) || float_16(bits, 10, 5, 0x3118), bits),
            Some(Type::V2Bf16) => (integer_constant(bits) || float_16(bits, 7, 8, 0x3e22), bits),
            Some(_) => (constant_32(bits), bits),
            None if kind == Kind::Immediate(Immediate::Constant) => return self.constant(bits),
            None => (false, bits),
        };
        if constant { write!(self.out, "lit({shown:#x})") } else { write!(self.out, "{shown:#x}") }
    }

    /// A 32-bit value, as a constant if a code could name it.
    pub(super) fn constant(&mut self, bits: u32) -> fmt::Result {
        let float = (240..=248).find(|code| float_32(*code) == bits);
        match (i32::from_le_bytes(bits.to_le_bytes()), float) {
            (number @ -16..=64, _) => write!(self.out, "{number}"),
            (_, Some(code)) => self.float(Kind::Vcc, code),
            _ => write!(self.out, "{bits:#x}"),
        }
    }

    pub(super) fn immediate(&mut self, kind: Kind, value: u32) -> fmt::Result {
        let Kind::Immediate(what) = kind else { return Err(fmt::Error) };
        let target = self.inst.target;
        match what {
            Immediate::Plain => immediate::plain(value, self.out),
            Immediate::Hex | Immediate::Literal | Immediate::Constant => write!(self.out, "{value:#x}"),
            Immediate::Optional => write!(self.out, "{value}"),
            Immediate::Label => {
                let words = i16::from_le_bytes([value.to_le_bytes()[0], value.to_le_bytes()[1]]);
                match (self.labels)(words) {
                    Some(label) => self.out.write_str(&label),
                    None => write!(self.out, "{value}"),
                }
            }
            Immediate::Waitcnt => immediate::print_waitcnt(target, value, self.out),
            Immediate::Depctr => immediate::print_depctr(value, self.out),
            Immediate::Message | Immediate::MessageReturn => {
                immediate::print_message(target, value, self.out)
            }
            Immediate::Delay => immediate::print_delay(value, self.out),
            Immediate::Hwreg => immediate::print_hwreg(target, value, self.out),
            Immediate::GprIndex => immediate::print_gpr_index(value, self.out),
            Immediate::Version => immediate::print_version(value, self.out),
        }
    }

    /// ` name:VALUE` if it is not 0.
    pub(super) fn number(&mut self, field: Field, name: &str) -> fmt::Result {
        match self.inst.get(field) {
            _ if self.ignores(field) => Ok(()),
            0 => Ok(()),
            value => write!(self.out, " {name}:{value}"),
        }
    }

    /// ` name` if the bit is set.
    pub(super) fn flag(&mut self, field: Field, name: &str) {
        if self.inst.get(field) != 0 && !self.ignores(field) {
            self.out.push(' ');
            self.out.push_str(name);
        }
    }

    /// Whether the operation does not look at the field.
    pub(super) fn ignores(&self, field: Field) -> bool {
        self.inst.meaning.is_some_and(|(_, row)| row.form.ignored.contains(&field))
    }

    pub(super) fn list(&mut self, name: &str, bits: u32, order: &[u32]) -> fmt::Result {
        write!(self.out, " {name}:[")?;
        let mut between = "";
        for at in order {
            write!(self.out, "{between}{}", bits >> at & 1)?;
            between = ",";
        }
        self.out.write_char(']')
    }
}

fn type_of(kind: Kind) -> Option<Type> {
    match kind {
        Kind::Source { ty, .. } => Some(ty),
        _ => None,
    }
}

fn integer_constant(bits: u32) -> bool {
    bits <= 64 || bits >= 0xffff_fff0
}

/// Whether a 32-bit value is one of the constants that a source's code can name.
fn constant_32(bits: u32) -> bool {
    integer_constant(bits) || (240..=248).any(|code| float_32(code) == bits)
}

/// The 32-bit floating-point constant of a code.
fn float_32(code: u8) -> u32 {
    const FLOATS: [f32; 8] = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0];
    let at = usize::from(code.saturating_sub(240));
    FLOATS.get(at).map_or(0x3e22_f983, |float| float.to_bits())
}

/// The bits of the floating-point constant of a code (240 to 247: ±0.5, ±1, ±2, ±4; 248: `turn`), for a type
/// with so many bits of mantissa and exponent.
fn float_constant(code: u8, mantissa: u32, exponent: u32, turn: u32) -> u32 {
    let step = u32::from(code.saturating_sub(240));
    if step == 8 {
        return turn;
    }
    let bias = (1 << (exponent - 1)) - 1;
    (bias - 1 + step / 2) << mantissa | (step & 1) << 15
}

fn float_16(bits: u32, mantissa: u32, exponent: u32, turn: u32) -> bool {
    (240..=248).any(|code| float_constant(code, mantissa, exponent, turn) == bits)
}

fn constant_16(low: u32, mantissa: u32, exponent: u32, turn: u32) -> bool {
    low <= 64 || low >= 0xfff0 || float_16(low, mantissa, exponent, turn)
}
