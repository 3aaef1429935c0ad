//! Values of one element type: converts numbers to bits, and bits to numbers and text.
//!
//! # Invariants
//! - Conversions to a smaller floating-point type round once, to nearest, ties to even.
//! - Integers that do not fit are an error; they never wrap silently.
//!
//! # Limitations
//! Packed pairs and 128-bit values can only be written as bits.

use crate::kernel::Scalar;
use crate::narrow::low32;

/// Element types that buffers and scalars can have.
pub const ELEMENTS: &[Scalar] = &[
    Scalar::U8,
    Scalar::U16,
    Scalar::U32,
    Scalar::U64,
    Scalar::S8,
    Scalar::S16,
    Scalar::S32,
    Scalar::S64,
    Scalar::F16,
    Scalar::Bf16,
    Scalar::F32,
    Scalar::F64,
];

/// A number as a launch file writes it, before it has a type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer; `true` and `false` count as 1 and 0.
    Int(i128),
    /// A number with a point or an exponent, or `"nan"` or `"inf"`.
    Float(f64),
    /// The bits themselves, written as `"0x3f800000"`.
    Bits(u64),
}

/// Size of an element in bytes.
pub const fn size(ty: Scalar) -> usize {
    (ty.bits() as usize).div_ceil(8)
}

/// Whether this module converts values of the type as floating-point numbers.
pub const fn is_float(ty: Scalar) -> bool {
    matches!(ty, Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64)
}

/// Whether the type defines only the width of its bits, not their meaning.
const fn is_untyped(ty: Scalar) -> bool {
    matches!(ty, Scalar::B8 | Scalar::B16 | Scalar::B32 | Scalar::B64)
}

/// Converts `number` to the bits of a `ty`. An unsigned or untyped type accepts integers of either sign that
/// fit its width, because compilers declare signed parameters as unsigned: `-1` fits `u32`.
///
/// # Errors
/// If the type cannot hold the number. The text says why.
pub fn encode(ty: Scalar, number: Number) -> Result<u64, String> {
    let bits = ty.bits();
    let name = ty.name();
    match number {
        _ if bits > 64
            || matches!(ty, Scalar::F16x2 | Scalar::Bf16x2) && !matches!(number, Number::Bits(_)) =>
        {
            Err(format!("a value of type {name} is written as its bits, as \"0x3c003c00\""))
        }
        Number::Bits(b) if bits < 64 && b >> bits != 0 => {
            Err(format!("{b:#x} has more than the {bits} bits of {name}"))
        }
        Number::Bits(b) => Ok(b),
        Number::Int(i) if is_float(ty) => Ok(float_bits(ty, i as f64)),
        Number::Int(i) => {
            let (low, high) = (-(1i128 << (bits.max(1) - 1)), (1i128 << bits) - 1);
            let high = if ty.signed() { (1i128 << (bits - 1)) - 1 } else { high };
            if i < low || i > high {
                return Err(format!("{i} does not fit {name}"));
            }
            Ok(u64::try_from(i & i128::from(mask(bits))).unwrap_or_default())
        }
        Number::Float(f) if is_float(ty) => Ok(float_bits(ty, f)),
        Number::Float(f) if is_untyped(ty) && bits >= 16 => {
            let as_float = match bits {
                16 => Scalar::F16,
                32 => Scalar::F32,
                _ => Scalar::F64,
            };
            Ok(float_bits(as_float, f))
        }
        // 1.0 as an integer loses nothing; 0.5 would.
        #[expect(clippy::cast_possible_truncation, reason = "the number is whole and below 1e18")]
        Number::Float(f) if f.fract() == 0.0 && f.abs() < 1e18 => encode(ty, Number::Int(f as i128)),
        Number::Float(f) => Err(format!("{f} is no integer, and the type is {name}")),
    }
}

