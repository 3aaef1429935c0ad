//! Conversions between number formats (PTX ISA, Data Movement and Conversion Instructions: `cvt`).
//!
//! # Invariants
//! - Every conversion rounds once, in the mode of its [`Args::imm`].
//! - Floating point to integer clamps to the range of the integer. A NaN becomes 0, or `1 << (width - 1)`
//!   where the source is binary64 or the destination has 64 bits.
//! - [`SAT`] to a floating-point format clamps to \[0, 1\]; a NaN becomes +0.
//! - NaNs follow an H200. From or to binary64, the sign and the upper payload stay and the NaN becomes quiet.
//!   From bfloat16 to binary32 all bits stay. Everything else returns the canonical NaN.
//!
//! # Limitations
//! Stochastic rounding (`.rs`) and the format `s2f6`, which only sm_100 and later have, are missing.

use crate::float::{Float, NAN32};
use crate::half::{Bf16, F16, Half};
use crate::int::Int;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};
use crate::round::{Round, int_to_f32, int_to_f64, is_tiny, narrow};
use crate::value::LaneValue;

/// Subnormal binary32 operands and results become zeros of their sign.
pub const FTZ: u64 = 1 << 3;
/// Clamps to [0, 1].
pub const SAT: u64 = 1 << 4;
/// Negative results become 0.
pub const RELU: u64 = 1 << 5;
/// Infinite results become the largest finite ones.
pub const FINITE: u64 = 1 << 6;
/// Bits 8 to 10: rounding to an integer, 0 none, 1 nearest even, 2 towards zero, 3 down, 4 up.
pub const INTEGER: u32 = 8;

/// Between integers: sign or zero extension, or the low bits.
pub struct IntInt<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Int, B: Int> LaneOp for IntInt<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = A::load(p, args.src[0]);
        let mut out = [B::default(); LANES];
        for l in 0..LANES {
            out[l] = B::low(a[l].ext() as u64);
        }
        B::store(p, args.dst[0], mask, &out);
    }
}

/// Likewise, clamped to the range of the integer type numbered [`Args::imm`] in `RANGES`; `B` is unsigned,
/// of its class.
pub struct IntSat<A, B>(std::marker::PhantomData<(A, B)>);
/// Least value, greatest value and bits of the integer types `u8`, `s8`, `u16`, `s16`, `u32`, `s32`, `u64`,
/// `s64`.
const RANGES: [(i128, i128, u64); 8] = [
    (0, u8::MAX as i128, 0xff),
    (i8::MIN as i128, i8::MAX as i128, 0xff),
    (0, u16::MAX as i128, 0xffff),
    (i16::MIN as i128, i16::MAX as i128, 0xffff),
    (0, u32::MAX as i128, u32::MAX as u64),
    (i32::MIN as i128, i32::MAX as i128, u32::MAX as u64),
    (0, u64::MAX as i128, u64::MAX),
    (i64::MIN as i128, i64::MAX as i128, u64::MAX),
];
impl<A: Int, B: Int> LaneOp for IntSat<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (least, greatest, bits) = RANGES[(args.imm & 7) as usize];
        let a = A::load(p, args.src[0]);
        let mut out = [B::default(); LANES];
        for l in 0..LANES {
            out[l] = B::low(a[l].wide().clamp(least, greatest) as u64 & bits);
        }
        B::store(p, args.dst[0], mask, &out);
    }
}

/// A floating-point lane type.
pub trait Real: LaneValue {
    /// The value in binary64; a NaN keeps its payload.
    fn to64(self) -> f64;
    /// Its value; of a NaN, any NaN.
    fn number(self) -> f64;
    /// Rounded; with `FINITE` in `flags` never infinite. NaN is the format's canonical one.
    fn from64(x: f64, mode: Round, finite: bool) -> Self;
    /// Writes the NaN that comes of a binary64 one.
    #[inline(always)]
    fn store_nan(_p: &mut Planes, _i: u16, _mask: u32, _bits: u64) {}
    /// Whether `.ftz` means it.
    const IS_F32: bool = false;
    /// Whether it is binary64.
    const WIDE: bool = false;
}

/// To an integral value: 1 nearest even, 2 towards zero, 3 down, 4 up, else as it is.
#[inline(always)]
fn integral(x: f64, how: u64) -> f64 {
    match how {
        1 => x.round_ties_even(),
        2 => x.trunc(),
        3 => x.floor(),
        4 => x.ceil(),
        _ => x,
    }
}

