//! The formats e4m3, e5m2, e2m3, e3m2, e2m1 and ue8m0, in pairs (PTX ISA, `cvt`; Alternate Floating-Point
//! Data Formats).
//!
//! # Invariants
//! A conversion to one of the first five rounds once, to nearest even, and saturates to the largest finite
//! value: PTX has no other form. A NaN is `0x7f` in e4m3 and e5m2; the others have none, and it becomes their
//! largest value. A conversion from these formats is exact.

use crate::half::{Bf16, F16, Half};
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::value::LaneValue;

/// Negative results become 0.
pub const RELU: u64 = 1;

/// A format of at most 8 bits.
pub trait Byte {
    /// The bit of the sign.
    const SIGN: u32 = 0x80;
    /// The pattern of a NaN, if there is one.
    const NAN: Option<u32> = Some(0x7f);
    /// Bits of each of a pair.
    const WIDTH: u32 = 8;
    /// Bits of the fraction.
    const FRACTION: u32;
    /// Bias of the exponent.
    const BIAS: u32;
    /// The largest finite value's pattern.
    const MAX: u32;
    /// As binary16; exact, NaN is `0x7fff`.
    fn to_f16(b: u8) -> u16;
}
/// 4 bits of exponent, 3 of fraction, no infinity.
pub struct E4m3;
impl Byte for E4m3 {
    const FRACTION: u32 = 3;
    const BIAS: u32 = 7;
    const MAX: u32 = 0x7e;
    #[inline(always)]
    fn to_f16(b: u8) -> u16 {
        // Read as binary16 its exponent is 8 too small.
        let magnitude = F16::near(F16::widen(u16::from(b & 0x7f) << 7) * 256.0);
        if b & 0x7f == 0x7f { 0x7fff } else { magnitude | u16::from(b & 0x80) << 8 }
    }
}
/// 5 bits of exponent, 2 of fraction: the upper half of a binary16.
pub struct E5m2;
impl Byte for E5m2 {
    const FRACTION: u32 = 2;
    const BIAS: u32 = 15;
    const MAX: u32 = 0x7b;
    #[inline(always)]
    fn to_f16(b: u8) -> u16 {
        if b & 0x7f > 0x7c { 0x7fff } else { u16::from(b) << 8 }
    }
}

/// A format without infinities and NaNs, of fewer than 8 bits.
macro_rules! small {
    ($($(#[$m:meta])* $name:ident: $sign:literal, $width:literal, $fraction:literal, $bias:literal;)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl Byte for $name {
            const SIGN: u32 = $sign;
            const NAN: Option<u32> = None;
            const WIDTH: u32 = $width;
            const FRACTION: u32 = $fraction;
            const BIAS: u32 = $bias;
            const MAX: u32 = $sign - 1;
            #[inline(always)]
            fn to_f16(b: u8) -> u16 {
                // Read as binary16 its exponent is too small by the difference of the biases.
                let magnitude = u16::from(b) & ($sign - 1);
                let scale = f32::from_bits((127 + 15 - $bias) << 23);
                let near = F16::near(F16::widen(magnitude << (10 - $fraction)) * scale);
                near | (u16::from(b) & $sign) * (0x8000 / $sign)
            }
        }
    )* };
}
small! {
    /// 2 bits of exponent, 3 of fraction.
    E2m3: 0x20, 8, 3, 1;
    /// 3 bits of exponent, 2 of fraction.
    E3m2: 0x20, 8, 2, 3;
    /// 2 bits of exponent, 1 of fraction.
    E2m1: 0x08, 4, 1, 1;
}

