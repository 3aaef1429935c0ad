//! Results of arithmetic instructions in inserted code, as the PTX ISA defines them: on bits of the width
//! that they name.

use prlx_isa::ptx::{Op, Opcode};
use prlx_isa::view::Type;

/// Result of an instruction with the sources `a`, `b`, `c`; `None` if it is not one of those modelled.
pub(super) fn compute(form: &Opcode, a: Option<u64>, b: Option<u64>, c: Option<u64>) -> Option<u64> {
    let ty = form.ty(0)?;
    let bits = ty.bits();
    let extended = |v: u64| if ty.is_signed() { signed(ty, v).cast_unsigned() } else { v & mask(ty) };
    let (x, y) = (a.map(extended), b.map(extended));
    let less = |x: u64, y: u64| if ty.is_signed() { x.cast_signed() < y.cast_signed() } else { x < y };
    let amount = b.map(|n| n as u32);
    if matches!(ty, Type::F32 | Type::F64) {
        return float(form, ty, a?, b);
    }
    Some(match form.op? {
        Op::Cvt => return convert(form, a?),
        Op::Add => x?.wrapping_add(y?),
        Op::Sub => x?.wrapping_sub(y?),
        Op::Mul if form.has("wide") => x?.wrapping_mul(y?),
        Op::Mul if form.has("lo") => x?.wrapping_mul(y?),
        Op::Mad if form.has("lo") => x?.wrapping_mul(y?).wrapping_add(c?),
        Op::Mad if form.has("wide") => x?.wrapping_mul(y?).wrapping_add(c?),
        // The least value divided by -1 wraps. Inserted code must not divide by 0.
        Op::Div | Op::Rem if y? == 0 => return None,
        Op::Div if ty.is_signed() => x?.cast_signed().wrapping_div(y?.cast_signed()).cast_unsigned(),
        Op::Div => x?.checked_div(y?)?,
        Op::Rem if ty.is_signed() => x?.cast_signed().wrapping_rem(y?.cast_signed()).cast_unsigned(),
        Op::Rem => x?.checked_rem(y?)?,
        Op::And => a? & b?,
        Op::Or => a? | b?,
        Op::Xor => a? ^ b?,
        Op::Not => !a?,
        Op::Neg => x?.wrapping_neg(),
        Op::Abs => x?.cast_signed().wrapping_abs().cast_unsigned(),
        // The high half of the 64 bits, with `a` the low one.
        Op::Shf if form.has("l") && form.has("wrap") => {
            let both = (b? & mask(ty)) << 32 | a? & mask(ty);
            (both << (c? & 31)) >> 32
        }
        Op::Shl => (a? & mask(ty)).checked_shl(amount?).unwrap_or(0),
        // Shift amounts beyond the width are clamped to it.
        Op::Shr if ty.is_signed() => (x?.cast_signed() >> amount?.min(63)).cast_unsigned(),
        Op::Shr => (a? & mask(ty)).checked_shr(amount?).unwrap_or(0),
        Op::Min => {
            if less(x?, y?) {
                x?
            } else {
                y?
            }
        }
        Op::Max => {
            if less(x?, y?) {
                y?
            } else {
                x?
            }
        }
        Op::Brev if ty == Type::B32 => u64::from((a? as u32).reverse_bits()),
        Op::Clz => u64::from((a? & mask(ty)).leading_zeros() - (64 - bits)),
        Op::Popc => u64::from((a? & mask(ty)).count_ones()),
        Op::Selp => {
            if c? & 1 != 0 {
                a?
            } else {
                b?
            }
        }
        Op::Setp => {
            let (x, y) = (x?, y?);
            let holds = match form.one_of(&["eq", "ne", "lt", "le", "gt", "ge"])? {
                "eq" => x == y,
                "ne" => x != y,
                "lt" => less(x, y),
                "le" => !less(y, x),
                "gt" => less(y, x),
                _ => !less(x, y),
            };
            let holds = u64::from(holds);
            match form.one_of(&["and", "or", "xor"]) {
                None => holds,
                Some("and") => holds & c?,
                Some("or") => holds | c?,
                Some(_) => holds ^ c?,
            }
        }
        _ => return None,
    })
}