/// A NaN of binary64 in binary32: sign and upper payload, quiet.
#[inline(always)]
fn nan_narrow(bits: u64) -> u32 {
    (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x003f_ffff
}

/// A NaN of binary32 in binary64: sign and payload, quiet.
#[inline(always)]
fn nan_widen(bits: u32) -> u64 {
    u64::from(bits & 0x8000_0000) << 32 | 0x7ff8 << 48 | u64::from(bits & 0x003f_ffff) << 29
}

/// Exact; NaNs too.
#[inline(always)]
fn widen(x: f32) -> f64 {
    let bits = x.to_bits();
    let v = f64::from(x).to_bits();
    f64::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan_widen(bits) } else { v })
}

impl Real for f32 {
    #[inline(always)]
    fn store_nan(p: &mut Planes, i: u16, mask: u32, bits: u64) {
        p.put32(i, mask, V32([nan_narrow(bits); LANES]));
    }
    const IS_F32: bool = true;
    #[inline(always)]
    fn to64(self) -> f64 {
        widen(self)
    }
    #[inline(always)]
    fn number(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn from64(x: f64, mode: Round, finite: bool) -> f32 {
        let r = narrow(x, mode).canon();
        if finite && r.is_infinite() { f32::MAX.copysign(r) } else { r }
    }
}
impl Real for f64 {
    const WIDE: bool = true;
    #[inline(always)]
    fn to64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn number(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from64(x: f64, _: Round, _: bool) -> f64 {
        x.seal(x, x, x)
    }
}
macro_rules! real_halves { ($($t:ident)*) => { $(
    impl Real for $t {
        #[inline(always)]
        fn store_nan(p: &mut Planes, i: u16, mask: u32, bits: u64) {
            let b = nan_narrow(bits);
            let cut = if <$t as Half>::WIDE { b >> 16 & 0x7fff } else { 0x7e00 | b >> 13 & 0x3ff };
            p.put32(i, mask, V32([b >> 16 & 0x8000 | cut; LANES]));
        }
        #[inline(always)]
        fn to64(self) -> f64 { widen(self.0) }
        #[inline(always)]
        fn number(self) -> f64 { f64::from(self.0) }
        #[inline(always)]
        fn from64(x: f64, mode: Round, finite: bool) -> $t {
            // Exact again when stored.
            $t($t::widen(finite_half::<$t>($t::round(narrow(x, Round::Odd), mode), finite)))
        }
    }
)* } }
real_halves! { F16 Bf16 }

/// With `.satfinite`, infinity becomes the largest finite value.
#[inline(always)]
fn finite_half<H: Half>(h: u16, finite: bool) -> u16 {
    if finite && h & 0x7fff == H::INF { h - 1 } else { h }
}

/// Floating-point to integer.
pub struct FloatInt<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Real, B: Int> LaneOp for FloatInt<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = A::load(p, args.src[0]);
        let mut v = [0f64; LANES];
        for l in 0..LANES {
            v[l] = a[l].number();
        }
        if A::IS_F32 && args.imm & FTZ != 0 {
            for x in &mut v {
                *x = if x.abs() < f64::from(f32::MIN_POSITIVE) { 0.0 } else { *x };
            }
        }
        match args.imm >> INTEGER & 7 {
            1 => v.iter_mut().for_each(|x| *x = x.round_ties_even()),
            3 => v.iter_mut().for_each(|x| *x = x.floor()),
            4 => v.iter_mut().for_each(|x| *x = x.ceil()),
            _ => v.iter_mut().for_each(|x| *x = x.trunc()),
        }
        let nan = if A::WIDE || B::BITS == 64 { B::low(1 << (B::BITS - 1)) } else { B::low(0) };
        let mut out = [B::default(); LANES];
        for l in 0..LANES {
            let r = if B::BITS == 64 {
                B::low(if B::SIGNED { v[l] as i64 as u64 } else { v[l] as u64 })
            } else {
                short(v[l])
            };
            out[l] = if v[l].is_nan() { nan } else { r };
        }
        B::store(p, args.dst[0], mask, &out);
    }
}

/// An integral value to an integer of at most 32 bits, clamped, in operations that make vectors.
#[inline(always)]
fn short<B: Int>(x: f64) -> B {
    let (least, greatest) = if B::SIGNED {
        (-((1i64 << (B::BITS - 1)) as f64), ((1i64 << (B::BITS - 1)) - 1) as f64)
    } else {
        (0.0, ((1i64 << (B::BITS % 64)) - 1) as f64)
    };
    let x = if x > least { x } else { least };
    let x = if x < greatest { x } else { greatest };
    // Adding 1.5 * 2^52 puts an integer into the low bits.
    B::low((x + 6_755_399_441_055_744.0).to_bits())
}

