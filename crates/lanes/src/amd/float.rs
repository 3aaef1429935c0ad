//! Floating-point arithmetic of AMD's processors.
//!
//! An operation is written once, for all formats ([`Format`]). [`Float`] runs it: it applies the modifiers
//! of the sources, flushes denormals as the mode says, computes, and applies the modifiers of the result.
//! All of that is in [`Args::imm`]; 0 is round to nearest, with denormals and without modifiers.
//!
//! # Invariants
//! Results round once. A NaN result is quiet.
//!
//! # Limitations
//! A denormal result is flushed after it was rounded. The guides do not say whether rounding comes first.

use super::signature::{Signature, Value, Width};
use crate::float::{self, Lane};
use crate::half::{F16, Half};
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};
use crate::round::{Round, narrow, sum_odd};
use crate::value::LaneValue;

/// Bits 0 to 2 of the constant are the rounding mode ([`Round::from_imm`]). This one: denormal sources
/// become 0.
pub const FLUSH_IN: u64 = 1 << 3;
/// Denormal results become 0.
pub const FLUSH_OUT: u64 = 1 << 4;
/// The IEEE bit of the mode: minima and maxima return signaling NaNs, made quiet.
pub const IEEE: u64 = 1 << 5;
/// The DX10_CLAMP bit of the mode: `clamp` makes 0 of a NaN.
pub const DX10: u64 = 1 << 6;
/// Clamps the result to [0, 1].
pub const CLAMP: u64 = 1 << 7;
/// First of the two bits of `omod`: 1 doubles the result, 2 makes four times of it, 3 halves it.
pub const OMOD: u32 = 8;
/// First of the bits that negate sources.
pub const NEG: u32 = 10;
/// First of the bits that take the absolute value of sources, before they are negated.
pub const ABS: u32 = 13;
/// Of two NaNs, minima and maxima return the second one (CDNA), not the first.
pub const SECOND_NAN: u64 = 1 << 16;

/// The mode that an operation computes in.
#[derive(Clone, Copy)]
pub struct Mode {
    /// How results are rounded.
    pub round: Round,
    /// [`IEEE`].
    pub ieee: bool,
    /// [`SECOND_NAN`].
    pub second: bool,
}

/// A floating-point format.
pub trait Format: Value + PartialOrd {
    /// The number 0.
    const ZERO: Self;
    /// The number 1.
    const ONE: Self;
    /// The number 2.
    const TWO: Self;
    /// The NaN of an invalid operation.
    const NAN: Self;
    /// Whether it is a NaN.
    fn is_nan(self) -> bool;
    /// Whether the NaN bit that makes it quiet is set.
    fn is_quiet(self) -> bool;
    /// The same NaN, quiet.
    fn quiet(self) -> Self;
    /// The sign bit.
    fn negative(self) -> bool;
    /// The negated value; of a NaN too.
    fn negated(self) -> Self;
    /// Without its sign.
    fn magnitude(self) -> Self;
    /// Zero of its sign if denormal.
    fn flushed(self) -> Self;
    /// The sum of two values, rounded once.
    fn add(self, o: Self, round: Round) -> Self;
    /// The product of two values, rounded once.
    fn mul(self, o: Self, round: Round) -> Self;
    /// The product with `b`, plus `c`.
    fn fma(self, b: Self, c: Self, round: Round) -> Self;
    /// The quotient of two values, rounded once.
    fn div(self, o: Self, round: Round) -> Self;
    /// The square root.
    fn sqrt(self, round: Round) -> Self;
    /// The value; exact.
    fn to64(self) -> f64;
    /// A value rounded to the format.
    fn from64(x: f64, round: Round) -> Self;
    /// The bits of a NaN in binary64.
    fn nan64(self) -> u64;
    /// The quiet NaN with the upper bits of one of binary64.
    fn from_nan64(bits: u64) -> Self;
    /// A quotient whose exponents differ by less becomes 0.
    const UNDERFLOW: i32;
    /// A quotient whose exponents differ by this much or more becomes infinite.
    const OVERFLOW: i32;
    /// Whether functions such as `v_exp_f32` flush denormals in every mode.
    const FLUSHES: bool = false;
    /// Times a power of two, rounded once.
    fn scale(self, by: i32, round: Round) -> Self;
}