/// Bits of a value as a signed number.
pub(super) fn signed(ty: Type, v: u64) -> i64 {
    let unused = 64 - ty.bits();
    (v << unused).cast_signed() >> unused
}

fn number(ty: Type, bits: u64) -> f64 {
    if ty == Type::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) }
}

/// Arithmetic and comparisons of floats, and conversions to them.
fn float(form: &Opcode, ty: Type, a: u64, b: Option<u64>) -> Option<u64> {
    if form.op? == Op::Cvt {
        return convert(form, a);
    }
    if form.op? == Op::Setp {
        let (x, y) = (number(ty, a), number(ty, b?));
        let holds = match form.one_of(&["eq", "neu", "lt", "le", "gt", "ge"])? {
            "eq" => x == y,
            "neu" => x != y,
            "lt" => x < y,
            "le" => x <= y,
            "gt" => x > y,
            _ => x >= y,
        };
        return Some(holds.into());
    }
    macro_rules! on {
        ($t:ty, $a:expr, $b:expr) => {{
            let (x, y) = ($a, $b);
            let result: $t = match form.op? {
                Op::Add => x + y,
                Op::Sub => x - y,
                Op::Mul => x * y,
                Op::Div => x / y,
                Op::Min => x.min(y),
                Op::Max => x.max(y),
                _ => return None,
            };
            Some(result.to_bits().into())
        }};
    }
    match ty {
        Type::F32 => on!(f32, f32::from_bits(a as u32), f32::from_bits(b? as u32)),
        _ => on!(f64, f64::from_bits(a), f64::from_bits(b?)),
    }
}

fn convert(form: &Opcode, a: u64) -> Option<u64> {
    let (to, from) = (form.ty(0)?, form.ty(1)?);
    let a = a & mask(from);
    let float = |ty: Type| matches!(ty, Type::F32 | Type::F64);
    Some(match (from, to) {
        (Type::F16, Type::F32) => half(a),
        (Type::F32, Type::F64) => number(from, a).to_bits(),
        (Type::F64, Type::F32) => (f64::from_bits(a) as f32).to_bits().into(),
        _ if float(from) => match to {
            Type::S32 => (number(from, a) as i32).cast_unsigned().into(),
            Type::S64 => (number(from, a) as i64).cast_unsigned(),
            Type::U32 => (number(from, a) as u32).into(),
            Type::U64 => number(from, a) as u64,
            _ => return None,
        },
        (_, Type::F32) if from.is_signed() => (signed(from, a) as f32).to_bits().into(),
        (_, Type::F32) => (a as f32).to_bits().into(),
        (_, Type::F64) if from.is_signed() => (signed(from, a) as f64).to_bits(),
        (_, Type::F64) => (a as f64).to_bits(),
        _ if from.is_signed() => signed(from, a).cast_unsigned() & mask(to),
        _ => a & mask(to),
    })
}

/// Converts a binary16 to a binary32.
fn half(bits: u64) -> u64 {
    let sign = if bits >> 15 & 1 == 1 { -1.0f32 } else { 1.0 };
    let (exponent, fraction) = (bits >> 10 & 31, (bits & 0x3ff) as f32 / 1024.0);
    let value = match exponent {
        0 => sign * fraction * 2f32.powi(-14),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => return 0x7fff_ffff,
        e => sign * (1.0 + fraction) * 2f32.powi(e as i32 - 15),
    };
    value.to_bits().into()
}

/// Mask with the bits of a type.
pub(super) fn mask(ty: Type) -> u64 {
    use Type::*;
    match ty {
        Pred | B1 => 1,
        B8 | U8 | S8 | U4 | S4 | E4m3 | E5m2 | E2m1 | E2m1x2 | E2m3 | E3m2 | Ue8m0 => 0xFF,
        B16 | U16 | S16 | F16 | Bf16 | E4m3x2 | E5m2x2 | E2m3x2 | E3m2x2 | Ue8m0x2 => 0xFFFF,
        B32 | U32 | S32 | F16x2 | Bf16x2 | F32 | Tf32 | U16x2 | S16x2 => 0xFFFF_FFFF,
        B64 | U64 | S64 | F64 | F32x2 | B128 => u64::MAX,
    }
}