/// Integer to binary32 or binary64, to nearest.
pub struct IntReal<A, B>(std::marker::PhantomData<(A, B)>);
macro_rules! int_real { ($($a:ty),* => $b:ty) => { $(
    impl LaneOp for IntReal<$a, $b> {
        #[inline(always)]
        fn run(p: &mut Planes, args: &Args, mask: u32) {
            let a = <$a>::load(p, args.src[0]);
            let mut out = [0.0; LANES];
            for l in 0..LANES { out[l] = a[l] as $b; }
            <$b>::store(p, args.dst[0], mask, &out);
        }
    }
)* } }
int_real! { u8, i8, u16, i16, u32, i32, u64, i64 => f32 }
int_real! { u8, i8, u16, i16, u32, i32, u64, i64 => f64 }

/// Integer to any format, in any mode.
pub struct IntFloat<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Int, B: FromInt> LaneOp for IntFloat<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = A::load(p, args.src[0]);
        let mode = Round::from_imm(args.imm);
        let mut out = [B::default(); LANES];
        for l in 0..LANES {
            out[l] = B::from_int(a[l].wide(), mode, args.imm & SAT != 0);
        }
        B::store(p, args.dst[0], mask, &out);
    }
}
/// What [`IntFloat`] makes.
pub trait FromInt: LaneValue {
    /// The integer rounded once to the format.
    fn from_int(v: i128, mode: Round, sat: bool) -> Self;
}
/// `.sat` of an integer.
#[inline(always)]
fn clamped(v: i128, sat: bool) -> i128 {
    if sat { v.clamp(0, 1) } else { v }
}
impl FromInt for f32 {
    #[inline(always)]
    fn from_int(v: i128, mode: Round, sat: bool) -> f32 {
        int_to_f32(clamped(v, sat), mode)
    }
}
impl FromInt for f64 {
    #[inline(always)]
    fn from_int(v: i128, mode: Round, sat: bool) -> f64 {
        int_to_f64(clamped(v, sat), mode)
    }
}
macro_rules! from_int { ($($t:ident)*) => { $(
    impl FromInt for $t {
        #[inline(always)]
        fn from_int(v: i128, mode: Round, sat: bool) -> $t {
            $t($t::widen($t::round(int_to_f32(clamped(v, sat), Round::Odd), mode)))
        }
    }
)* } }
from_int! { F16 Bf16 }

/// Between floating-point formats, with every modifier.
pub struct FloatFloat<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Real, B: Real> LaneOp for FloatFloat<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = A::load(p, args.src[0]);
        let mut out = [B::default(); LANES];
        for l in 0..LANES {
            out[l] = float_float::<A, B>(a[l], args.imm);
        }
        B::store(p, args.dst[0], mask, &out);
        if A::WIDE && args.imm & SAT == 0 {
            // Storing made the canonical NaN of the others.
            for l in 0..LANES {
                let bits = a[l].to64().to_bits();
                if bits & (u64::MAX >> 1) > 0x7ff << 52 {
                    B::store_nan(p, args.dst[0], mask & 1 << l, bits);
                }
            }
        }
    }
}

#[inline(always)]
fn float_float<A: Real, B: Real>(a: A, imm: u64) -> B {
    let mut x = a.to64();
    // `.ftz` means binary32 operands, but does nothing on the way to 16 bits.
    if A::IS_F32 && (B::IS_F32 || B::WIDE) && imm & FTZ != 0 {
        if x.abs() < f64::from(f32::MIN_POSITIVE) {
            x *= 0.0;
        } else if x.is_nan() {
            x = f64::from_bits(nan_widen(NAN32));
        }
    }
    x = integral(x, imm >> INTEGER & 7);
    if imm & SAT != 0 {
        // NaN fails the comparison and gives +0, as does -0.
        x = if x > 0.0 { x.min(1.0) } else { 0.0 };
    }
    if imm & RELU != 0 && x <= 0.0 {
        x = 0.0;
    }
    let r = B::from64(x, Round::from_imm(imm), imm & FINITE != 0);
    if B::IS_F32 && imm & FTZ != 0 && is_tiny(x, Round::from_imm(imm)) {
        return B::from64(x * 0.0, Round::Near, false);
    }
    r
}

/// `r`, or `x`'s NaN.
#[inline(always)]
fn narrow_nan(x: f64, r: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & (u64::MAX >> 1) > 0x7ff << 52 { nan_narrow(bits) } else { r.to_bits() })
}