macro_rules! formats { ($($t:ident $bits:ident $quiet:literal $inf:literal $nan:literal;)*) => { $(
    impl Format for $t {
        const ZERO: $t = 0.0;
        const ONE: $t = 1.0;
        const TWO: $t = 2.0;
        const NAN: $t = $t::from_bits($nan);
        // On integers: for LLVM all NaNs of floats are one.
        #[inline(always)] fn is_nan(self) -> bool { self.to_bits() & ($bits::MAX >> 1) > $inf }
        #[inline(always)] fn is_quiet(self) -> bool { self.to_bits() & $quiet != 0 }
        #[inline(always)] fn quiet(self) -> $t { $t::from_bits(self.to_bits() | $quiet) }
        #[inline(always)] fn negative(self) -> bool { self.to_bits() > $bits::MAX >> 1 }
        #[inline(always)] fn negated(self) -> $t { $t::from_bits(self.to_bits() ^ !($bits::MAX >> 1)) }
        #[inline(always)] fn magnitude(self) -> $t { $t::from_bits(self.to_bits() & ($bits::MAX >> 1)) }
        #[inline(always)] fn flushed(self) -> $t {
            let sign = $t::from_bits(self.to_bits() & !($bits::MAX >> 1));
            if self.magnitude() < $t::MIN_POSITIVE { sign } else { self }
        }
        #[inline(always)] fn add(self, o: $t, round: Round) -> $t {
            <float::Add as Lane<$t>>::of(self, o, o, round) }
        #[inline(always)] fn mul(self, o: $t, round: Round) -> $t {
            <float::Mul as Lane<$t>>::of(self, o, o, round) }
        #[inline(always)] fn fma(self, b: $t, c: $t, round: Round) -> $t {
            <float::Fma as Lane<$t>>::of(self, b, c, round) }
        #[inline(always)] fn div(self, o: $t, round: Round) -> $t {
            <float::Div as Lane<$t>>::of(self, o, o, round) }
        #[inline(always)] fn sqrt(self, round: Round) -> $t {
            <float::Sqrt as Lane<$t>>::of(self, self, self, round) }
        formats! { @$t }
    }
)* };
    (@f32) => {
        const FLUSHES: bool = true;
        const UNDERFLOW: i32 = -150;
        const OVERFLOW: i32 = 129;
        #[inline(always)] fn nan64(self) -> u64 {
            let bits = self.to_bits();
            u64::from(bits & 0x8000_0000) << 32 | 0x7ff << 52 | u64::from(bits & 0x007f_ffff) << 29
        }
        #[inline(always)] fn from_nan64(bits: u64) -> f32 {
            let sign = (bits >> 32) as u32 & 0x8000_0000;
            f32::from_bits(sign | 0x7fc0_0000 | (bits >> 29) as u32 & 0x003f_ffff)
        }
        #[inline(always)] fn to64(self) -> f64 { f64::from(self) }
        #[inline(always)] fn from64(x: f64, round: Round) -> f32 { narrow(x, round) }
        #[inline(always)] fn scale(self, by: i32, round: Round) -> f32 {
            // Its exponent stays in binary64's normal range.
            narrow(f64::from(self) * power(by.clamp(-600, 600)), round)
        }
    };
    (@f64) => {
        const UNDERFLOW: i32 = -1075;
        const OVERFLOW: i32 = 1025;
        #[inline(always)] fn nan64(self) -> u64 { self.to_bits() }
        #[inline(always)] fn from_nan64(bits: u64) -> f64 { f64::from_bits(bits).quiet() }
        #[inline(always)] fn to64(self) -> f64 { self }
        #[inline(always)] fn from64(x: f64, _: Round) -> f64 { x }
        #[inline(always)] fn scale(self, by: i32, round: Round) -> f64 {
            if self == 0.0 || !self.is_finite() { return self; }
            // All steps but the last are exact, because the value stays normal: it begins as one.
            let by = by.clamp(-4400, 4400);
            let (value, by) = if self.abs() < f64::MIN_POSITIVE { (self * power(600), by - 600) } else {
                (self, by) };
            let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023 + by;
            if exponent > 1023 { return value.mul(power(1023), round).mul(power(1023), round); }
            if exponent >= -1022 {
                return f64::from_bits(value.to_bits().wrapping_add_signed(i64::from(by) << 52));
            }
            // At 2^-1022, and the rest in one rounded step.
            let least = f64::from_bits(value.to_bits() & !(0x7ff << 52) | 1 << 52);
            least.mul(power((exponent + 1022).max(-60)), round)
        }
    };
}
formats! {
    f32 u32 0x0040_0000 0x7f80_0000 0xffc0_0000;
    f64 u64 0x0008_0000_0000_0000 0x7ff0_0000_0000_0000 0xfff8_0000_0000_0000;
}

/// 2^n, for n from -1022 to 1023.
#[inline(always)]
pub(crate) fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// A lane of binary16, as the binary32 number of the same value. A NaN keeps its bits.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Debug)]
pub struct Binary16(pub f32);