/// A mask of the lowest `bits` bits.
pub const fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Converts `x` to the bits of a floating-point type.
pub fn float_bits(ty: Scalar, x: f64) -> u64 {
    match ty {
        Scalar::F16 => narrow(x, 5, 10),
        Scalar::Bf16 => narrow(x, 8, 7),
        #[expect(clippy::cast_possible_truncation, reason = "this cast rounds to nearest, ties to even")]
        Scalar::F32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

/// Rounds to a format with `exp` exponent bits and `man` mantissa bits, to nearest even. Both are smaller
/// than in binary64.
fn narrow(x: f64, exp: u32, man: u32) -> u64 {
    let bits = x.to_bits();
    let sign = bits >> 63 << (exp + man);
    let infinity = mask(exp) << man;
    if x.is_nan() {
        return sign | infinity | 1 << (man - 1);
    }
    let bias = (1i64 << (exp - 1)) - 1;
    let e = (bits >> 52 & 0x7ff).cast_signed() - 1023;
    if e > bias {
        return sign | infinity;
    }
    // Below the smallest normal exponent the distance between neighbours is constant, so more bits are lost.
    let lost = 52 - i64::from(man) + (1 - bias - e).max(0);
    let Some(lost) = u32::try_from(lost).ok().filter(|lost| *lost <= 53) else { return sign };
    let full = bits & mask(52) | 1 << 52;
    let (man_bits, rest, half) = (full >> lost, full & mask(lost), 1u64 << (lost - 1));
    let up = rest > half || rest == half && man_bits & 1 == 1;
    // For normal numbers `man_bits` includes the hidden bit, which adds one to the exponent field. A carry
    // does the same.
    let field = (e + bias - 1).max(0).cast_unsigned();
    sign | ((field << man) + man_bits + u64::from(up)).min(infinity)
}

/// Converts floating-point bits to their value.
pub fn float_value(ty: Scalar, bits: u64) -> f64 {
    match ty {
        Scalar::F16 => widen(bits, 5, 10),
        Scalar::Bf16 => f64::from(f32::from_bits(low32(bits) << 16)),
        Scalar::F32 => f64::from(f32::from_bits(low32(bits))),
        _ => f64::from_bits(bits),
    }
}

fn widen(bits: u64, exp: u32, man: u32) -> f64 {
    let sign = if bits >> (exp + man) & 1 == 1 { -1.0 } else { 1.0 };
    let (e, m) = (bits >> man & mask(exp), bits & mask(man));
    let bias = (1i32 << (exp - 1)) - 1;
    let scale = f64::from(man).exp2();
    sign * match e {
        0 => m as f64 / scale * f64::from(1 - bias).exp2(),
        e if e == mask(exp) && m == 0 => f64::INFINITY,
        e if e == mask(exp) => f64::NAN,
        e => (1.0 + m as f64 / scale) * f64::from(low32(e).cast_signed() - bias).exp2(),
    }
}

/// Converts integer bits to their value.
pub fn int_value(ty: Scalar, bits: u64) -> i128 {
    let unused = 128 - ty.bits().min(64);
    if ty.signed() { (i128::from(bits) << unused) >> unused } else { i128::from(bits & mask(ty.bits())) }
}

/// Converts bits to a number, for comparisons with a tolerance.
pub fn as_f64(ty: Scalar, bits: u64) -> f64 {
    if is_float(ty) { float_value(ty, bits) } else { int_value(ty, bits) as f64 }
}

/// Formats a value. Floats get the shortest text that reads back as the same bits; other types are printed as
/// integers.
pub fn show(ty: Scalar, bits: u64) -> String {
    match ty {
        Scalar::F32 => format!("{:?}", f32::from_bits(low32(bits))),
        Scalar::F16 | Scalar::Bf16 => format!("{:?}", shortest(ty, bits)),
        _ if is_float(ty) => format!("{:?}", float_value(ty, bits)),
        Scalar::Pred => (bits & 1 == 1).to_string(),
        _ if is_untyped(ty) || matches!(ty, Scalar::F16x2 | Scalar::Bf16x2 | Scalar::B128) => {
            format!("{bits:#x}")
        }
        _ => int_value(ty, bits).to_string(),
    }
}

/// The number with the fewest decimal digits that reads back as `bits` of a small floating-point type.
fn shortest(ty: Scalar, bits: u64) -> f64 {
    let exact = float_value(ty, bits);
    let rounded = |digits: usize| format!("{exact:.digits$e}").parse::<f64>().ok();
    // Five digits tell all values of `f16` apart; infinities and NaN have none.
    let found = (0..5).filter_map(rounded).find(|x| exact.is_finite() && float_bits(ty, *x) == bits);
    found.unwrap_or(exact)
}

/// Returns element `i` of little-endian bytes; `None` past the end.
pub fn get(ty: Scalar, bytes: &[u8], i: usize) -> Option<u64> {
    let n = size(ty);
    let mut word = [0; 8];
    word.get_mut(..n)?.copy_from_slice(bytes.get(i.checked_mul(n)?..)?.get(..n)?);
    Some(u64::from_le_bytes(word))
}

/// Appends one element, little-endian.
pub fn put(ty: Scalar, out: &mut Vec<u8>, bits: u64) {
    let n = size(ty);
    let bytes = bits.to_le_bytes();
    out.extend_from_slice(bytes.get(..n).unwrap_or(&bytes));
    out.extend(std::iter::repeat_n(0, n.saturating_sub(8)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_and_neighbours_round_to_even() {
        for ty in [Scalar::F16, Scalar::Bf16] {
            for bits in 0..=u64::from(u16::MAX) {
                let value = float_value(ty, bits);
                if value.is_nan() {
                    assert!(float_value(ty, float_bits(ty, value)).is_nan());
                } else {
                    assert_eq!(float_bits(ty, value), bits, "{value:?}");
                    let next = float_value(ty, bits + 1);
                    if next.is_finite() && value.is_finite() && bits & 0x7fff != 0x7fff {
                        let even = if bits & 1 == 0 { bits } else { bits + 1 };
                        assert_eq!(
                            float_bits(ty, value + (next - value) / 2.0),
                            even,
                            "between {value} and {next}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn floats_are_shown_with_the_digits_of_their_type() {
        let shown = |ty, x: f64| show(ty, float_bits(ty, x));
        for x in ["0.1", "0.3", "-2.5", "65500.0", "inf", "-0.0"] {
            assert_eq!(shown(Scalar::F16, x.parse().unwrap()), x);
        }
        assert_eq!([shown(Scalar::Bf16, 0.1), shown(Scalar::F32, 0.1)], ["0.1", "0.1"]);
        for ty in [Scalar::F16, Scalar::Bf16] {
            for bits in (0..=u64::from(u16::MAX)).filter(|b| !float_value(ty, *b).is_nan()) {
                assert_eq!(float_bits(ty, show(ty, bits).parse().unwrap()), bits, "{bits:#x}");
            }
        }
    }

    #[test]
    fn halves_known_by_heart() {
        for (x, f16, bf16) in [
            (1.0, 0x3c00, 0x3f80),
            (-2.0, 0xc000, 0xc000),
            (65504.0, 0x7bff, 0x4780),
            (65520.0, 0x7c00, 0x4780),
            (6e-8, 0x0001, 0x3381),
            (1e-50, 0x0000, 0x0000),
            (f64::NEG_INFINITY, 0xfc00, 0xff80),
        ] {
            assert_eq!((float_bits(Scalar::F16, x), float_bits(Scalar::Bf16, x)), (f16, bf16), "{x}");
        }
    }

    #[test]
    fn integers_fit_or_say_so() {
        assert_eq!(encode(Scalar::U32, Number::Int(-1)), Ok(0xffff_ffff));
        assert_eq!(encode(Scalar::U64, Number::Int(u64::MAX.into())), Ok(u64::MAX));
        assert!(encode(Scalar::S8, Number::Int(128)).is_err());
        assert!(encode(Scalar::S32, Number::Float(0.5)).is_err());
        assert_eq!(encode(Scalar::S32, Number::Float(-3.0)), Ok(0xffff_fffd));
        assert_eq!(encode(Scalar::B32, Number::Float(1.0)), Ok(0x3f80_0000));
        assert!(encode(Scalar::F32, Number::Bits(1 << 32)).is_err());
        assert_eq!(int_value(Scalar::S16, 0xffff), -1);
    }
}
