//! Binary64 arithmetic in integers, for the rounding modes that the host's floating-point unit is not set to.
//!
//! A magnitude is a 128-bit integer and a power of two. Bits that do not fit are ORed into the lowest bit.
//!
//! # Invariants
//! Every result is the exact one, rounded once: the ORed bits keep every rounding decision.

use crate::round::Round;

/// The pattern of an operand taken apart: `mantissa * 2^exponent`.
#[derive(Clone, Copy)]
struct Parts {
    negative: bool,
    exponent: i32,
    mantissa: u128,
}

#[inline]
fn parts(x: f64) -> Parts {
    let bits = x.to_bits();
    let field = (bits >> 52 & 0x7ff) as i32;
    let fraction = u128::from(bits & ((1 << 52) - 1));
    let mantissa = if field == 0 { fraction } else { fraction | 1 << 52 };
    Parts { negative: x.is_sign_negative(), exponent: field.max(1) - 1075, mantissa }
}

/// Shifts right; what falls out stays visible in the lowest bit.
#[inline]
fn jam(m: u128, by: u32) -> u128 {
    match by {
        0 => m,
        1..=127 => m >> by | u128::from(m << (128 - by) != 0),
        _ => u128::from(m != 0),
    }
}

/// Rounds a magnitude.
#[inline]
fn pack(p: Parts, mode: Round) -> f64 {
    let sign = u64::from(p.negative) << 63;
    if p.mantissa == 0 {
        return f64::from_bits(sign);
    }
    // The result's last bit has the weight 2^last.
    let top = p.exponent + 127 - p.mantissa.leading_zeros() as i32;
    let last = (top - 52).max(-1074);
    // Two bits more: the half and the rest.
    let shift = last - 2 - p.exponent;
    let m =
        if shift > 0 { jam(p.mantissa, shift.unsigned_abs()) } else { p.mantissa << shift.unsigned_abs() };
    let (mut r, rest) = ((m >> 2) as u64, (m & 3) as u32);
    let up = match mode {
        Round::Near => rest > 2 || (rest == 2 && r & 1 == 1),
        Round::Zero => false,
        Round::Down => p.negative && rest != 0,
        Round::Up => !p.negative && rest != 0,
        Round::Odd => false,
    };
    if mode == Round::Odd && rest != 0 {
        r |= 1;
    }
    r += u64::from(up);
    // The exponent field follows from the implied bit, and so do carries into it.
    let field = (last + 1074) as u64;
    let bits = (field << 52) + r;
    if bits >= 0x7ff << 52 {
        let away = match mode {
            Round::Near => true,
            Round::Zero | Round::Odd => false,
            Round::Down => p.negative,
            Round::Up => !p.negative,
        };
        return f64::from_bits(sign | if away { 0x7ff << 52 } else { (0x7ff << 52) - 1 });
    }
    f64::from_bits(sign | bits)
}

/// With the leading one at bit 126; zero stays.
#[inline]
fn normal(p: Parts) -> Parts {
    if p.mantissa == 0 {
        return p;
    }
    let by = p.mantissa.leading_zeros() - 1;
    Parts { mantissa: p.mantissa << by, exponent: p.exponent - by as i32, ..p }
}

/// The sum of two magnitudes with signs.
#[inline]
fn sum(a: Parts, b: Parts, mode: Round) -> f64 {
    if a.mantissa == 0 && b.mantissa == 0 {
        let negative = if a.negative == b.negative { a.negative } else { mode == Round::Down };
        return pack(Parts { negative, ..a }, mode);
    }
    if a.mantissa == 0 {
        return pack(b, mode);
    }
    if b.mantissa == 0 {
        return pack(a, mode);
    }
    let (a, b) = (normal(a), normal(b));
    let (big, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
    // Products have 106 bits, so that a shift by less than 21 loses nothing; a longer one leaves no long
    // cancellation.
    let other = jam(small.mantissa, (big.exponent - small.exponent).unsigned_abs());
    if big.negative == small.negative {
        return pack(Parts { mantissa: big.mantissa + other, ..big }, mode);
    }
    match big.mantissa.cmp(&other) {
        std::cmp::Ordering::Greater => pack(Parts { mantissa: big.mantissa - other, ..big }, mode),
        std::cmp::Ordering::Less => {
            pack(Parts { mantissa: other - big.mantissa, ..small_sign(big, small) }, mode)
        }
        std::cmp::Ordering::Equal => {
            if mode == Round::Down {
                -0.0
            } else {
                0.0
            }
        }
    }
}

/// `big`'s scale with `small`'s sign.
#[inline]
fn small_sign(big: Parts, small: Parts) -> Parts {
    Parts { negative: small.negative, ..big }
}

/// `a + b`.
#[inline]
pub fn add(a: f64, b: f64, mode: Round) -> f64 {
    if !a.is_finite() || !b.is_finite() { a + b } else { sum(parts(a), parts(b), mode) }
}

/// The exact product.
#[inline]
fn product(a: f64, b: f64) -> Parts {
    let (a, b) = (parts(a), parts(b));
    Parts {
        negative: a.negative != b.negative,
        exponent: a.exponent + b.exponent,
        mantissa: a.mantissa * b.mantissa,
    }
}

/// `a * b`.
#[inline]
pub fn mul(a: f64, b: f64, mode: Round) -> f64 {
    if !a.is_finite() || !b.is_finite() { a * b } else { pack(product(a, b), mode) }
}

/// `a * b + c`.
#[inline]
pub fn fma(a: f64, b: f64, c: f64, mode: Round) -> f64 {
    if !a.is_finite() || !b.is_finite() {
        return a * b + c;
    }
    if !c.is_finite() {
        return c;
    }
    sum(product(a, b), parts(c), mode)
}

/// `a / b`.
#[inline]
pub fn div(a: f64, b: f64, mode: Round) -> f64 {
    if !a.is_finite() || !b.is_finite() || a == 0.0 || b == 0.0 {
        return a / b;
    }
    let (a, b) = (normal(parts(a)), parts(b));
    // 127 bits over at most 53: 74 bits and a remainder.
    let (q, rest) = (a.mantissa / b.mantissa, a.mantissa % b.mantissa);
    let exponent = a.exponent - b.exponent;
    pack(Parts { negative: a.negative != b.negative, exponent, mantissa: q | u128::from(rest != 0) }, mode)
}

/// The square root of `a`.
#[inline]
pub fn sqrt(a: f64, mode: Round) -> f64 {
    if !a.is_finite() || a <= 0.0 {
        return a.sqrt();
    }
    let mut p = normal(parts(a));
    // The exponent must be even; there is a bit to spare.
    if p.exponent & 1 != 0 {
        p = Parts { mantissa: p.mantissa >> 1, exponent: p.exponent + 1, ..p };
    }
    let root = p.mantissa.isqrt();
    let exact = root * root == p.mantissa;
    // One bit more for what is left over.
    pack(
        Parts { negative: false, exponent: p.exponent / 2 - 1, mantissa: root << 1 | u128::from(!exact) },
        mode,
    )
}
