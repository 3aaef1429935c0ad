//! Functions of AMD's processors: rounding to integers, reciprocals, roots, exponentials, angles, and the
//! steps of a division.
//!
//! # Invariants
//! Functions of binary32 flush denormals, whatever the mode ("1ULP accuracy, denormals are flushed" in the
//! guides). Results are within one unit in the last place.
//!
//! # Limitations
//! The guides' text of `v_div_scale_f32` and `v_div_fixup_f32` gives no right quotient where the numerator
//! is tiny, the reciprocal of the denominator is denormal, or the quotient is far too great. Here the
//! scales are those with which `v_div_fmas_f32` gives the right one, and a quotient that is too great is
//! infinite.

use super::convert::integer;
use super::convert::source;
use super::float::{Flush, Format, Mode, Operation, finish, operations, seal};
use super::signature::{Signature, Value, Width};
use crate::approx;
use crate::int::Int;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::round::Round;
use crate::value::LaneValue;

operations! {
    /// `v_trunc_f32`
    Trunc: 1 (a, b, c, mode) { integral(a, f64::trunc) }
    /// `v_ceil_f32`
    Ceil: 1 (a, b, c, mode) { integral(a, f64::ceil) }
    /// `v_floor_f32`
    Floor: 1 (a, b, c, mode) { integral(a, f64::floor) }
    /// `v_rndne_f32`
    Rndne: 1 (a, b, c, mode) { integral(a, f64::round_ties_even) }
    /// `v_fract_f32`
    Fract: 1 (a, b, c, mode) { seal(a.add(integral(a, f64::floor).negated(), mode.round), a, b, c) }
    /// `v_frexp_mant_f32`: the fraction from 1/2 to 1.
    FrexpMant: 1 (a, b, c, mode) {
        let (fraction, _) = parts(a.to64());
        if a.is_nan() { a.quiet() } else { T::from64(fraction, Round::Near) }
    }
    /// `v_div_fixup_f32`: a quotient with the special cases of a denominator and a numerator.
    DivFixup: 3 (a, b, c, mode) { fixup(a, b, c) }
    /// `v_cubeid_f32`: the number of the face of a cube that a vector points to.
    CubeId: 3 (a, b, c, mode) flush Sources {
        let (face, negative) = match major(a, b, c) { 0 => (0.0, a), 1 => (2.0, b), _ => (4.0, c) };
        T::from64(face + if negative < T::ZERO { 1.0 } else { 0.0 }, Round::Near)
    }
    /// `v_cubesc_f32`: its first coordinate on the face.
    CubeSc: 3 (a, b, c, mode) flush Sources {
        match major(a, b, c) {
            2 => if c < T::ZERO { a.negated() } else { a },
            1 => a,
            _ => if a < T::ZERO { c } else { c.negated() },
        }
    }
    /// `v_cubetc_f32`: its second coordinate on the face.
    CubeTc: 3 (a, b, c, mode) flush Sources {
        if major(a, b, c) != 1 { b.negated() } else if b < T::ZERO { c.negated() } else { c } }
    /// `v_cubema_f32`: twice its coordinate on the major axis.
    CubeMa: 3 (a, b, c, mode) {
        let v = match major(a, b, c) { 0 => a, 1 => b, _ => c };
        seal(v.mul(T::TWO, mode.round), v, v, v)
    }
}

/// The axis of the greatest magnitude: 0 to 2.
#[inline(always)]
fn major<T: Format>(a: T, b: T, c: T) -> u32 {
    let (a, b, c) = (a.magnitude(), b.magnitude(), c.magnitude());
    if c >= a && c >= b { 2 } else { u32::from(b >= a) }
}

/// An integral value; the sign of a zero is that of the operand.
#[inline(always)]
fn integral<T: Format>(a: T, f: impl Fn(f64) -> f64) -> T {
    let r = T::from64(f(a.to64()), Round::Near);
    if a.is_nan() { a.quiet() } else { r }
}

