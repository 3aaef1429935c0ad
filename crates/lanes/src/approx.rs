//! Approximate functions: `ex2`, `lg2`, `sin`, `cos`, `tanh` (PTX ISA, Floating-Point Instructions, `.approx`
//! forms).
//!
//! Each function evaluates a series in binary64, so that every host returns the same bits. The caller rounds
//! to binary32 once. The error is far below the one that PTX documents.
//!
//! # Limitations
//! The results are not the bits of the hardware's tables. Largest difference from an H200, in units in the
//! last place of binary32: `ex2` 2, `rcp`, `sqrt` and `rsqrt` 1, `div` 2, `tanh` 129. `lg2` near 1 differs by
//! up to 2^-22 in absolute terms, the bound that PTX documents.

/// 2^x; x is the binary32 operand.
#[inline(always)]
pub fn ex2(x: f64) -> f64 {
    // Beyond these the result is 0 or infinity in binary32 anyway.
    let x = if x > 200.0 { 200.0 } else { x };
    let x = if x < -200.0 { -200.0 } else { x };
    // Adding 1.5 * 2^52 rounds to an integer, which then lies in the low bits.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = x + MAGIC;
    let n = shifted - MAGIC;
    let t = (x - n) * std::f64::consts::LN_2;
    // |t| <= 0.347: the tenth term of the series is below 1e-11.
    let mut p = 1.0 / 362_880.0;
    p = p * t + 1.0 / 40_320.0;
    p = p * t + 1.0 / 5_040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    p = p * t + 1.0;
    p = p * t + 1.0;
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    p * scale
}

/// Binary logarithm of a binary32 operand (all of which are normal in binary64).
#[inline(always)]
pub fn lg2(x: f64) -> f64 {
    let bits = x.to_bits();
    // Mantissa in [sqrt(1/2), sqrt(2)): the series variable is at most 0.172.
    const SPLIT: u64 = 0x3fe6_a09e_667f_3bcd;
    let offset = bits.wrapping_sub(SPLIT);
    let exponent = (offset as i64 >> 52) as i32;
    let m = f64::from_bits(bits.wrapping_sub(offset & 0xfff0_0000_0000_0000));
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 15.0;
    p = p * z + 1.0 / 13.0;
    p = p * z + 1.0 / 11.0;
    p = p * z + 1.0 / 9.0;
    p = p * z + 1.0 / 7.0;
    p = p * z + 1.0 / 5.0;
    p = p * z + 1.0 / 3.0;
    p = p * z + 1.0;
    let r = f64::from(exponent) + p * s * (2.0 * std::f64::consts::LOG2_E);
    let r = if x > 0.0 { r } else { f64::NAN };
    let r = if x == 0.0 { f64::NEG_INFINITY } else { r };
    if x == f64::INFINITY { x } else { r }
}

/// Sine, or with `quarter` 1 the cosine. As in hardware the angle is first a number of turns in binary32,
/// subnormals flushed: that product's rounding is most of the error that PTX documents, and all of it for
/// large angles.
#[inline(always)]
pub fn turn(x: f32, quarter: u64) -> f64 {
    let turns = x * 0.159_154_94;
    let turns = if turns.abs() < f32::MIN_POSITIVE { turns * 0.0 } else { turns };
    // Whole turns do nothing; from 2^24 on there are no others.
    let whole = turns.abs() >= 16_777_216.0 && turns.abs() < f32::INFINITY;
    of_quarters(f64::from(if whole { turns * 0.0 } else { turns }) * 4.0, quarter)
}

/// Sine of an angle in quarters of a turn, or with `quarter` 1 the cosine.
#[inline(always)]
pub fn of_quarters(quarters: f64, quarter: u64) -> f64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let shifted = quarters + MAGIC;
    let t = (quarters - (shifted - MAGIC)) * std::f64::consts::FRAC_PI_2;
    let z = t * t;
    let mut sin = 1.0 / 362_880.0 - z * (1.0 / 39_916_800.0);
    sin = -1.0 / 5_040.0 + z * sin;
    sin = 1.0 / 120.0 + z * sin;
    sin = -1.0 / 6.0 + z * sin;
    // A product, so that zero keeps its sign.
    sin = t * (1.0 + z * sin);
    let mut cos = 1.0 / 40_320.0 - z * (1.0 / 3_628_800.0);
    cos = -1.0 / 720.0 + z * cos;
    cos = 1.0 / 24.0 + z * cos;
    cos = -0.5 + z * cos;
    cos = 1.0 + z * cos;
    let q = shifted.to_bits().wrapping_add(quarter);
    let r = if q & 1 == 0 { sin } else { cos };
    f64::from_bits(r.to_bits() ^ (q & 2) << 62)
}

/// The hyperbolic tangent of `x`.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let z = x * x;
    let mut p = 62.0 / 2_835.0 - z * (1_382.0 / 155_925.0);
    p = -17.0 / 315.0 + z * p;
    p = 2.0 / 15.0 + z * p;
    p = -1.0 / 3.0 + z * p;
    // A product, so that zero keeps its sign.
    let small = x * (1.0 + z * p);
    let e = ex2(x * (2.0 * std::f64::consts::LOG2_E));
    let large = (e - 1.0) / (e + 1.0);
    if x.abs() < 0.25 { small } else { large }
}
