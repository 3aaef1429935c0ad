//! Rounding from binary64 and integers to narrower formats in every mode, and exact error terms.
//!
//! An operation on binary32 is computed in binary64 and rounded *to odd*: an inexact result gets the
//! neighbour whose last bit is 1. The exact error of the operation tells which neighbour that is. One more
//! rounding gives the result.
//!
//! # Invariants
//! A value rounded to odd in a format with at least two more bits than the target rounds to the target as if
//! it had been rounded once (Boldo and Melquiond, *Emulation of FMA and correctly rounded sums*, 2008).

/// A rounding mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// To nearest, ties to even.
    Near,
    /// Round towards zero.
    Zero,
    /// Round towards negative infinity.
    Down,
    /// Round towards positive infinity.
    Up,
    /// To the neighbour whose last bit is 1, if inexact.
    Odd,
}

impl Round {
    /// From its number in an [`Args::imm`](crate::Args::imm).
    #[inline(always)]
    pub fn from_imm(imm: u64) -> Round {
        match imm & 7 {
            0 => Round::Near,
            1 => Round::Zero,
            2 => Round::Down,
            3 => Round::Up,
            _ => Round::Odd,
        }
    }
}

/// What rounding needs of a format.
pub trait Neighbours: Copy {
    /// The next one towards zero; of infinity the largest finite one.
    fn inwards(self) -> Self;
    /// The next one down.
    fn below(self) -> Self;
    /// The next one up.
    fn above(self) -> Self;
    /// With the last bit set.
    fn odd(self) -> Self;
}
macro_rules! neighbours { ($($t:ident)*) => { $(
    impl Neighbours for $t {
        #[inline(always)]
        fn inwards(self) -> $t { <$t>::from_bits(self.to_bits() - 1) }
        #[inline(always)]
        fn below(self) -> $t { self.next_down() }
        #[inline(always)]
        fn above(self) -> $t { self.next_up() }
        #[inline(always)]
        fn odd(self) -> $t { <$t>::from_bits(self.to_bits() | 1) }
    }
)* } }
neighbours! { f32 f64 }

/// What a mode makes of an inexact value whose nearest neighbour is `n`: that is greater than it, or not; and
/// farther from zero, or not.
#[inline(always)]
fn settle<T: Neighbours>(n: T, greater: bool, farther: bool, mode: Round) -> T {
    let inner = if farther { n.inwards() } else { n };
    match mode {
        Round::Near => n,
        Round::Zero => inner,
        Round::Down => {
            if greater {
                n.below()
            } else {
                n
            }
        }
        Round::Up => {
            if greater {
                n
            } else {
                n.above()
            }
        }
        Round::Odd => inner.odd(),
    }
}

/// binary64 to binary32.
#[inline(always)]
pub fn narrow(x: f64, mode: Round) -> f32 {
    let n = x as f32;
    let back = f64::from(n);
    if mode == Round::Near || back == x || x.is_nan() {
        return n;
    }
    settle(n, back > x, back.abs() > x.abs(), mode)
}

/// Whether `.ftz` makes a zero of the exact binary32 result `v`: whether rounding it to 24 bits, with no end
/// to the exponents, stays below 2^-126. (An H200 does so, where rounding as a subnormal would have reached
/// 2^-126.)
#[inline(always)]
pub fn is_tiny(v: f64, mode: Round) -> bool {
    const LEAST: f64 = f32::MIN_POSITIVE as f64;
    let m = v.abs();
    let away = match mode {
        Round::Near => return m < LEAST * (1.0 - 1.0 / 33_554_432.0),
        Round::Zero | Round::Odd => false,
        Round::Down => v < 0.0,
        Round::Up => v > 0.0,
    };
    if away { m <= LEAST * (1.0 - 1.0 / 16_777_216.0) } else { m < LEAST }
}

/// Likewise to odd, without branches.
#[inline(always)]
pub fn narrow_odd(x: f64) -> f32 {
    let n = x as f32;
    let back = f64::from(n);
    let towards_zero = n.to_bits().wrapping_sub(u32::from(back.abs() > x.abs()));
    f32::from_bits(towards_zero | u32::from(back != x))
}

/// An integer to binary32.
#[inline(always)]
pub fn int_to_f32(v: i128, mode: Round) -> f32 {
    let n = v as f32;
    let back = n as i128;
    let exact = mode == Round::Near || back == v;
    if exact { n } else { settle(n, back > v, back.unsigned_abs() > v.unsigned_abs(), mode) }
}

/// An integer to binary64.
#[inline(always)]
pub fn int_to_f64(v: i128, mode: Round) -> f64 {
    let n = v as f64;
    let back = n as i128;
    let exact = mode == Round::Near || back == v;
    if exact { n } else { settle(n, back > v, back.unsigned_abs() > v.unsigned_abs(), mode) }
}

/// `a + b` in binary64, rounded to odd; both finite, the sum far from overflow (they come from binary32).
#[inline(always)]
pub fn sum_odd(a: f64, b: f64) -> f64 {
    let s = a + b;
    // Knuth's two-sum: the exact error.
    let t = s - a;
    let e = (a - (s - t)) + (b - t);
    odd(s, e)
}

/// Moves the nearest value `s` of `s + e` to the odd neighbour.
#[inline(always)]
pub fn odd(s: f64, e: f64) -> f64 {
    let bits = s.to_bits();
    // Inexact, and even: one step towards the exact value.
    let inexact = e != 0.0 && !e.is_nan() && s.abs() < f64::INFINITY;
    let outwards = (e > 0.0) == (s > 0.0);
    let moved = if outwards { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f64::from_bits(if inexact && bits & 1 == 0 { moved } else { bits })
}
