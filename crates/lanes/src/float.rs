//! Arithmetic on binary32 and binary64 (PTX ISA, Floating-Point Instructions).
//!
//! # Invariants
//! `add`, `sub`, `mul`, `fma`, `div.rn`, `rcp.rn`, `sqrt.rn` and their directed forms round once. A NaN
//! result of binary32 is the canonical one. Subnormal values stay unless the flag [`FTZ`] is set.
//!
//! # Limitations
//! The `.approx` and `.full` forms return the correctly rounded result, or for transcendental functions a
//! value within one unit in the last place of it. This is inside the error that PTX documents, but not the
//! bits of the hardware.

use crate::approx;
use crate::half::Half;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::round::{Round, is_tiny, narrow, odd, sum_odd};
use crate::soft;
use crate::value::LaneValue;

/// Subnormal operands and results become zeros of their sign.
pub const FTZ: u64 = 1 << 3;
/// Clamps to [0, 1]; NaN becomes +0.
pub const SAT: u64 = 1 << 4;

/// The canonical NaN of binary32.
pub const NAN32: u32 = 0x7fff_ffff;
/// The NaN that binary64 operations produce.
pub const NAN64: u64 = 0xfff8_0000_0000_0000;

/// What arithmetic needs of a format.
pub trait Float: LaneValue {
    /// Canonical if NaN.
    fn canon(self) -> Self;
    /// The result of an operation on these: what becomes of a NaN. binary32 has one; binary64 keeps that of
    /// the first operand that is one, made quiet, as hardware does (which of several it takes is a guess).
    fn seal(self, a: Self, b: Self, c: Self) -> Self;
    /// Zero of its sign if subnormal.
    fn flushed(self) -> Self;
    /// Clamped to [0, 1].
    fn saturated(self) -> Self;
    /// Whether it is the least normal value, either sign; only asked for `.ftz`.
    fn is_least(self) -> bool;
    /// Zero of its sign.
    fn zeroed(self) -> Self;
}
impl Float for f32 {
    #[inline(always)]
    fn canon(self) -> f32 {
        // On integers: of a comparison on floats LLVM may conclude that the value is a NaN anyway, and leave
        // it as it is (it does for `sqrt`), since to it all NaNs are one.
        let bits = self.to_bits();
        f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN32 } else { bits })
    }
    #[inline(always)]
    fn seal(self, _: f32, _: f32, _: f32) -> f32 {
        self.canon()
    }
    #[inline(always)]
    fn flushed(self) -> f32 {
        if self.abs() < f32::MIN_POSITIVE { f32::from_bits(self.to_bits() & 0x8000_0000) } else { self }
    }
    #[inline(always)]
    fn is_least(self) -> bool {
        self.to_bits() & 0x7fff_ffff == 0x0080_0000
    }
    #[inline(always)]
    fn zeroed(self) -> f32 {
        f32::from_bits(self.to_bits() & (0x8000_0000))
    }
    #[inline(always)]
    fn saturated(self) -> f32 {
        let r = if self > 0.0 { self } else { 0.0 };
        if r > 1.0 { 1.0 } else { r }
    }
}
impl Float for f64 {
    #[inline(always)]
    fn canon(self) -> f64 {
        let bits = self.to_bits();
        f64::from_bits(if bits & (u64::MAX >> 1) > 0x7ff << 52 { NAN64 } else { bits })
    }
    #[inline(always)]
    fn seal(self, a: f64, b: f64, c: f64) -> f64 {
        const QUIET: u64 = 1 << 51;
        let nan = |x: f64| x.to_bits() & (u64::MAX >> 1) > 0x7ff << 52;
        let bits = if nan(c) { c.to_bits() | QUIET } else { NAN64 };
        let bits = if nan(b) { b.to_bits() | QUIET } else { bits };
        let bits = if nan(a) { a.to_bits() | QUIET } else { bits };
        f64::from_bits(if nan(self) { bits } else { self.to_bits() })
    }
    #[inline(always)]
    fn flushed(self) -> f64 {
        self
    }
    #[inline(always)]
    fn is_least(self) -> bool {
        false
    }
    #[inline(always)]
    fn zeroed(self) -> f64 {
        f64::from_bits(self.to_bits() & (1 << 63))
    }
    #[inline(always)]
    fn saturated(self) -> f64 {
        let r = if self > 0.0 { self } else { 0.0 };
        if r > 1.0 { 1.0 } else { r }
    }
}