/// To nearest even, saturating.
#[inline(always)]
fn encode<B: Byte>(x: f32, relu: bool) -> u32 {
    let bits = x.to_bits();
    let m = bits & 0x7fff_ffff;
    let shift = 23 - B::FRACTION;
    let normal = (m.wrapping_add((1 << (shift - 1)) - 1).wrapping_add(m >> shift & 1) >> shift)
        .wrapping_sub((127 - B::BIAS) << B::FRACTION);
    // Adding a power of two puts the format's last bit where binary32 rounds.
    let magic = (127 + 24 - B::BIAS - B::FRACTION) << 23;
    let subnormal = (f32::from_bits(m) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let r = if m < (128 - B::BIAS) << 23 { subnormal } else { normal };
    let r = r.min(B::MAX);
    let sign = (bits >> 31) * B::SIGN;
    let r = if m > 0x7f80_0000 { B::NAN.unwrap_or(B::MAX) } else { r | sign };
    if relu && r & B::SIGN != 0 { 0 } else { r }
}

/// Where a pair of numbers comes from.
pub trait Pair {
    /// The upper ones, the lower ones.
    fn pairs(p: &Planes, args: &Args) -> [[f32; LANES]; 2];
}
impl Pair for f32 {
    #[inline(always)]
    fn pairs(p: &Planes, args: &Args) -> [[f32; LANES]; 2] {
        [f32::load(p, args.src[0]), f32::load(p, args.src[1])]
    }
}
macro_rules! packed_pairs { ($($h:ty)*) => { $(
    impl Pair for $h {
        #[inline(always)]
        fn pairs(p: &Planes, args: &Args) -> [[f32; LANES]; 2] {
            let both = u32::load(p, args.src[0]);
            [16, 0].map(|by| both.map(|v| <$h>::widen((v >> by) as u16)))
        }
    }
)* } }
packed_pairs! { F16 Bf16 }

/// A pair of numbers to two bytes.
pub struct From<B, P>(std::marker::PhantomData<(B, P)>);
impl<B: Byte, P: Pair> LaneOp for From<B, P> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [upper, lower] = P::pairs(p, args);
        let relu = args.imm & RELU != 0;
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = encode::<B>(upper[l], relu) << B::WIDTH | encode::<B>(lower[l], relu);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// Two bytes to a pair of a 16-bit format, which has all their values.
pub struct To<B, H>(std::marker::PhantomData<(B, H)>);
impl<B: Byte, H: Half> LaneOp for To<B, H> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = u32::load(p, args.src[0]);
        let relu = args.imm & RELU != 0;
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            let one = |b: u32| {
                let h = u32::from(H::near(F16::widen(B::to_f16(b as u8))));
                if relu && h & 0x8000 != 0 { 0 } else { h }
            };
            let low = a[l] & ((1 << B::WIDTH) - 1);
            out[l] = one(a[l] >> B::WIDTH) << 16 | one(low);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// Positive infinity rounds up to the greatest finite value, `.satfinite`.
pub const FINITE: u64 = 2;
/// Rounds up, `.rp`, instead of to zero.
pub const UP: u64 = 4;

/// A pair of numbers to two exponents, ue8m0: powers of two without a sign. `0xff` is NaN.
pub struct FromScale<P>(std::marker::PhantomData<P>);
impl<P: Pair> LaneOp for FromScale<P> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let [upper, lower] = P::pairs(p, args);
        let (finite, up) = (args.imm & FINITE != 0, args.imm & UP != 0);
        let one = |x: f32| {
            let m = x.to_bits() & 0x7fff_ffff;
            let exponent = m >> 23;
            // The least one is 2^-127, which is subnormal in binary32.
            let exact = if exponent == 0 { m <= 0x0040_0000 } else { m & 0x007f_ffff == 0 };
            match m {
                0x7f80_0001.. => 0xff,
                0x7f80_0000 => 0xff - u32::from(finite),
                _ => (exponent + u32::from(up && !exact)).min(0xff - u32::from(finite)),
            }
        };
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = one(upper[l]) << 8 | one(lower[l]);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// Two exponents, ue8m0, to a pair of bfloat16.
pub struct ToScale;
impl LaneOp for ToScale {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = u32::load(p, args.src[0]);
        let one = |e: u32| match e & 0xff {
            0 => 0x40,
            0xff => 0x7fff,
            e => e << 7,
        };
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = one(a[l] >> 8) << 16 | one(a[l]);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// An 8-bit format of AMD's: the two of OCP, and the two of CDNA 3, which have no infinity and no -0 (CDNA 3
/// ISA guide, "FP8 and BF8").
pub trait Float8 {
    /// Bits of the fraction.
    const FRACTION: u32;
    /// Bias of the exponent.
    const BIAS: u32;
    /// The pattern that a value beyond the greatest one becomes, without its sign.
    const OVERFLOW: u32;
    /// The greatest finite pattern.
    const MAX: u32;
    /// Whether `0x80` is the only NaN.
    const FNUZ: bool;
    /// The value of a pattern; exact.
    #[inline(always)]
    fn value(b: u8) -> f32 {
        let magnitude = u32::from(b & 0x7f);
        let sign = u32::from(b & 0x80) << 24;
        let nan = if Self::FNUZ { b == 0x80 } else { magnitude > Self::OVERFLOW.min(0x7e) };
        let infinite = !Self::FNUZ && Self::FRACTION == 2 && magnitude == 0x7c;
        // With the exponent of binary32 it is too small by the difference of the biases.
        let scale = f32::from_bits((127 + 127 - Self::BIAS) << 23);
        let finite = f32::from_bits(magnitude << (23 - Self::FRACTION)) * scale;
        let bits = if infinite { 0x7f80_0000 } else { finite.to_bits() };
        f32::from_bits(if nan { sign | 0x7fc0_0000 } else { sign | bits })
    }
    /// The nearest pattern of a value. One that is too great becomes a NaN or an infinity.
    #[inline(always)]
    fn pattern(x: f32) -> u32 {
        let bits = x.to_bits();
        let m = bits & 0x7fff_ffff;
        let sign = bits >> 24 & 0x80;
        let shift = 23 - Self::FRACTION;
        let normal = (m.wrapping_add((1 << (shift - 1)) - 1).wrapping_add(m >> shift & 1) >> shift)
            .wrapping_sub((127 - Self::BIAS) << Self::FRACTION);
        // Adding a power of two puts the format's last bit where binary32 rounds.
        let magic = (127 + 24 - Self::BIAS - Self::FRACTION) << 23;
        let subnormal = (f32::from_bits(m) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
        let r = if m < (128 - Self::BIAS) << 23 { subnormal } else { normal };
        let nan = if Self::FNUZ { 0x80 } else { sign | 0x7f };
        if m > 0x7f80_0000 {
            nan
        } else if r > Self::MAX || m == 0x7f80_0000 {
            if Self::FNUZ { 0x80 } else { sign | Self::OVERFLOW }
        } else if Self::FNUZ && r == 0 {
            0
        } else {
            sign | r
        }
    }
}
macro_rules! float8 {
    ($($(#[$m:meta])* $name:ident $fraction:literal $bias:literal $overflow:literal $max:literal
        $fnuz:literal;)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl Float8 for $name {
            const FRACTION: u32 = $fraction;
            const BIAS: u32 = $bias;
            const OVERFLOW: u32 = $overflow;
            const MAX: u32 = $max;
            const FNUZ: bool = $fnuz;
        }
    )* };
}
float8! {
    /// `fp8` of CDNA 4 and RDNA 4.
    Fp8 3 7 0x7f 0x7e false;
    /// `bf8` of CDNA 4 and RDNA 4.
    Bf8 2 15 0x7c 0x7b false;
    /// `fp8` of CDNA 3.
    Fp8Fnuz 3 8 0x80 0x7f true;
    /// `bf8` of CDNA 3.
    Bf8Fnuz 2 16 0x80 0x7f true;
}
