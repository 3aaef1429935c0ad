//! Reads operands of the source: their bits, zero-extended.

use prlx_isa::view::{Function, Module, Operand, RegInfo, Type};
use prlx_trace::device::low;

use crate::ptx::snippet::{Snippet, register};

/// Width of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    /// One bit: a predicate.
    Bit,
    /// 8, 16 or 32 bits, which fit a 32-bit register.
    Small(u32),
    /// 64 bits; of 128 bits, the low half.
    Wide,
}

/// Width of a type.
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

/// A value that the lowering can read.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum OperandValue {
    /// A register or special register: name and type.
    Named(String, Type),
    /// The negation of a predicate.
    Not(String),
    /// A constant known when lowering.
    Bits(u64),
    /// The address of a symbol plus an offset.
    Address(String, i64),
    /// The lowest bits, 32 at most, of a wider value.
    Low(Box<OperandValue>, u8),
}

/// Splits an operand into scalar values, in order; `None` for operands without values (addresses, labels,
/// text).
pub(super) fn scalars_of(
    module: &Module,
    function: &Function,
    operand: &Operand,
) -> Option<Vec<OperandValue>> {
    let named = |info: &RegInfo| OperandValue::Named(info.name.clone(), info.ty);
    Some(match operand {
        Operand::Reg(r) => vec![named(function.regs.get(r.index())?)],
        Operand::Not(r) => vec![OperandValue::Not(function.regs.get(r.index())?.name.clone())],
        Operand::Int(i) => vec![OperandValue::Bits(i.cast_unsigned())],
        Operand::F32(bits) => vec![OperandValue::Bits(u64::from(*bits))],
        Operand::F64(bits) => vec![OperandValue::Bits(*bits)],
        Operand::Special(name) => vec![special(module, name)],
        Operand::Symbol(id, offset) => {
            vec![OperandValue::Address(module.symbols.get(id.index())?.name.clone(), *offset)]
        }
        Operand::Element(r, i) => {
            let component = ["x", "y", "z", "w"].get(usize::from(*i))?;
            let info = function.regs.get(r.index())?;
            vec![OperandValue::Named(format!("{}.{component}", register(function, *r)), info.ty)]
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

fn special(module: &Module, name: &str) -> OperandValue {
    const WIDE: &[&str] = &["%clock64", "%globaltimer", "%gridid", "%current_graph_exec"];
    match name {
        "WARP_SZ" => OperandValue::Bits(module.warp_lanes.into()),
        "%is_explicit_cluster" => OperandValue::Named(name.to_owned(), Type::Pred),
        _ => OperandValue::Named(name.to_owned(), if WIDE.contains(&name) { Type::U64 } else { Type::U32 }),
    }
}

impl OperandValue {
    /// The `bits` lowest bits of the value.
    pub fn low(self, bits: u8) -> OperandValue {
        let held = match self.width() {
            Width::Bit => 1,
            Width::Small(held) => held,
            Width::Wide => 64,
        };
        match self {
            OperandValue::Bits(own) => OperandValue::Bits(low(own, bits)),
            own if held <= u32::from(bits) => own,
            own => OperandValue::Low(Box::new(own), bits),
        }
    }

    /// Width of the value.
    pub fn width(&self) -> Width {
        match self {
            OperandValue::Named(_, ty) => width(*ty),
            OperandValue::Not(_) => Width::Bit,
            OperandValue::Bits(bits) if *bits <= u64::from(u32::MAX) => Width::Small(32),
            OperandValue::Bits(_) | OperandValue::Address(..) => Width::Wide,
            OperandValue::Low(_, bits) => Width::Small((*bits).into()),
        }
    }

    /// Appends code that reads its bits, zero-extended, into the 64-bit register `to`.
    pub fn read(&self, s: &mut Snippet<'_>, to: &str) {
        match self {
            OperandValue::Named(name, Type::B128) => s.ptx(&format!("mov.b128 {{{to}, %~y}}, {name};")),
            OperandValue::Named(name, ty) => match width(*ty) {
                Width::Bit => s.ptx(&format!("selp.b64 {to}, 1, 0, {name};")),
                Width::Small(8) => s.ptx(&format!("cvt.u64.u8 {to}, {name};")),
                Width::Small(16) => s.ptx(&format!("mov.b16 %~h, {name};\ncvt.u64.u16 {to}, %~h;")),
                Width::Small(_) => s.ptx(&format!("mov.b32 %~c, {name};\ncvt.u64.u32 {to}, %~c;")),
                Width::Wide => s.ptx(&format!("mov.b64 {to}, {name};")),
            },
            OperandValue::Not(name) => s.ptx(&format!("selp.b64 {to}, 0, 1, {name};")),
            OperandValue::Bits(bits) => s.ptx(&format!("mov.b64 {to}, {};", bits.cast_signed())),
            OperandValue::Address(name, offset) => {
                s.ptx(&format!("mov.u64 {to}, {name};"));
                if *offset != 0 {
                    s.ptx(&format!("add.s64 {to}, {to}, {offset};"));
                }
            }
            OperandValue::Low(of, bits) => {
                of.read(s, to);
                s.ptx(&format!("and.b64 {to}, {to}, {};", low(u64::MAX, *bits)));
            }
        }
    }

    /// Appends code that reads its low 32 bits into the 32-bit register `to`.
    pub fn read_low(&self, s: &mut Snippet<'_>, to: &str) {
        match self {
            OperandValue::Named(name, ty) => match width(*ty) {
                Width::Bit => s.ptx(&format!("selp.b32 {to}, 1, 0, {name};")),
                Width::Small(8) => s.ptx(&format!("cvt.u32.u8 {to}, {name};")),
                Width::Small(16) => s.ptx(&format!("mov.b16 %~h, {name};\ncvt.u32.u16 {to}, %~h;")),
                Width::Small(_) => s.ptx(&format!("mov.b32 {to}, {name};")),
                Width::Wide => {
                    self.read(s, "%~v");
                    s.ptx(&format!("cvt.u32.u64 {to}, %~v;"));
                }
            },
            OperandValue::Not(name) => s.ptx(&format!("selp.b32 {to}, 0, 1, {name};")),
            OperandValue::Bits(bits) => s.ptx(&format!("mov.b32 {to}, {};", (*bits as u32).cast_signed())),
            OperandValue::Address(..) => {
                self.read(s, "%~v");
                s.ptx(&format!("cvt.u32.u64 {to}, %~v;"));
            }
            OperandValue::Low(of, bits) => {
                of.read_low(s, to);
                if *bits < 32 {
                    s.ptx(&format!("and.b32 {to}, {to}, {};", low(u64::MAX, *bits)));
                }
            }
        }
    }
}