/// An operation on lanes of `T`, in a rounding mode.
pub trait Lane<T> {
    /// How many operands it reads.
    const OPERANDS: usize;
    /// The result before NaNs are made canonical.
    fn of(a: T, b: T, c: T, mode: Round) -> T;
    /// Its value with NaNs as they must be.
    #[inline(always)]
    fn sealed(a: T, b: T, c: T, mode: Round) -> T
    where
        T: Float,
    {
        Self::of(a, b, c, mode).seal(a, b, c)
    }
    /// Whether `.ftz` makes a zero of a result that was rounded to the least normal value.
    #[inline(always)]
    fn is_tiny(_a: T, _b: T, _c: T, _mode: Round) -> bool {
        false
    }
}

/// Makes zeros of subnormal results; `v` are the operands, flushed already.
#[inline(always)]
fn flush<O: Lane<T>, T: Float>(out: &mut [T; LANES], v: &[[T; LANES]; 3], mode: Round) {
    let mut least = 0u32;
    for l in 0..LANES {
        out[l] = out[l].flushed();
        least |= u32::from(out[l].is_least());
    }
    if least != 0 {
        for l in 0..LANES {
            if out[l].is_least() && O::is_tiny(v[0][l], v[1][l], v[2][l], mode) {
                out[l] = out[l].zeroed();
            }
        }
    }
}

/// The operands' lanes; those not read repeat the first.
#[inline(always)]
fn operands<O: Lane<T>, T: Float>(p: &Planes, args: &Args) -> [[T; LANES]; 3] {
    let a = T::load(p, args.src[0]);
    let b = if O::OPERANDS > 1 { T::load(p, args.src[1]) } else { a };
    let c = if O::OPERANDS > 2 { T::load(p, args.src[2]) } else { a };
    [a, b, c]
}

/// To nearest, without modifiers.
pub struct Plain<O, T>(std::marker::PhantomData<(O, T)>);
impl<T: Float, O: Lane<T>> LaneOp for Plain<O, T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [a, b, c] = operands::<O, T>(p, args);
        let mut out = a;
        for l in 0..LANES {
            out[l] = O::sealed(a[l], b[l], c[l], Round::Near);
        }
        T::store(p, args.dst[0], mask, &out);
    }
}

/// To nearest, `.ftz`.
pub struct Flush<O, T>(std::marker::PhantomData<(O, T)>);
impl<T: Float, O: Lane<T>> LaneOp for Flush<O, T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let mut v = operands::<O, T>(p, args);
        let mut out = v[0];
        for l in 0..LANES {
            let (a, b, c) = (v[0][l].flushed(), v[1][l].flushed(), v[2][l].flushed());
            (v[0][l], v[1][l], v[2][l]) = (a, b, c);
            out[l] = O::sealed(a, b, c, Round::Near);
        }
        flush::<O, T>(&mut out, &v, Round::Near);
        T::store(p, args.dst[0], mask, &out);
    }
}

/// With the mode and modifiers of [`Args::imm`].
pub struct Every<O, T>(std::marker::PhantomData<(O, T)>);
impl<T: Float, O: Lane<T>> LaneOp for Every<O, T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let mut v = operands::<O, T>(p, args);
        let ftz = args.imm & FTZ != 0;
        if ftz {
            v = v.map(|lanes| lanes.map(T::flushed));
        }
        let mut out = v[0];
        let mode = Round::from_imm(args.imm);
        for l in 0..LANES {
            out[l] = O::sealed(v[0][l], v[1][l], v[2][l], mode);
        }
        if ftz {
            flush::<O, T>(&mut out, &v, mode);
        }
        if args.imm & SAT != 0 {
            out = out.map(T::saturated);
        }
        T::store(p, args.dst[0], mask, &out);
    }
}

/// Two binary32 values a lane, with the mode and modifiers of [`Args::imm`].
pub struct Packed<O>(std::marker::PhantomData<O>);
impl<O: Lane<f32>> LaneOp for Packed<O> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let load = |n: usize| u64::load(p, args.src[if n < O::OPERANDS { n } else { 0 }]);
        let pairs = [load(0), load(1), load(2)];
        let (ftz, mode) = (args.imm & FTZ != 0, Round::from_imm(args.imm));
        let mut both = [0u64; LANES];
        for shift in [0, 32] {
            let mut v = pairs.map(|lanes| lanes.map(|x| f32::from_bits((x >> shift) as u32)));
            if ftz {
                v = v.map(|lanes| lanes.map(f32::flushed));
            }
            let mut out = v[0];
            for l in 0..LANES {
                out[l] = O::sealed(v[0][l], v[1][l], v[2][l], mode);
            }
            if ftz {
                flush::<O, f32>(&mut out, &v, mode);
            }
            for l in 0..LANES {
                both[l] |= u64::from(out[l].to_bits()) << shift;
            }
        }
        u64::store(p, args.dst[0], mask, &both);
    }
}