impl Binary16 {
    /// From its bits.
    #[inline(always)]
    pub fn from_bits(bits: u16) -> Binary16 {
        Binary16(F16::widen(bits))
    }
    /// The bits of the binary16.
    #[inline(always)]
    pub fn to_bits(self) -> u16 {
        let bits = self.0.to_bits();
        let nan = (bits >> 16 & 0x8000 | 0x7c00 | bits >> 13 & 0x3ff) as u16;
        if Format::is_nan(self.0) { nan } else { F16::near(self.0) }
    }
    /// A binary32 value, rounded; it may have been rounded to odd before.
    #[inline(always)]
    fn rounded(x: f32, round: Round) -> Binary16 {
        Binary16(F16::widen(if round == Round::Near { F16::near(x) } else { F16::round(x, round) }))
    }
}

impl LaneValue for Binary16 {
    #[inline(always)]
    fn load(p: &Planes, i: u16) -> [Self; LANES] {
        p.get32(i).0.map(|v| Binary16::from_bits(v as u16))
    }
    #[inline(always)]
    fn store(p: &mut Planes, i: u16, mask: u32, v: &[Self; LANES]) {
        p.put32(i, mask, V32(v.map(|v| u32::from(v.to_bits()))));
    }
}
impl Value for Binary16 {
    const WIDTH: Width = Width::Half;
}

impl Format for Binary16 {
    const UNDERFLOW: i32 = i32::MIN;
    const OVERFLOW: i32 = i32::MAX;
    const ZERO: Binary16 = Binary16(0.0);
    const ONE: Binary16 = Binary16(1.0);
    const TWO: Binary16 = Binary16(2.0);
    const NAN: Binary16 = Binary16(<f32 as Format>::NAN);
    #[inline(always)]
    fn is_nan(self) -> bool {
        Format::is_nan(self.0)
    }
    #[inline(always)]
    fn is_quiet(self) -> bool {
        self.0.is_quiet()
    }
    #[inline(always)]
    fn quiet(self) -> Binary16 {
        Binary16(self.0.quiet())
    }
    #[inline(always)]
    fn negative(self) -> bool {
        self.0.negative()
    }
    #[inline(always)]
    fn negated(self) -> Binary16 {
        Binary16(self.0.negated())
    }
    #[inline(always)]
    fn magnitude(self) -> Binary16 {
        Binary16(self.0.magnitude())
    }
    #[inline(always)]
    fn flushed(self) -> Binary16 {
        let sign = f32::from_bits(self.0.to_bits() & 0x8000_0000);
        Binary16(if self.0.magnitude() < F16::widen(F16::MIN_NORMAL) { sign } else { self.0 })
    }
    #[inline(always)]
    fn add(self, o: Binary16, round: Round) -> Binary16 {
        // binary32 has more than twice the bits, so that rounding to it to nearest does no harm.
        if round == Round::Near {
            Binary16::rounded(self.0 + o.0, round)
        } else {
            Binary16::sum(self.to64(), o.to64(), round)
        }
    }
    #[inline(always)]
    fn mul(self, o: Binary16, round: Round) -> Binary16 {
        Binary16::rounded(self.0 * o.0, round)
    }
    #[inline(always)]
    fn fma(self, b: Binary16, c: Binary16, round: Round) -> Binary16 {
        Binary16::sum(self.to64() * b.to64(), c.to64(), round)
    }
    #[inline(always)]
    fn div(self, o: Binary16, round: Round) -> Binary16 {
        Binary16::rounded(
            float::Div::of(self.0, o.0, o.0, if round == Round::Near { round } else { Round::Odd }),
            round,
        )
    }
    #[inline(always)]
    fn sqrt(self, round: Round) -> Binary16 {
        Binary16::rounded(
            float::Sqrt::of(self.0, self.0, self.0, if round == Round::Near { round } else { Round::Odd }),
            round,
        )
    }
    #[inline(always)]
    fn nan64(self) -> u64 {
        self.0.nan64()
    }
    #[inline(always)]
    fn from_nan64(bits: u64) -> Binary16 {
        Binary16(f32::from_nan64(bits))
    }
    #[inline(always)]
    fn to64(self) -> f64 {
        f64::from(self.0)
    }
    #[inline(always)]
    fn from64(x: f64, round: Round) -> Binary16 {
        Binary16::rounded(narrow(x, Round::Odd), round)
    }
    #[inline(always)]
    fn scale(self, by: i32, round: Round) -> Binary16 {
        Binary16::from64(self.to64() * power(by.clamp(-600, 600)), round)
    }
}

