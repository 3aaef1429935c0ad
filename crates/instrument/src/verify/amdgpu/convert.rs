//! Conversions between types, as AMD code names them.

use crate::verify::inserted_code::{double, single};

/// A value of type `of` as one of type `into`: `u32`, `i32`, `f16`, `f32`, `f64`. Integers are rounded
/// towards zero and saturate; the integer of no number is 0. `None` for an unknown type.
pub(super) fn convert(into: &str, of: &str, a: u64) -> Option<u64> {
    let value = match of {
        "u32" => f64::from(a as u32),
        "i32" => f64::from((a as u32).cast_signed()),
        "f32" => f64::from(f32::from_bits(a as u32)),
        "f64" => f64::from_bits(a),
        "f16" => half(a as u16),
        _ => return None,
    };
    Some(match into {
        "u32" => u64::from(value as u32),
        "i32" => u64::from((value as i32).cast_unsigned()),
        // Every source is exact as binary64, so this rounds once.
        "f32" => single(value as f32),
        "f64" => double(value),
        _ => return None,
    })
}

/// The value of a binary16 number.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}