/// Fraction from 1/2 to 1 and exponent; of 0 and infinity they are the value itself and 0.
#[inline(always)]
fn parts(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let small = x.abs() < f64::MIN_POSITIVE;
    let bits = (if small { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022 - if small { 54 } else { 0 };
    (f64::from_bits(bits & !(0x7ff << 52) | 1022 << 52), exponent)
}

/// The biased exponent of the format, 0 for denormals.
#[inline(always)]
fn exponent<T: Format>(v: T, bias: i32) -> i32 {
    let magnitude = v.magnitude();
    if magnitude.flushed() == T::ZERO {
        0
    } else if magnitude.to64() == f64::INFINITY || v.is_nan() {
        2 * bias + 1
    } else {
        parts(magnitude.to64()).1 - 1 + bias
    }
}

#[inline(always)]
fn fixup<T: Format>(q: T, den: T, num: T) -> T {
    let negative = den.negative() != num.negative();
    let infinity = |v: T| v.magnitude().to64() == f64::INFINITY;
    let (d, n) = (den.to64(), num.to64());
    let magnitude =
        if num.is_nan() || den.is_nan() || (d == 0.0 && n == 0.0) || (infinity(den) && infinity(num)) {
            return seal(T::NAN, num, den, T::ZERO);
        } else if d == 0.0 || infinity(num) {
            T::from64(f64::INFINITY, Round::Near)
        } else if infinity(den) || n == 0.0 || parts(n).1 - parts(d).1 < T::UNDERFLOW {
            T::ZERO
        } else if parts(n).1 - parts(d).1 >= T::OVERFLOW {
            T::from64(f64::INFINITY, Round::Near)
        } else {
            q.magnitude()
        };
    if negative { magnitude.negated() } else { magnitude }
}

/// Functions that flush denormals of binary32 in every mode.
macro_rules! functions {
    ($($(#[$m:meta])* $name:ident($a:ident) $body:block)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl<T: Format> Operation<T> for $name {
            const SOURCES: usize = 1;
            const FLUSH: Flush = if T::FLUSHES { Flush::Always } else { Flush::Mode };
            #[inline(always)]
            fn of(a: T, _: T, _: T, mode: Mode) -> T {
                let _ = mode;
                let $a = a.to64();
                seal(T::from64($body, Round::Near), a, T::ZERO, T::ZERO)
            }
        }
    )* };
}
functions! {
    /// `v_rcp_f32`
    Rcp(x) { 1.0 / x }
    /// `v_rsq_f32`
    Rsq(x) { 1.0 / x.sqrt() }
    /// `v_sqrt_f32`
    Sqrt(x) { x.sqrt() }
    /// `v_exp_f32`: 2 to the power.
    Exp(x) { approx::ex2(x) }
    /// `v_log_f32`: the binary logarithm.
    Log(x) { approx::lg2(x) }
    /// `v_sin_f32`: of an angle in turns.
    Sin(x) { turns(x, 0) }
    /// `v_cos_f32`
    Cos(x) { turns(x, 1) }
}

/// Sine of an angle in turns, or with `quarter` 1 the cosine.
#[inline(always)]
fn turns(x: f64, quarter: u64) -> f64 {
    let rest = x - x.round_ties_even();
    // A zero keeps its sign.
    approx::of_quarters(if x == 0.0 { x } else { rest } * 4.0, quarter)
}

/// `v_ldexp_f32`: times a power of two.
pub struct Ldexp<T, I>(std::marker::PhantomData<(T, I)>);
impl<T: Format, I: Int + Value> LaneOp for Ldexp<T, I> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = source::<T>(p, args, 0);
        let by = I::load(p, args.src[1]);
        let round = Round::from_imm(args.imm);
        let mut out = [T::ZERO; LANES];
        for l in 0..LANES {
            let by = by[l].ext().clamp(-10_000, 10_000) as i32;
            out[l] = if v[l].is_nan() { v[l].quiet() } else { v[l].scale(by, round) };
        }
        finish(&mut out, args.imm);
        T::store(p, args.dst[0], mask, &out);
    }
}
impl<T: Format, I: Int + Value> Signature for Ldexp<T, I> {
    const RESULTS: &'static [Width] = &[T::WIDTH];
    const SOURCES: &'static [Width] = &[T::WIDTH, I::WIDTH];
}