impl Binary16 {
    /// A sum, rounded once. One that is exactly 0 is -0 when rounding down, unless both terms are +0.
    #[inline(always)]
    fn sum(a: f64, b: f64, round: Round) -> Binary16 {
        let s = sum_odd(a, b);
        let down = round == Round::Down && s == 0.0 && (a.is_sign_negative() || b.is_sign_negative());
        Binary16::from64(if down { -0.0 } else { s }, round)
    }
}

/// The first operand that is a NaN, made quiet, if the result is one; else the result.
#[inline(always)]
pub fn seal<T: Format>(r: T, a: T, b: T, c: T) -> T {
    let nan = if c.is_nan() { c.quiet() } else { T::NAN };
    let nan = if b.is_nan() { b.quiet() } else { nan };
    let nan = if a.is_nan() { a.quiet() } else { nan };
    if r.is_nan() { nan } else { r }
}

/// When an operation flushes denormals.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// As the mode says.
    Mode,
    /// Sources as the mode says, results never.
    Sources,
    /// Sources and results, in every mode.
    Always,
}

/// An operation on values of one format.
pub trait Operation<T: Format> {
    /// How many sources it has.
    const SOURCES: usize;
    /// When it flushes denormals.
    const FLUSH: Flush = Flush::Mode;
    /// Whether a NaN that [`Operation::unsealed`] returns has still to become the one of [`seal`].
    const UNSEALED: bool = false;
    /// The result, before the modifiers of the instruction.
    fn of(a: T, b: T, c: T, mode: Mode) -> T;
    /// The result, or any NaN if that is a NaN.
    #[inline(always)]
    fn unsealed(a: T, b: T, c: T, mode: Mode) -> T {
        Self::of(a, b, c, mode)
    }
}

/// Runs an operation with the mode and the modifiers of the constant.
pub struct Float<O, T>(std::marker::PhantomData<(O, T)>);

impl<T: Format, O: Operation<T>> Signature for Float<O, T> {
    const RESULTS: &'static [Width] = &[T::WIDTH];
    const SOURCES: &'static [Width] = match O::SOURCES {
        1 => &[T::WIDTH],
        2 => &[T::WIDTH; 2],
        _ => &[T::WIDTH; 3],
    };
}

impl<T: Format, O: Operation<T>> LaneOp for Float<O, T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let flush = O::FLUSH == Flush::Always;
        if args.imm & !(IEEE | DX10 | SECOND_NAN) == 0 && !flush {
            lanes::<T, O, true>(p, args, mask, args.imm);
        } else {
            lanes::<T, O, false>(p, args, mask, args.imm | if flush { FLUSH_IN | FLUSH_OUT } else { 0 });
        }
    }
}

#[inline(always)]
fn lanes<T: Format, O: Operation<T>, const PLAIN: bool>(p: &mut Planes, args: &Args, mask: u32, imm: u64) {
    let mode = Mode {
        round: if PLAIN { Round::Near } else { Round::from_imm(imm) },
        ieee: imm & IEEE != 0,
        second: imm & SECOND_NAN != 0,
    };
    let mut v = [[T::ZERO; LANES]; 3];
    for (i, lanes) in v.iter_mut().enumerate().take(O::SOURCES) {
        *lanes = T::load(p, args.src[i]);
        if !PLAIN {
            modify(lanes, imm, i as u32);
        }
    }
    let mut out = [T::ZERO; LANES];
    for l in 0..LANES {
        out[l] = O::unsealed(v[0][l], v[1][l], v[2][l], mode);
    }
    if O::UNSEALED {
        // To choose a NaN takes longer than the operation, and few results are one.
        let mut any = 0;
        for l in 0..LANES {
            any |= u32::from(out[l].is_nan());
        }
        if any != 0 {
            for l in 0..LANES {
                out[l] = seal(out[l], v[0][l], v[1][l], v[2][l]);
            }
        }
    }
    if !PLAIN {
        finish(&mut out, if O::FLUSH == Flush::Sources { imm & !FLUSH_OUT } else { imm });
    }
    T::store(p, args.dst[0], mask, &out);
}

/// Applies the modifiers of a source, and flushes denormals.
#[inline(always)]
pub fn modify<T: Format>(lanes: &mut [T; LANES], imm: u64, source: u32) {
    if imm >> (ABS + source) & 1 == 1 {
        *lanes = lanes.map(T::magnitude);
    }
    if imm >> (NEG + source) & 1 == 1 {
        *lanes = lanes.map(T::negated);
    }
    if imm & FLUSH_IN != 0 {
        *lanes = lanes.map(T::flushed);
    }
}

