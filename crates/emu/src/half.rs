//! 16-bit floating-point numbers, for atomics and tiles.

/// From binary16; exact.
pub fn from_f16(h: u16) -> f32 {
    let (sign, e, m) = (u32::from(h >> 15) << 31, u32::from(h >> 10 & 31), u32::from(h & 1023));
    let magnitude = match e {
        0 => (m as f32 * 2f32.powi(-24)).to_bits(),
        31 => 0x7f80_0000 | m << 13,
        _ => (e + 112) << 23 | m << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// To a format with `exponent` and `mantissa` bits, to nearest, ties to even. The `f64` is exact.
fn round(x: f64, exponent: u32, mantissa: u32) -> u16 {
    let sign = if x.is_sign_negative() { 1u16 << 15 } else { 0 };
    if x.is_nan() {
        return 0x7fff;
    }
    let infinity = ((1u32 << exponent) - 1) << mantissa;
    if x.is_infinite() {
        return sign | infinity as u16;
    }
    let bias = (1 << (exponent - 1)) - 1;
    let magnitude = x.abs();
    let e = (((magnitude.to_bits() >> 52) as i32) - 1023).max(1 - bias);
    // In units of the last place; `round_ties_even` is exact below 2^52.
    let units = (magnitude * 2f64.powi(mantissa as i32 - e)).round_ties_even();
    let implicit = 2f64.powi(mantissa as i32);
    let field = if e == 1 - bias && units < implicit {
        units as u32
    } else {
        (((e + bias) as u32) << mantissa) + (units - implicit) as u32
    };
    sign | field.min(infinity) as u16
}

/// To binary16, to nearest.
pub fn to_f16(x: f64) -> u16 {
    round(x, 5, 10)
}

/// Sum of binary16 numbers: the sum of two is exact in binary64.
pub fn add_f16(a: u16, b: u16) -> u16 {
    round(f64::from(from_f16(a)) + f64::from(from_f16(b)), 5, 10)
}

/// Sum of bfloat16 numbers. Their sum may not be exact in binary64; rounding it to odd first keeps the second one right.
pub fn add_bf16(a: u16, b: u16) -> u16 {
    let wide = |h: u16| f64::from(f32::from_bits(u32::from(h) << 16));
    let (a, b) = (wide(a), wide(b));
    let sum = a + b;
    // Two-sum gives what was rounded away.
    let back = sum - a;
    let error = (a - (sum - back)) + (b - back);
    let mut bits = sum.to_bits();
    if error != 0.0 && sum.is_finite() && bits & 1 == 0 {
        bits = if (error > 0.0) == (sum > 0.0) { bits | 1 } else { bits - 1 };
    }
    round(f64::from_bits(bits), 8, 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums() {
        assert_eq!(add_f16(0x3c00, 0x3c00), 0x4000);
        assert_eq!(add_f16(0x7bff, 0x7bff), 0x7c00);
        assert_eq!(add_f16(0x0001, 0x0001), 0x0002);
        assert_eq!(add_f16(0x03ff, 0x0001), 0x0400);
        assert_eq!(add_f16(0x3c00, 0x1000), 0x3c00);
        assert_eq!(add_f16(0x3c01, 0x1000), 0x3c02);
        assert_eq!(add_bf16(0x3f80, 0x3f80), 0x4000);
        assert_eq!(add_bf16(0x3f80, 0x3b80), 0x3f80);
        assert_eq!(add_bf16(0x7f80, 0xff80), 0x7fff);
        for h in 0..=u16::MAX {
            let x = from_f16(h);
            if !x.is_nan() {
                assert_eq!(round(f64::from(x), 5, 10), h);
            }
        }
    }
}
