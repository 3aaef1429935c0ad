//! Elements of fewer than 8 bits, and scales (PTX ISA, Alternate Floating-Point Data Formats).

use prlx_isa::view::Type;
use prlx_lanes::fp8::{Byte, E4m3};
use prlx_lanes::half::{F16, Half};

use super::product::{MOST, Row, floats};

/// A floating-point number of a sign, `exponent` bits and `fraction` bits, without infinity and NaN.
fn small(bits: u8, exponent: u32, fraction: u32) -> f32 {
    let (e, f) =
        (u32::from(bits) >> fraction & ((1 << exponent) - 1), u32::from(bits) & ((1 << fraction) - 1));
    let bias = (1i32 << (exponent - 1)) - 1;
    let (whole, e) = if e == 0 { (0, 1) } else { (1 << fraction, e) };
    let value = (whole + f) as f32 * 2f32.powi(e as i32 - bias - fraction as i32);
    if bits >> (exponent + fraction) & 1 == 1 { -value } else { value }
}

/// The element with these low bits in a type of 4 or 6 bits.
pub fn narrow(ty: Type, bits: u8) -> f32 {
    match ty {
        Type::E2m3 => small(bits, 2, 3),
        Type::E3m2 => small(bits, 3, 2),
        _ => small(bits, 2, 1),
    }
}

/// Whether elements of a type have fewer than 8 bits.
pub fn is_narrow(ty: Type) -> bool {
    matches!(ty, Type::E2m1 | Type::E2m3 | Type::E3m2)
}

/// The elements of a row as binary32, negated if `negate`, in two halves of which a row of 32 bytes fills the
/// first. Only `dense` elements of 4 bits fill both. Other elements of 4 or 6 bits lie 16 to 16 bytes, and
/// the rest of these bytes is padding (PTX ISA, Packing formats of elements in Tensor and Shared memory).
pub fn halves(ty: Type, row: &Row, dense: bool, negate: bool) -> [[f32; MOST]; 2] {
    if !is_narrow(ty) {
        return [floats(ty, row, negate), [0.0; MOST]];
    }
    let mut out = [[0.0; MOST]; 2];
    for (i, x) in out.as_flattened_mut().iter_mut().enumerate().take(if dense { 64 } else { 32 }) {
        let bit = match (dense, ty) {
            (true, _) => 4 * i,
            (false, Type::E2m1) => i / 16 * 128 + i % 16 * 4,
            (false, _) => i / 16 * 128 + i % 16 * 6,
        };
        let next = row.get(bit / 8 + 1).copied().unwrap_or(0);
        let v = narrow(ty, (u16::from_le_bytes([row[bit / 8], next]) >> (bit % 8)) as u8);
        *x = if negate { -v } else { v };
    }
    out
}

/// A scale: `ue4m3` if set, else `ue8m0`.
pub fn scale(bits: u8, e4m3: bool) -> f32 {
    match bits {
        _ if e4m3 => F16::widen(E4m3::to_f16(bits & 0x7f)),
        0 => f32::from_bits(1 << 22),
        0xff => f32::NAN,
        e => f32::from_bits(u32::from(e) << 23),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_elements() {
        let all = |ty, n: u8| (0..n).map(|b| narrow(ty, b)).collect::<Vec<_>>();
        assert_eq!(all(Type::E2m1, 8), [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
        assert_eq!(narrow(Type::E2m1, 0xf), -6.0);
        assert_eq!((narrow(Type::E2m3, 0x1f), narrow(Type::E2m3, 0x21)), (7.5, -0.125));
        assert_eq!((narrow(Type::E3m2, 0x1f), narrow(Type::E3m2, 0x01)), (28.0, 0.0625));
        assert_eq!((scale(127, false), scale(130, false), scale(0x38, true)), (1.0, 8.0, 1.0));
        let mut row = [0; 32];
        (row[0], row[1], row[16]) = (0x21, 0x43, 0x65);
        let [first, second] = halves(Type::E2m1, &row, true, false);
        assert_eq!((&first[..4], second[0]), (&[0.5, 1.0, 1.5, 2.0][..], 3.0));
        let [first, _] = halves(Type::E2m1, &row, false, true);
        assert_eq!((first[3], first[16], first[17]), (-2.0, -3.0, -4.0));
    }
}
