//! Reading operands: their bits, zero-extended.

use prlx_isa::view::{Function, Module, Operand, RegInfo, Type};
use prlx_trace::device::low;

use crate::ptx::lane_state::WARP;
use crate::ptx::snippet::{Snippet, register};

/// How wide an operand's bits are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    /// A predicate.
    Bit,
    /// 8, 16, 32 bits: they fit a 32-bit register.
    Small(u32),
    /// 64 bits (of 128, the low half).
    Wide,
}

/// The width of a type.
pub(super) fn width(ty: Type) -> Width {
    use Type::*;
    match ty {
        Pred | B1 => Width::Bit,
        B8 | U8 | S8 | U4 | S4 | E4m3 | E5m2 | E2m1 | E2m1x2 | E2m3 | E3m2 | Ue8m0 => Width::Small(8),
        B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | Ue8m0x2 => Width::Small(16),
        B32 | U32 | S32 | F16x2 | Bf16x2 | F32 | Tf32 | U16x2 | S16x2 => Width::Small(32),
        B64 | U64 | S64 | F64 | F32x2 | B128 => Width::Wide,
    }
}

/// A value to read.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    /// A register or special register by name, with its type.
    Named(String, Type),
    /// The negation of a predicate.
    Not(String),
    /// Bits known when lowering.
    Bits(u64),
    /// An address.
    Address(String, i64),
    /// So many lowest bits of another one that has more, 32 at most.
    Low(Box<Value>, u8),
}

/// Takes an operand apart into scalar values, in order; `None` for what has none (addresses, labels, text).
pub(super) fn scalars_of(module: &Module, function: &Function, operand: &Operand) -> Option<Vec<Value>> {
    let named = |info: &RegInfo| Value::Named(info.name.clone(), info.ty);
    Some(match operand {
        Operand::Reg(r) => vec![named(function.regs.get(r.index())?)],
        Operand::Not(r) => vec![Value::Not(function.regs.get(r.index())?.name.clone())],
        Operand::Int(i) => vec![Value::Bits(i.cast_unsigned())],
        Operand::F32(bits) => vec![Value::Bits(u64::from(*bits))],
        Operand::F64(bits) => vec![Value::Bits(*bits)],
        Operand::Special(name) => vec![special(name)],
        Operand::Symbol(id, offset) => {
            vec![Value::Address(module.symbols.get(id.index())?.name.clone(), *offset)]
        }
        Operand::Element(r, i) => {
            let component = ["x", "y", "z", "w"].get(usize::from(*i))?;
            let info = function.regs.get(r.index())?;
            vec![Value::Named(format!("{}.{component}", register(function, *r)), info.ty)]
        }
        Operand::Vector(parts) => {
            let parts: Option<Vec<_>> = parts.iter().map(|p| scalars_of(module, function, p)).collect();
            parts?.concat()
        }
        Operand::Pair(first, second) => {
            let mut both = scalars_of(module, function, first)?;
            both.extend(scalars_of(module, function, second)?);
            both
        }
        Operand::Sink => Vec::new(),
        _ => return None,
    })
}

fn special(name: &str) -> Value {
    const WIDE: &[&str] = &["%clock64", "%globaltimer", "%gridid", "%current_graph_exec"];
    match name {
        "WARP_SZ" => Value::Bits(WARP),
        "%is_explicit_cluster" => Value::Named(name.to_owned(), Type::Pred),
        _ => Value::Named(name.to_owned(), if WIDE.contains(&name) { Type::U64 } else { Type::U32 }),
    }
}

impl Value {
    /// Its `bits` lowest bits.
    pub fn low(self, bits: u8) -> Value {
        let held = match self.width() {
            Width::Bit => 1,
            Width::Small(held) => held,
            Width::Wide => 64,
        };
        match self {
            Value::Bits(own) => Value::Bits(low(own, bits)),
            own if held <= u32::from(bits) => own,
            own => Value::Low(Box::new(own), bits),
        }
    }

    /// How wide it is.
    pub fn width(&self) -> Width {
        match self {
            Value::Named(_, ty) => width(*ty),
            Value::Not(_) => Width::Bit,
            Value::Bits(bits) if *bits <= u64::from(u32::MAX) => Width::Small(32),
            Value::Bits(_) | Value::Address(..) => Width::Wide,
            Value::Low(_, bits) => Width::Small((*bits).into()),
        }
    }

    /// Appends code that puts its bits, zero-extended, into the 64-bit register `to`.
    pub fn read(&self, s: &mut Snippet<'_>, to: &str) {
        match self {
            Value::Named(name, Type::B128) => s.ptx(&format!("mov.b128 {{{to}, %~y}}, {name};")),
            Value::Named(name, ty) => match width(*ty) {
                Width::Bit => s.ptx(&format!("selp.b64 {to}, 1, 0, {name};")),
                Width::Small(8) => s.ptx(&format!("cvt.u64.u8 {to}, {name};")),
                Width::Small(16) => s.ptx(&format!("mov.b16 %~h, {name};\ncvt.u64.u16 {to}, %~h;")),
                Width::Small(_) => s.ptx(&format!("mov.b32 %~c, {name};\ncvt.u64.u32 {to}, %~c;")),
                Width::Wide => s.ptx(&format!("mov.b64 {to}, {name};")),
            },
            Value::Not(name) => s.ptx(&format!("selp.b64 {to}, 0, 1, {name};")),
            Value::Bits(bits) => s.ptx(&format!("mov.b64 {to}, {};", bits.cast_signed())),
            Value::Address(name, offset) => {
                s.ptx(&format!("mov.u64 {to}, {name};"));
                if *offset != 0 {
                    s.ptx(&format!("add.s64 {to}, {to}, {offset};"));
                }
            }
            Value::Low(of, bits) => {
                of.read(s, to);
                s.ptx(&format!("and.b64 {to}, {to}, {};", low(u64::MAX, *bits)));
            }
        }
    }

    /// Appends code that puts the low 32 bits into the 32-bit register `to`.
    pub fn read_low(&self, s: &mut Snippet<'_>, to: &str) {
        match self {
            Value::Named(name, ty) => match width(*ty) {
                Width::Bit => s.ptx(&format!("selp.b32 {to}, 1, 0, {name};")),
                Width::Small(8) => s.ptx(&format!("cvt.u32.u8 {to}, {name};")),
                Width::Small(16) => s.ptx(&format!("mov.b16 %~h, {name};\ncvt.u32.u16 {to}, %~h;")),
                Width::Small(_) => s.ptx(&format!("mov.b32 {to}, {name};")),
                Width::Wide => {
                    self.read(s, "%~v");
                    s.ptx(&format!("cvt.u32.u64 {to}, %~v;"));
                }
            },
            Value::Not(name) => s.ptx(&format!("selp.b32 {to}, 0, 1, {name};")),
            Value::Bits(bits) => s.ptx(&format!("mov.b32 {to}, {};", (*bits as u32).cast_signed())),
            Value::Address(..) => {
                self.read(s, "%~v");
                s.ptx(&format!("cvt.u32.u64 {to}, %~v;"));
            }
            Value::Low(of, bits) => {
                of.read_low(s, to);
                if *bits < 32 {
                    s.ptx(&format!("and.b32 {to}, {to}, {};", low(u64::MAX, *bits)));
                }
            }
        }
    }
}
