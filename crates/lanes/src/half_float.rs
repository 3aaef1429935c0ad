//! Arithmetic on binary16 and bfloat16, one value per lane or a packed pair (PTX ISA, Half Precision
//! Floating-Point Instructions).
//!
//! # Invariants
//! Results round once. A sum may round to binary32 first, because binary32 has more than twice the bits.
//! Products are exact in binary32; products of bfloat16 that leave its range go through binary64. A fused
//! product and sum rounds to odd first.
//!
//! # Limitations
//! `.oob` and mixed precision are missing.

use crate::approx;
use crate::half::Half;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};
use crate::round::{narrow_odd, sum_odd};

/// Subnormal operands and results become zeros of their sign.
pub const FTZ: u64 = 1;
/// Clamps to [0, 1]; NaN becomes +0.
pub const SAT: u64 = 2;
/// Negative results become 0.
pub const RELU: u64 = 4;

/// An operation on widened operands; its value rounds to the format as the exact result would.
pub trait HalfOp {
    /// How many operands it reads.
    const OPERANDS: usize;
    /// Its value, where [`easy`](HalfOp::easy).
    fn of<H: Half>(a: f32, b: f32, c: f32) -> f32;
    /// Whether binary32 is wide enough for it.
    #[inline(always)]
    fn easy<H: Half>(_a: f32, _b: f32, _c: f32) -> bool {
        true
    }
    /// Its value always.
    #[inline(always)]
    fn hard<H: Half>(a: f32, b: f32, c: f32) -> f32 {
        Self::of::<H>(a, b, c)
    }
}

/// Whether a product of widened operands is exact in binary32, and far from its ends. Those of binary16
/// always are.
#[inline(always)]
fn product_fits<H: Half>(a: f32, b: f32) -> bool {
    let p = (a * b).abs();
    !H::WIDE || (p > 1e-30 && p < 1e30) || a == 0.0 || b == 0.0
}

/// `a + b` in binary32, rounded to odd; no overflow, no bits below the subnormals'.
#[inline(always)]
fn sum_odd32(a: f32, b: f32) -> f32 {
    let s = a + b;
    let t = s - a;
    let e = (a - (s - t)) + (b - t);
    let bits = s.to_bits();
    let inexact = e != 0.0 && s.abs() < f32::INFINITY;
    let moved = if (e > 0.0) == (s > 0.0) { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    f32::from_bits(if inexact && bits & 1 == 0 { moved } else { bits })
}

/// `mul`.
pub struct Mul;
impl HalfOp for Mul {
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn of<H: Half>(a: f32, b: f32, _: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn easy<H: Half>(a: f32, b: f32, _: f32) -> bool {
        product_fits::<H>(a, b)
    }
    #[inline(always)]
    fn hard<H: Half>(a: f32, b: f32, _: f32) -> f32 {
        narrow_odd(f64::from(a) * f64::from(b))
    }
}

/// `fma`.
pub struct Fma;
impl HalfOp for Fma {
    const OPERANDS: usize = 3;
    #[inline(always)]
    fn of<H: Half>(a: f32, b: f32, c: f32) -> f32 {
        sum_odd32(a * b, c)
    }
    #[inline(always)]
    fn easy<H: Half>(a: f32, b: f32, c: f32) -> bool {
        product_fits::<H>(a, b) && c.abs() < 1e30
    }
    #[inline(always)]
    fn hard<H: Half>(a: f32, b: f32, c: f32) -> f32 {
        narrow_odd(sum_odd(f64::from(a) * f64::from(b), f64::from(c)))
    }
}

macro_rules! half_ops {
    ($($(#[$m:meta])* $name:ident: $n:literal ($a:ident, $b:ident, $c:ident) $body:expr;)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl HalfOp for $name {
            const OPERANDS: usize = $n;
            #[inline(always)]
            #[allow(unused_variables, reason = "one signature for one to three operands")]
            fn of<H: Half>($a: f32, $b: f32, $c: f32) -> f32 { $body }
        }
    )* };
}
half_ops! {
    /// `add`.
    Add: 2 (a, b, c) a + b;
    /// `sub`.
    Sub: 2 (a, b, c) a - b;
    /// `neg`.
    Neg: 1 (a, b, c) -a;
    /// `abs`.
    Abs: 1 (a, b, c) a.abs();
    /// `min`.
    Min: 2 (a, b, c) least(a, b);
    /// `max`.
    Max: 2 (a, b, c) -least(-a, -b);
    /// `min.NaN`.
    MinNan: 2 (a, b, c) if a.is_nan() || b.is_nan() { f32::NAN } else { least(a, b) };
    /// `max.NaN`.
    MaxNan: 2 (a, b, c) if a.is_nan() || b.is_nan() { f32::NAN } else { -least(-a, -b) };
    /// `min.xorsign.abs`.
    MinXorSign: 2 (a, b, c) xor_sign(a, b, least(a.abs(), b.abs()));
    /// `max.xorsign.abs`.
    MaxXorSign: 2 (a, b, c) xor_sign(a, b, -least(-a.abs(), -b.abs()));
    /// `min.NaN.xorsign.abs`.
    MinNanXorSign: 2 (a, b, c) if a.is_nan() || b.is_nan() { f32::NAN } else { xor_sign(a, b, least(a.abs(),
        b.abs())) };
    /// `max.NaN.xorsign.abs`.
    MaxNanXorSign: 2 (a, b, c) if a.is_nan() || b.is_nan() { f32::NAN } else { xor_sign(a, b,
        -least(-a.abs(), -b.abs())) };
    /// `ex2.approx`.
    Ex2: 1 (a, b, c) narrow_odd(approx::ex2(f64::from(a)));
    /// `tanh.approx`.
    Tanh: 1 (a, b, c) narrow_odd(approx::tanh(f64::from(a)));
}

/// The lesser; -0 is less than +0; a NaN gives way to the other.
#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    let first = a < b || b.is_nan() || (a == b && a.is_sign_negative());
    if first { a } else { b }
}

/// With the product's sign.
#[inline(always)]
fn xor_sign(a: f32, b: f32, magnitude: f32) -> f32 {
    f32::from_bits(magnitude.to_bits() | ((a.to_bits() ^ b.to_bits()) & 0x8000_0000))
}

/// Zero of its sign if subnormal in the format.
#[inline(always)]
fn flushed<H: Half>(x: f32) -> f32 {
    if x.abs() < H::widen(H::MIN_NORMAL) { f32::from_bits(x.to_bits() & 0x8000_0000) } else { x }
}

/// One element with modifiers.
#[inline(always)]
fn with_flags<O: HalfOp, H: Half>(mut v: [f32; 3], flags: u64) -> u16 {
    if flags & FTZ != 0 {
        v = v.map(flushed::<H>);
    }
    let exact = O::hard::<H>(v[0], v[1], v[2]);
    let mut r = H::near(exact);
    // Rounded with no end to the exponents, it stays below the least normal value.
    if flags & FTZ != 0 && exact.abs() < H::TINY {
        r &= 0x8000;
    }
    let magnitude = r & 0x7fff;
    if flags & RELU != 0 && r & 0x8000 != 0 && magnitude <= H::INF {
        r = 0;
    }
    if flags & SAT != 0 {
        r = if r & 0x8000 != 0 || magnitude > H::INF { 0 } else { r.min(H::ONE) };
    }
    r
}

/// The lower or upper halves, widened.
#[inline(always)]
fn halves<H: Half>(v: &V32, by: u32) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    for l in 0..LANES {
        out[l] = H::widen((v.0[l] >> by) as u16);
    }
    out
}