/// `v_frexp_exp_i32_f32`: the exponent that belongs to [`FrexpMant`].
pub struct FrexpExp<T, I>(std::marker::PhantomData<(T, I)>);
impl<T: Format, I: Int + Value> LaneOp for FrexpExp<T, I> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = source::<T>(p, args, 0);
        let mut out = [I::default(); LANES];
        for l in 0..LANES {
            out[l] = integer(f64::from(if v[l].is_nan() { 0 } else { parts(v[l].to64()).1 }));
        }
        I::store(p, args.dst[0], mask, &out);
    }
}
impl<T: Format, I: Int + Value> Signature for FrexpExp<T, I> {
    const RESULTS: &'static [Width] = &[I::WIDTH];
    const SOURCES: &'static [Width] = &[T::WIDTH];
}

/// What the steps of a division need of a format.
pub trait Division: Format {
    /// The exponent of the scale.
    const SCALE: i32;
    /// The bias of the exponent.
    const BIAS: i32;
    /// A quotient with at least this difference of exponents needs a scaled denominator.
    const LARGE: i32;
    /// A numerator with at most this biased exponent is scaled.
    const TINY: i32;
}
impl Division for f32 {
    const SCALE: i32 = 64;
    const BIAS: i32 = 127;
    const LARGE: i32 = 96;
    const TINY: i32 = 23;
}
impl Division for f64 {
    const SCALE: i32 = 128;
    const BIAS: i32 = 1023;
    const LARGE: i32 = 768;
    const TINY: i32 = 53;
}

/// `v_div_scale_f32`: the first source, which is the denominator (second) or the numerator (third), scaled
/// so that no step of the division leaves the format; and whether `v_div_fmas_f32` must undo the scale.
pub struct DivScale<T>(std::marker::PhantomData<T>);
impl<T: Division> LaneOp for DivScale<T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = [0, 1, 2].map(|i| source::<T>(p, args, i));
        let (mut out, mut undo) = (v[0], 0);
        for l in 0..LANES {
            let (scaled, flag) = div_scale(v[0][l], v[1][l], v[2][l]);
            out[l] = scaled;
            undo |= u32::from(flag) << l;
        }
        T::store(p, args.dst[0], mask, &out);
        p.put_pred(args.dst[1], mask, undo);
    }
}
impl<T: Division> Signature for DivScale<T> {
    const RESULTS: &'static [Width] = &[T::WIDTH, Width::Mask];
    const SOURCES: &'static [Width] = &[T::WIDTH; 3];
}

#[inline(always)]
fn div_scale<T: Division>(v: T, den: T, num: T) -> (T, bool) {
    let scaled = |by: i32| v.scale(by, Round::Near);
    let (d, n) = (exponent(den, T::BIAS), exponent(num, T::BIAS));
    let small = |q: T| q.magnitude().flushed() == T::ZERO;
    if den == T::ZERO || num == T::ZERO {
        return (T::NAN, true);
    }
    if den.is_nan() || num.is_nan() || d == 2 * T::BIAS + 1 || n == 2 * T::BIAS + 1 {
        return (v, false);
    }
    let reciprocal = small(T::ONE.div(den, Round::Near));
    let quotient = small(num.div(den, Round::Near));
    if n - d >= T::LARGE {
        (if v == den { scaled(T::SCALE) } else { v }, true)
    } else if d == 0 {
        (scaled(T::SCALE), false)
    } else if reciprocal && quotient {
        (if v == den { scaled(-T::SCALE) } else { v }, true)
    } else if reciprocal {
        (scaled(-T::SCALE), false)
    } else if quotient || (n <= T::TINY && n - d < -T::SCALE) {
        (if v == num { scaled(T::SCALE) } else { v }, true)
    } else if n <= T::TINY {
        (scaled(T::SCALE), false)
    } else {
        (v, false)
    }
}