/// A binary32 result of binary32 and 16-bit operands, with the mode and [`SAT`] of [`Args::imm`]: the last
/// operand has 32 bits, those before it 16 (PTX ISA, Mixed Precision Floating-Point Instructions).
pub struct Mixed<O, H>(std::marker::PhantomData<(O, H)>);
impl<O: Lane<f32>, H: Half> LaneOp for Mixed<O, H> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let narrow = |n: usize| H::load(p, args.src[n]).map(H::get);
        let (first, last) = (narrow(0), f32::load(p, args.src[O::OPERANDS - 1]));
        let second = if O::OPERANDS == 3 { narrow(1) } else { last };
        let mode = Round::from_imm(args.imm);
        let out = std::array::from_fn(|l| {
            let exact = O::sealed(first[l], second[l], last[l], mode);
            if args.imm & SAT != 0 { exact.saturated() } else { exact }
        });
        f32::store(p, args.dst[0], mask, &out);
    }
}

macro_rules! lanes {
    ($($(#[$m:meta])* $name:ident<$t:ty>: $n:literal ($a:ident, $b:ident, $c:ident,
        $mode:ident) $body:block $({ $($extra:item)* })?;)*) => { $(
        $(#[$m])*
        impl Lane<$t> for $name {
            const OPERANDS: usize = $n;
            #[inline(always)]
            #[allow(unused_variables, reason = "one signature for one to three operands")]
            fn of($a: $t, $b: $t, $c: $t, $mode: Round) -> $t { $body }
            $($($extra)*)?
        }
    )* };
}
/// Declares the types that name the operations.
macro_rules! names { ($($(#[$m:meta])* $name:ident)*) => { $($(#[$m])* pub struct $name;)* } }
names! {
    /// `add`.
    Add
    /// `sub`.
    Sub
    /// `mul`.
    Mul
    /// `fma`, `mad`.
    Fma
    /// `div`.
    Div
    /// `div.approx`.
    DivApprox
    /// `rcp`.
    Rcp
    /// `sqrt`.
    Sqrt
    /// `rsqrt`.
    Rsqrt
    /// `rcp.approx.ftz.f64`: the upper words only.
    RcpHigh
    /// `rsqrt.approx.ftz.f64`: the upper words only.
    RsqrtHigh
    /// `sin`.
    Sin
    /// `cos`.
    Cos
    /// `lg2`.
    Lg2
    /// `ex2`.
    Ex2
    /// `tanh`.
    Tanh
    /// `abs`.
    Abs
    /// `neg`.
    Neg
    /// `min`.
    Min
    /// `max`.
    Max
    /// `min.NaN`.
    MinNan
    /// `max.NaN`.
    MaxNan
    /// `min.xorsign.abs`.
    MinXorSign
    /// `max.xorsign.abs`.
    MaxXorSign
    /// `min.NaN.xorsign.abs`.
    MinNanXorSign
    /// `max.NaN.xorsign.abs`.
    MaxNanXorSign
}

/// A sum in binary64 that came out exactly zero is -0 when rounding down, unless both terms are +0.
#[inline(always)]
fn zero_sign(s: f64, a: f64, b: f64, mode: Round) -> f64 {
    if s == 0.0 && mode == Round::Down && (a.is_sign_negative() || b.is_sign_negative()) { -0.0 } else { s }
}

#[inline(always)]
fn add32(a: f32, b: f32, mode: Round) -> f32 {
    if mode == Round::Near {
        return a + b;
    }
    let (a, b) = (f64::from(a), f64::from(b));
    narrow(zero_sign(sum_odd(a, b), a, b, mode), mode)
}

/// A quotient in binary64 of binary32 values, rounded to odd.
#[inline(always)]
fn quotient(a: f32, b: f32) -> f64 {
    let (a, b) = (f64::from(a), f64::from(b));
    let q = a / b;
    let rest = (-q).mul_add(b, a);
    odd(q, if b < 0.0 { -rest } else { rest })
}

#[inline(always)]
fn div32(a: f32, b: f32, mode: Round) -> f32 {
    if mode == Round::Near { a / b } else { narrow(quotient(a, b), mode) }
}

lanes! {
    Add<f32>: 2 (a, b, c, mode) { add32(a, b, mode) };
    Add<f64>: 2 (a, b, c, mode) { if mode == Round::Near { a + b } else { soft::add(a, b, mode) } };
    Sub<f32>: 2 (a, b, c, mode) { if mode == Round::Near { a - b } else { add32(a, -b, mode) } };
    Sub<f64>: 2 (a, b, c, mode) { if mode == Round::Near { a - b } else { soft::add(a, -b, mode) } };
    Mul<f32>: 2 (a, b, c, mode) { if mode == Round::Near { a * b } else {
        narrow(f64::from(a) * f64::from(b), mode) } } {
        #[inline(always)]
        fn is_tiny(a: f32, b: f32, c: f32, mode: Round) -> bool { let _ = (b, c);
            is_tiny(f64::from(a) * f64::from(b), mode) }
    };
    Mul<f64>: 2 (a, b, c, mode) { if mode == Round::Near { a * b } else { soft::mul(a, b, mode) } };
    Fma<f32>: 3 (a, b, c, mode) {
        if mode == Round::Near {
            a.mul_add(b, c)
        } else {
            let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
            narrow(zero_sign(sum_odd(product, c), product, c, mode), mode)
        }
    } {
        #[inline(always)]
        fn is_tiny(a: f32, b: f32, c: f32, mode: Round) -> bool { let _ = (b, c);
            is_tiny(sum_odd(f64::from(a) * f64::from(b), f64::from(c)), mode) }
    };
    Fma<f64>: 3 (a, b, c, mode) { if mode == Round::Near { a.mul_add(b, c) } else { soft::fma(a, b, c,
        mode) } };
    Div<f32>: 2 (a, b, c, mode) { div32(a, b, mode) } {
        #[inline(always)]
        fn is_tiny(a: f32, b: f32, c: f32, mode: Round) -> bool { let _ = (b, c); is_tiny(quotient(a, b),
            mode) }
    };
    Div<f64>: 2 (a, b, c, mode) { if mode == Round::Near { a / b } else { soft::div(a, b, mode) } };
    DivApprox<f32>: 2 (a, b, c, mode) {
        // PTX ISA: beyond 2^126 the reciprocal is 0.
        if b.abs() > f32::from_bits(0x7e80_0000) && b.abs() < f32::INFINITY { a * 0f32.copysign(b) } else {
            a / b }
    };
    Rcp<f32>: 1 (a, b, c, mode) { div32(1.0, a, mode) } {
        #[inline(always)]
        fn is_tiny(a: f32, b: f32, c: f32, mode: Round) -> bool { let _ = (b, c); is_tiny(quotient(1.0, a),
            mode) }
    };
    Rcp<f64>: 1 (a, b, c, mode) { if mode == Round::Near { 1.0 / a } else { soft::div(1.0, a, mode) } };
    Sqrt<f32>: 1 (a, b, c, mode) {
        if mode == Round::Near {
            a.sqrt()
        } else {
            let x = f64::from(a);
            let s = x.sqrt();
            narrow(odd(s, (-s).mul_add(s, x)), mode)
        }
    };
    Sqrt<f64>: 1 (a, b, c, mode) { if mode == Round::Near { a.sqrt() } else { soft::sqrt(a, mode) } };
    Rsqrt<f32>: 1 (a, b, c, mode) { (1.0 / f64::from(a).sqrt()) as f32 };
    Rsqrt<f64>: 1 (a, b, c, mode) { 1.0 / a.sqrt() };
    RcpHigh<f64>: 1 (a, b, c, mode) { high(1.0 / high(a)) } {
        #[inline(always)]
        fn sealed(a: f64, b: f64, c: f64, mode: Round) -> f64 { nan_high(Self::of(a, b, c, mode)) }
    };
    RsqrtHigh<f64>: 1 (a, b, c, mode) { high(1.0 / high(a).sqrt()) } {
        #[inline(always)]
        fn sealed(a: f64, b: f64, c: f64, mode: Round) -> f64 { nan_high(Self::of(a, b, c, mode)) }
    };
    Sin<f32>: 1 (a, b, c, mode) { approx::turn(a, 0) as f32 };
    Cos<f32>: 1 (a, b, c, mode) { approx::turn(a, 1) as f32 };
    Lg2<f32>: 1 (a, b, c, mode) { approx::lg2(f64::from(a)) as f32 };
    Ex2<f32>: 1 (a, b, c, mode) { approx::ex2(f64::from(a)) as f32 };
    Tanh<f32>: 1 (a, b, c, mode) { approx::tanh(f64::from(a)) as f32 };
    Abs<f32>: 1 (a, b, c, mode) { a.abs() };
    Abs<f64>: 1 (a, b, c, mode) { a.abs() };
    Neg<f32>: 1 (a, b, c, mode) { -a };
    Neg<f64>: 1 (a, b, c, mode) { -a };
    Min<f32>: 2 (a, b, c, mode) { least(a, b) };
    Min<f64>: 2 (a, b, c, mode) { least(a, b) } {
        #[inline(always)]
        fn sealed(a: f64, b: f64, c: f64, mode: Round) -> f64 { Self::of(a, b, c, mode).seal(b, a, c) }
    };
    Max<f32>: 2 (a, b, c, mode) { -least(-a, -b) };
    Max<f64>: 2 (a, b, c, mode) { -least(-a, -b) } {
        #[inline(always)]
        fn sealed(a: f64, b: f64, c: f64, mode: Round) -> f64 { Self::of(a, b, c, mode).seal(b, a, c) }
    };
    MinNan<f32>: 2 (a, b, c, mode) { if a.is_nan() || b.is_nan() { f32::NAN } else { least(a, b) } };
    MaxNan<f32>: 2 (a, b, c, mode) { if a.is_nan() || b.is_nan() { f32::NAN } else { -least(-a, -b) } };
    MinXorSign<f32>: 2 (a, b, c, mode) { xor_sign(a, b, least(a.abs(), b.abs())) };
    MaxXorSign<f32>: 2 (a, b, c, mode) { xor_sign(a, b, -least(-a.abs(), -b.abs())) };
    MinNanXorSign<f32>: 2 (a, b, c, mode) { if a.is_nan() || b.is_nan() { f32::NAN } else { xor_sign(a, b,
        least(a.abs(), b.abs())) } };
    MaxNanXorSign<f32>: 2 (a, b, c, mode) { if a.is_nan() || b.is_nan() { f32::NAN } else { xor_sign(a, b,
        -least(-a.abs(), -b.abs())) } };
}

/// The lesser; -0 is less than +0; a NaN gives way to the other.
#[inline(always)]
fn least<T: Least>(a: T, b: T) -> T {
    T::least(a, b)
}
/// Types with `least`.
pub trait Least {
    /// The lesser of two values; -0 is less than +0.
    fn least(a: Self, b: Self) -> Self;
}
macro_rules! leasts { ($($t:ty)*) => { $(
    impl Least for $t {
        #[inline(always)]
        fn least(a: $t, b: $t) -> $t {
            let first = a < b || b.is_nan() || (a == b && a.is_sign_negative());
            if first { a } else { b }
        }
    }
)* } }
leasts! { f32 f64 }

/// With the product's sign.
#[inline(always)]
fn xor_sign(a: f32, b: f32, magnitude: f32) -> f32 {
    f32::from_bits(magnitude.to_bits() | ((a.to_bits() ^ b.to_bits()) & 0x8000_0000))
}

/// The upper word; the lower is 0. Subnormals are flushed.
#[inline(always)]
fn high(x: f64) -> f64 {
    let x = if x.abs() < f64::MIN_POSITIVE { x * 0.0 } else { x };
    f64::from_bits(x.to_bits() & 0xffff_ffff_0000_0000)
}

/// The NaN of the operations on upper words.
#[inline(always)]
fn nan_high(x: f64) -> f64 {
    let bits = x.to_bits();
    f64::from_bits(if bits & (u64::MAX >> 1) > 0x7ff << 52 { 0x7fff_ffff_0000_0000 } else { bits })
}

/// `copysign`: the first operand's sign, the second's magnitude.
pub struct CopySign<T>(std::marker::PhantomData<T>);
macro_rules! copysign { ($($t:ty, $sign:expr;)*) => { $(
    impl LaneOp for CopySign<$t> {
        #[inline(always)]
        fn run(p: &mut Planes, args: &Args, mask: u32) {
            let (a, b) = (<$t>::load(p, args.src[0]), <$t>::load(p, args.src[1]));
            let mut out = a;
            for l in 0..LANES {
                out[l] = (a[l] & $sign) | (b[l] & !$sign);
            }
            <$t>::store(p, args.dst[0], mask, &out);
        }
    }
)* } }
copysign! { u32, 1 << 31; u64, 1 << 63; }