/// Whole lanes: `PAIR` of two halves each, else of one.
#[inline(always)]
fn run<O: HalfOp, H: Half, const PAIR: bool>(p: &mut Planes, args: &Args, mask: u32) {
    let a = p.get32(args.src[0]);
    let b = if O::OPERANDS > 1 { p.get32(args.src[1]) } else { a };
    let c = if O::OPERANDS > 2 { p.get32(args.src[2]) } else { a };
    let mut out = V32([0; LANES]);
    for by in if PAIR { [0, 16].as_slice() } else { &[0] } {
        let (a, b, c) = (halves::<H>(&a, *by), halves::<H>(&b, *by), halves::<H>(&c, *by));
        if args.imm == 0 {
            let mut r = [0.0; LANES];
            let mut hard = 0u32;
            for l in 0..LANES {
                r[l] = O::of::<H>(a[l], b[l], c[l]);
                hard |= u32::from(!O::easy::<H>(a[l], b[l], c[l]));
            }
            if hard != 0 {
                for l in 0..LANES {
                    r[l] = O::hard::<H>(a[l], b[l], c[l]);
                }
            }
            for l in 0..LANES {
                out.0[l] |= u32::from(H::near(r[l])) << by;
            }
        } else {
            for l in 0..LANES {
                out.0[l] |= u32::from(with_flags::<O, H>([a[l], b[l], c[l]], args.imm)) << by;
            }
        }
    }
    p.put32(args.dst[0], mask, out);
}

/// One value a lane.
pub struct One<O, H>(std::marker::PhantomData<(O, H)>);
impl<O: HalfOp, H: Half> LaneOp for One<O, H> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        run::<O, H, false>(p, args, mask);
    }
}
/// Two values a lane.
pub struct Two<O, H>(std::marker::PhantomData<(O, H)>);
impl<O: HalfOp, H: Half> LaneOp for Two<O, H> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        run::<O, H, true>(p, args, mask);
    }
}