/// `v_div_fmas_f32`: a fused product and sum, scaled where the mask says so: up if the third source is at
/// least 2.
pub struct DivFmas<T>(std::marker::PhantomData<T>);
impl<T: Division> LaneOp for DivFmas<T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [a, b, c] = [0, 1, 2].map(|i| source::<T>(p, args, i));
        let scales = p.get_pred(args.src[3]);
        let round = Round::from_imm(args.imm);
        let mut out = a;
        for l in 0..LANES {
            let by = if exponent(c[l], T::BIAS) > T::BIAS { T::SCALE } else { -T::SCALE };
            let r = seal(a[l].fma(b[l], c[l], round), a[l], b[l], c[l]);
            let scaled = if r.is_nan() { r } else { r.scale(by, round) };
            out[l] = if scales >> l & 1 == 1 { scaled } else { r };
        }
        finish(&mut out, args.imm);
        T::store(p, args.dst[0], mask, &out);
    }
}
impl<T: Division> Signature for DivFmas<T> {
    const RESULTS: &'static [Width] = &[T::WIDTH];
    const SOURCES: &'static [Width] = &[T::WIDTH, T::WIDTH, T::WIDTH, Width::Mask];
}

/// The first 1201 bits of 2/pi, from the top.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_0000,
];

/// `v_trig_preop_f64`: 53 bits of 2/pi, from a place that the second source and the exponent of the first
/// one give.
pub struct TrigPreop;
impl LaneOp for TrigPreop {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (v, segment) = (source::<f64>(p, args, 0), p.get32(args.src[1]));
        let mut out = v;
        for l in 0..LANES {
            let exponent = (v[l].to_bits() >> 52 & 0x7ff) as u32;
            let shift = (segment.0[l] & 31) * 53 + exponent.saturating_sub(1077);
            let scale = -53 - shift as i32 + if exponent >= 1968 { 128 } else { 0 };
            out[l] = (two_over_pi(shift) as f64).scale(scale, Round::Near);
        }
        finish(&mut out, args.imm);
        f64::store(p, args.dst[0], mask, &out);
    }
}
impl Signature for TrigPreop {
    const RESULTS: &'static [Width] = &[Width::Double];
    const SOURCES: &'static [Width] = &[Width::Double, Width::Word];
}

/// 53 bits of 2/pi after the first `shift` ones; past the end they are 0.
#[inline(always)]
fn two_over_pi(shift: u32) -> u64 {
    let word = |i: usize| TWO_OVER_PI.get(i).copied().unwrap_or(0);
    let (at, by) = (shift as usize / 64, shift % 64);
    let bits = u128::from(word(at)) << 64 | u128::from(word(at + 1));
    ((bits << by) >> 75) as u64
}

/// `v_cmp_class_f32`: whether the value is of a class whose bit the second source has.
pub struct Class<T>(std::marker::PhantomData<T>);
impl<T: Format> LaneOp for Class<T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = T::load(p, args.src[0]);
        let classes = p.get32(args.src[1]);
        let mut out = 0;
        for l in 0..LANES {
            out |= (classes.0[l] >> class(v[l]) & 1) << l;
        }
        p.put_pred(args.dst[0], mask, out);
    }
}
impl<T: Format> Signature for Class<T> {
    const RESULTS: &'static [Width] = &[Width::Mask];
    const SOURCES: &'static [Width] = &[T::WIDTH, Width::Word];
}

/// The number of a value's class: signaling and quiet NaN, then from -infinity to +infinity.
#[inline(always)]
fn class<T: Format>(v: T) -> u32 {
    let negative = v.negative();
    let magnitude = v.magnitude();
    if v.is_nan() {
        u32::from(v.is_quiet())
    } else if magnitude == T::ZERO {
        if negative { 5 } else { 6 }
    } else if magnitude.flushed() == T::ZERO {
        if negative { 4 } else { 7 }
    } else if magnitude.to64() == f64::INFINITY {
        if negative { 2 } else { 9 }
    } else if negative {
        3
    } else {
        8
    }
}