/// Flushes denormal results, and applies the modifiers of the result.
#[inline(always)]
pub fn finish<T: Format>(lanes: &mut [T; LANES], imm: u64) {
    if imm & FLUSH_OUT != 0 {
        *lanes = lanes.map(T::flushed);
    }
    let omod = imm >> OMOD & 3;
    if omod != 0 {
        for v in lanes.iter_mut() {
            let half = T::ONE.div(T::TWO, Round::Near);
            let by = [T::ONE, T::TWO, T::TWO.mul(T::TWO, Round::Near), half][omod as usize];
            let r = seal(v.mul(by, Round::Near), *v, T::ZERO, T::ZERO).flushed();
            *v = if r == T::ZERO { T::ZERO } else { r };
        }
    }
    if imm & CLAMP != 0 {
        let zero = imm & DX10 != 0;
        *lanes = lanes.map(|v| clamped(v, zero));
    }
}

#[inline(always)]
fn clamped<T: Format>(v: T, zero: bool) -> T {
    if v.is_nan() {
        return if zero { T::ZERO } else { v };
    }
    let v = if v > T::ZERO { v } else { T::ZERO };
    if v > T::ONE { T::ONE } else { v }
}

/// Declares operations on all formats.
macro_rules! operations {
    ($($(#[$m:meta])* $name:ident: $n:literal ($a:ident, $b:ident, $c:ident, $mode:ident)
        $(flush $flush:ident)? $body:block)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl<T: $crate::amd::float::Format> $crate::amd::float::Operation<T> for $name {
            const SOURCES: usize = $n;
            $(const FLUSH: $crate::amd::float::Flush = $crate::amd::float::Flush::$flush;)?
            #[inline(always)]
            #[allow(unused_variables, reason = "one signature for one to three operands")]
            fn of($a: T, $b: T, $c: T, $mode: $crate::amd::float::Mode) -> T { $body }
        }
    )* };
}
pub(crate) use operations;

/// Declares operations on all formats whose NaN is that of [`seal`].
macro_rules! sealed {
    ($($(#[$m:meta])* $name:ident: $n:literal ($a:ident, $b:ident, $c:ident, $mode:ident)
        $body:block)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl<T: Format> Operation<T> for $name {
            const SOURCES: usize = $n;
            const UNSEALED: bool = true;
            #[inline(always)]
            fn of(a: T, b: T, c: T, mode: Mode) -> T { seal(Self::unsealed(a, b, c, mode), a, b, c) }
            #[inline(always)]
            #[allow(unused_variables, reason = "one signature for one to three operands")]
            fn unsealed($a: T, $b: T, $c: T, $mode: Mode) -> T { $body }
        }
    )* };
}

sealed! {
    /// `v_add_f32`
    Add: 2 (a, b, c, mode) { a.add(b, mode.round) }
    /// `v_sub_f32`
    Sub: 2 (a, b, c, mode) { a.add(b.negated(), mode.round) }
    /// `v_subrev_f32`
    SubRev: 2 (a, b, c, mode) { b.add(a.negated(), mode.round) }
    /// `v_mul_f32`
    Mul: 2 (a, b, c, mode) { a.mul(b, mode.round) }
    /// `v_fma_f32`
    Fma: 3 (a, b, c, mode) { a.fma(b, c, mode.round) }
    /// `v_mad_f16`: the product is rounded, too.
    Mad: 3 (a, b, c, mode) { a.mul(b, mode.round).add(c, mode.round) }
}

operations! {
    /// `v_mul_legacy_f32`, `v_mul_dx9_zero_f32`: 0 times anything is +0.
    MulZero: 2 (a, b, c, mode) {
        if a == T::ZERO || b == T::ZERO { T::ZERO } else { seal(a.mul(b, mode.round), a, b, c) } }
    /// `v_fma_legacy_f32`, `v_fma_dx9_zero_f32`
    FmaZero: 3 (a, b, c, mode) {
        if a == T::ZERO || b == T::ZERO { if c.is_nan() { c.quiet() } else { c } } else {
            seal(a.fma(b, c, mode.round), a, b, c) } }
    /// `v_mad_f32`, which never has denormals.
    MadFlush: 3 (a, b, c, mode) flush Always {
        seal(a.mul(b, mode.round).flushed().add(c, mode.round), a, b, c) }
    /// `v_mad_legacy_f32`
    MadZero: 3 (a, b, c, mode) flush Always {
        if a == T::ZERO || b == T::ZERO { if c.is_nan() { c.quiet() } else { c } } else {
            seal(a.mul(b, mode.round).flushed().add(c, mode.round), a, b, c) } }
}
