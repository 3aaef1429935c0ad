//! Conversions between number formats of AMD's processors.
//!
//! # Invariants
//! - A value that an integer type does not have becomes the nearest one that it has; a NaN becomes 0.
//! - A NaN keeps its sign and its upper bits, and becomes quiet.

use super::float::{Binary16, Format, IEEE, SECOND_NAN, finish, modify};
use super::signature::{Signature, Value, Width};
use crate::fp8::Float8;
use crate::half::{Bf16, Half};
use crate::int::Int;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32, V64};
use crate::round::Round;
use crate::value::LaneValue;

/// Rounds towards zero.
pub const TRUNC: u8 = 0;
/// Rounds towards negative infinity.
pub const FLOOR: u8 = 1;
/// To nearest; halves up.
pub const NEAREST: u8 = 2;

/// The sources of a step, with their modifiers.
#[inline(always)]
pub(crate) fn source<T: Format>(p: &Planes, args: &Args, i: usize) -> [T; LANES] {
    let mut v = T::load(p, args.src[i]);
    if args.imm & !(IEEE | SECOND_NAN) != 0 {
        modify(&mut v, args.imm, i as u32);
    }
    v
}

/// Floating-point to integer, rounded by `HOW`.
pub struct ToInt<T, I, const HOW: u8>(std::marker::PhantomData<(T, I)>);
impl<T: Format, I: Int + Value, const HOW: u8> LaneOp for ToInt<T, I, HOW> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = source::<T>(p, args, 0);
        let mut out = [I::default(); LANES];
        for l in 0..LANES {
            out[l] = integer(match HOW {
                TRUNC => v[l].to64().trunc(),
                FLOOR => v[l].to64().floor(),
                _ => (v[l].to64() + 0.5).floor(),
            });
        }
        I::store(p, args.dst[0], mask, &out);
    }
}
impl<T: Format, I: Int + Value, const HOW: u8> Signature for ToInt<T, I, HOW> {
    const RESULTS: &'static [Width] = &[I::WIDTH];
    const SOURCES: &'static [Width] = &[T::WIDTH];
}

/// An integral value as an integer of at most 32 bits.
#[inline(always)]
pub(crate) fn integer<I: Int>(x: f64) -> I {
    let (least, greatest) = if I::SIGNED {
        (-((1i64 << (I::BITS - 1)) as f64), ((1i64 << (I::BITS - 1)) - 1) as f64)
    } else {
        (0.0, ((1i64 << (I::BITS & 63)) - 1) as f64)
    };
    let number = !x.is_nan();
    let x = if x > least { x } else { least };
    let x = if x < greatest { x } else { greatest };
    // Adding 1.5 * 2^52 puts an integer into the low bits.
    I::low(if number { (x + 6_755_399_441_055_744.0).to_bits() } else { 0 })
}

/// Integer to floating-point.
pub struct FromInt<I, T>(std::marker::PhantomData<(I, T)>);
impl<I: Int + Value, T: Format> LaneOp for FromInt<I, T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = I::load(p, args.src[0]);
        let round = Round::from_imm(args.imm);
        let mut out = [T::ZERO; LANES];
        for l in 0..LANES {
            out[l] = T::from64(v[l].ext() as f64, round);
        }
        finish(&mut out, args.imm);
        T::store(p, args.dst[0], mask, &out);
    }
}
impl<I: Int + Value, T: Format> Signature for FromInt<I, T> {
    const RESULTS: &'static [Width] = &[T::WIDTH];
    const SOURCES: &'static [Width] = &[I::WIDTH];
}

/// Between floating-point formats.
pub struct Convert<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Format, B: Format> LaneOp for Convert<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = source::<A>(p, args, 0);
        let round = Round::from_imm(args.imm);
        let mut out = [B::ZERO; LANES];
        for l in 0..LANES {
            out[l] = convert(v[l], round);
        }
        finish(&mut out, args.imm);
        B::store(p, args.dst[0], mask, &out);
    }
}
impl<A: Format, B: Format> Signature for Convert<A, B> {
    const RESULTS: &'static [Width] = &[B::WIDTH];
    const SOURCES: &'static [Width] = &[A::WIDTH];
}

/// One value in another format.
#[inline(always)]
pub(crate) fn convert<A: Format, B: Format>(v: A, round: Round) -> B {
    if v.is_nan() { B::from_nan64(v.nan64()) } else { B::from64(v.to64(), round) }
}