/// Between formats, to nearest, without modifiers: where the two have a direct way.
pub struct Direct<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Half> LaneOp for Direct<A, f32> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = A::load(p, args.src[0]);
        let mut out = [0f32; LANES];
        for l in 0..LANES {
            let x = a[l].get();
            // bfloat16 is a binary32 cut short: a shift.
            out[l] = if A::WIDE { x } else { x.canon() };
        }
        f32::store(p, args.dst[0], mask, &out);
    }
}
/// binary32 to a 16-bit format.
pub struct ToHalf<B>(std::marker::PhantomData<B>);
impl<B: Half> LaneOp for ToHalf<B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = p.get32(args.src[0]);
        let mut out = V32([0; LANES]);
        for l in 0..LANES {
            out.0[l] = u32::from(B::near(f32::from_bits(a.0[l])));
        }
        p.put32(args.dst[0], mask, out);
    }
}
impl LaneOp for Direct<f32, f64> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = f32::load(p, args.src[0]);
        let mut out = [0f64; LANES];
        for l in 0..LANES {
            out[l] = widen(a[l]);
        }
        f64::store(p, args.dst[0], mask, &out);
    }
}
impl LaneOp for Direct<f64, f32> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = f64::load(p, args.src[0]);
        let mut out = [0f32; LANES];
        for l in 0..LANES {
            out[l] = narrow_nan(a[l], a[l] as f32);
        }
        f32::store(p, args.dst[0], mask, &out);
    }
}

/// Two binary32 to a packed pair: the first source is the upper half.
pub struct Pack<B>(std::marker::PhantomData<B>);
impl<B: Half + Real> LaneOp for Pack<B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (hi, lo) = (f32::load(p, args.src[0]), f32::load(p, args.src[1]));
        let mut out = [0u32; LANES];
        if args.imm == 0 {
            for l in 0..LANES {
                out[l] = u32::from(B::near(hi[l])) << 16 | u32::from(B::near(lo[l]));
            }
        } else {
            let one = |x: f32| u32::from(B::near(float_float::<f32, B>(x, args.imm).get()));
            for l in 0..LANES {
                out[l] = one(hi[l]) << 16 | one(lo[l]);
            }
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// binary32 to the 19 bits of tf32: mode 0 to nearest even, 1 towards zero, 7 to nearest with ties away
/// (`.rna`).
pub struct ToTf32;
impl LaneOp for ToTf32 {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = u32::load(p, args.src[0]);
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = tf32(a[l], args.imm);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}
#[inline(always)]
fn tf32(b: u32, imm: u64) -> u32 {
    let magnitude = b & 0x7fff_ffff;
    if imm & 7 == 7 {
        // As an H200 does it, by integers: a NaN is cut (and may become infinite), `.satfinite` steps down.
        let r = if magnitude >= 0x7f80_0000 { b } else { b.wrapping_add(0x1000) } & !0x1fff;
        return if imm & FINITE != 0 && r & 0x7f80_0000 == 0x7f80_0000 { r - 0x2000 } else { r };
    }
    if magnitude > 0x7f80_0000 {
        return 0x7fff_e000;
    }
    if imm & RELU != 0 && b >> 31 == 1 {
        return 0;
    }
    if magnitude == 0x7f80_0000 {
        return if imm & FINITE != 0 { (b & 0x8000_0000) | 0x7f7f_e000 } else { b };
    }
    let half = match imm & 7 {
        0 => 0xfff + (b >> 13 & 1),
        _ => 0,
    };
    let r = b.wrapping_add(half) & !0x1fff;
    if imm & FINITE != 0 && r & 0x7fff_ffff == 0x7f80_0000 { (b & 0x8000_0000) | 0x7f7f_e000 } else { r }
}

/// `cvt.pack`: [`Args::imm`] is the bits of a result, and in bit 8 its sign; the third operand goes above the
/// two.
pub struct PackInts;
impl LaneOp for PackInts {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (width, keep) = (args.imm as u32 & 31, !(u32::MAX << (args.imm & 31)));
        let (least, greatest) = match args.imm >> 8 & 1 {
            0 => (0, keep as i32),
            _ => (!(keep >> 1) as i32, (keep >> 1) as i32),
        };
        let (a, b) = (i32::load(p, args.src[0]), i32::load(p, args.src[1]));
        let c = if width < 16 { u32::load(p, args.src[2]) } else { [0; LANES] };
        let one = |v: i32| v.clamp(least, greatest) as u32 & keep;
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = one(b[l]) | one(a[l]) << width | (u64::from(c[l]) << (2 * width)) as u32;
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}