/// A result goes into the high half of a register.
pub const UPPER: u64 = 1 << 17;
/// First of the five bits that number the first bit of a source's byte.
pub const BYTE: u32 = 20;

macro_rules! steps {
    ($($(#[$m:meta])* $name:ident $(<$g:ident: $bound:path>)? [$($w:ident),*] -> $r:ident
        ($p:ident, $args:ident, $mask:ident) $body:block)*) => { $(
        $(#[$m])*
        pub struct $name $(<$g>(std::marker::PhantomData<$g>))?;
        impl $(<$g: $bound>)? LaneOp for $name $(<$g>)? {
            #[inline(always)]
            fn run($p: &mut Planes, $args: &Args, $mask: u32) $body
        }
        impl $(<$g: $bound>)? Signature for $name $(<$g>)? {
            const RESULTS: &'static [Width] = &[Width::$r];
            const SOURCES: &'static [Width] = &[$(Width::$w),*];
        }
    )* };
}

/// A value in [-1, 1] as a fraction of `most`, to nearest even.
#[inline(always)]
fn normalized<T: Format>(v: T, least: f64, most: f64) -> u32 {
    let x = v.to64() * most;
    let x = if x > least { x } else { least };
    let x = if x < most { x } else { most };
    if v.is_nan() { 0 } else { x.round_ties_even() as i32 as u32 & 0xffff }
}

/// Two results as the halves of a word.
#[inline(always)]
fn halves(p: &mut Planes, args: &Args, mask: u32, lanes: impl Fn(usize) -> [u32; 2]) {
    let mut out = V32([0; LANES]);
    for l in 0..LANES {
        let [low, high] = lanes(l);
        out.0[l] = low | high << 16;
    }
    p.put32(args.dst[0], mask, out);
}

steps! {
    /// `v_cvt_f32_ubyte0` and its like: a byte, which [`BYTE`] places.
    FromByte[Word] -> Word(p, args, mask) {
        let v = p.get32(args.src[0]);
        let mut out = [0f32; LANES];
        for l in 0..LANES {
            out[l] = (v.0[l] >> (args.imm >> BYTE & 31) & 0xff) as f32;
        }
        finish(&mut out, args.imm);
        f32::store(p, args.dst[0], mask, &out);
    }
    /// `v_cvt_off_f32_i4`: a signed number of four bits, in sixteenths.
    OffsetI4[Word] -> Word(p, args, mask) {
        let v = p.get32(args.src[0]);
        let mut out = [0f32; LANES];
        for l in 0..LANES {
            out[l] = ((v.0[l] << 28) as i32 >> 28) as f32 / 16.0;
        }
        finish(&mut out, args.imm);
        f32::store(p, args.dst[0], mask, &out);
    }
    /// `v_cvt_pkrtz_f16_f32`, `v_cvt_pk_f16_f32`: a pair of binary16.
    PackHalf[Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<f32>(p, args, i));
        let round = Round::from_imm(args.imm);
        let one = |lanes: [f32; LANES]| {
            let mut r = lanes.map(|v| convert::<f32, Binary16>(v, round));
            finish(&mut r, args.imm);
            r.map(|v| u32::from(v.to_bits()))
        };
        let [low, high] = v.map(one);
        halves(p, args, mask, |l| [low[l], high[l]]);
    }
    /// `s_cvt_hi_f32_f16`: the high half.
    FromHigh[Word] -> Word(p, args, mask) {
        let v = p.get32(args.src[0]);
        let half = |v: u32| Binary16::from_bits((v >> 16) as u16);
        let mut out = v.0.map(|v| convert::<Binary16, f32>(half(v), Round::Near));
        finish(&mut out, args.imm);
        f32::store(p, args.dst[0], mask, &out);
    }
    /// `v_cvt_pk_bf16_f32`: a pair of bfloat16, to nearest even.
    PackBf16[Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<f32>(p, args, i));
        let one = |v: f32| {
            let nan = (v.to_bits() >> 16) | 0x40;
            if Format::is_nan(v) { nan } else { u32::from(Bf16::near(v)) }
        };
        halves(p, args, mask, |l| [one(v[0][l]), one(v[1][l])]);
    }
    /// `v_cvt_f32_bf16`
    FromBf16[Half] -> Word(p, args, mask) {
        let v = p.get32(args.src[0]);
        let mut out = v.0.map(|v| f32::from_bits(v << 16));
        modify(&mut out, args.imm, 0);
        out = out.map(|v| if Format::is_nan(v) { v.quiet() } else { v });
        finish(&mut out, args.imm);
        f32::store(p, args.dst[0], mask, &out);
    }
    /// `v_cvt_pk_i16_f32`
    PackIntI16[Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<f32>(p, args, i));
        let one = |v: f32| u32::from(integer::<i16>(v.to64().trunc()) as u16);
        halves(p, args, mask, |l| [one(v[0][l]), one(v[1][l])]);
    }
    /// `v_cvt_pk_u16_f32`
    PackIntU16[Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<f32>(p, args, i));
        let one = |v: f32| u32::from(integer::<u16>(v.to64().trunc()));
        halves(p, args, mask, |l| [one(v[0][l]), one(v[1][l])]);
    }
    /// `v_cvt_pk_u8_f32`: a byte of the third source, rounded as the mode says.
    PackU8[Word, Word, Word] -> Word(p, args, mask) {
        let v = source::<f32>(p, args, 0);
        let (at, mut out) = (p.get32(args.src[1]), p.get32(args.src[2]));
        for l in 0..LANES {
            let by = 8 * (at.0[l] & 3);
            let x = rounded(v[l].to64(), Round::from_imm(args.imm));
            out.0[l] = out.0[l] & !(0xff << by) | u32::from(integer::<u8>(x)) << by;
        }
        p.put32(args.dst[0], mask, out);
    }
    /// `v_cvt_pknorm_i16_f32`: fractions of 32767.
    PackNormI<T: Format>[Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<T>(p, args, i));
        halves(p, args, mask, |l| [0, 1].map(|i: usize| normalized(v[i][l], -32767.0, 32767.0)));
    }
    /// `v_cvt_pknorm_u16_f32`: fractions of 65535.
    PackNormU<T: Format>[Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<T>(p, args, i));
        halves(p, args, mask, |l| [0, 1].map(|i: usize| normalized(v[i][l], 0.0, 65535.0)));
    }
    /// `v_cvt_norm_i16_f16`
    NormI[Half] -> Half(p, args, mask) {
        let v = source::<Binary16>(p, args, 0);
        halves(p, args, mask, |l| [normalized(v[l], -32767.0, 32767.0), 0]);
    }
    /// `v_cvt_norm_u16_f16`
    NormU[Half] -> Half(p, args, mask) {
        let v = source::<Binary16>(p, args, 0);
        halves(p, args, mask, |l| [normalized(v[l], 0.0, 65535.0), 0]);
    }
    /// `v_cvt_f32_fp8`, `v_cvt_f32_bf8`: a byte, which [`BYTE`] places.
    From8<F: Float8>[Word] -> Word(p, args, mask) {
        let v = p.get32(args.src[0]);
        let mut out = v.0.map(|v| F::value((v >> (args.imm >> BYTE & 31)) as u8));
        finish(&mut out, args.imm);
        f32::store(p, args.dst[0], mask, &out);
    }
    /// `v_cvt_pk_f32_fp8`: the two low bytes.
    Pair8<F: Float8>[Word] -> Double(p, args, mask) {
        let v = p.get32(args.src[0]);
        let part = |by: u32| {
            let mut r = v.0.map(|v| F::value((v >> by) as u8));
            finish(&mut r, args.imm);
            r.map(f32::to_bits)
        };
        let (low, high) = (part(0), part(8));
        let mut out = V64([0; LANES]);
        for l in 0..LANES {
            out.0[l] = u64::from(low[l]) | u64::from(high[l]) << 32;
        }
        p.put64(args.dst[0], mask, out);
    }
    /// `v_cvt_pk_fp8_f32`: two bytes as a half of the third source; the high one with [`UPPER`].
    Pack8<F: Float8>[Word, Word, Word] -> Word(p, args, mask) {
        let v = [0, 1].map(|i| source::<f32>(p, args, i));
        let mut out = p.get32(args.src[2]);
        for l in 0..LANES {
            let bits = F::pattern(v[0][l]) | F::pattern(v[1][l]) << 8;
            let old = out.0[l];
            let upper = args.imm & UPPER != 0;
            out.0[l] = if upper { bits << 16 | old & 0xffff } else { bits | old & 0xffff_0000 };
        }
        p.put32(args.dst[0], mask, out);
    }
}

/// An integral value, in a rounding mode.
#[inline(always)]
fn rounded(x: f64, round: Round) -> f64 {
    match round {
        Round::Near => x.round_ties_even(),
        Round::Down => x.floor(),
        Round::Up => x.ceil(),
        Round::Zero | Round::Odd => x.trunc(),
    }
}
