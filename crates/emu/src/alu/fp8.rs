//! The 8-bit formats e4m3 and e5m2, two at a time (PTX ISA, cvt; Alternate Floating-Point Data Formats).
//!
//! Holds: conversion rounds to nearest even, once, and saturates to the largest finite value (the only forms PTX has);
//! NaN is `0x7f`. The other way is exact.

use super::half::{Bf16, F16, Half};
use super::lane::{Body, Val};
use super::{Args, round};
use crate::planes::{LANES, Planes};

/// Negative results become 0.
pub const RELU: u64 = 1;

/// An 8-bit format.
pub trait Byte {
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
    let r = if m > 0x7f80_0000 { 0x7f } else { r | (bits >> 24 & 0x80) };
    if relu && r & 0x80 != 0 { 0 } else { r }
}

/// Two binary32 to two bytes; the first source is the upper.
pub struct FromF32<B>(std::marker::PhantomData<B>);
impl<B: Byte> Body for FromF32<B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (hi, lo) = (f32::load(p, args.src[0]), f32::load(p, args.src[1]));
        let relu = args.imm & RELU != 0;
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            out[l] = encode::<B>(hi[l], relu) << 8 | encode::<B>(lo[l], relu);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// A pair of 16-bit values to two bytes.
pub struct FromHalf<B, H>(std::marker::PhantomData<(B, H)>);
impl<B: Byte, H: Half> Body for FromHalf<B, H> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = u32::load(p, args.src[0]);
        let relu = args.imm & RELU != 0;
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            let one = |h: u32| encode::<B>(H::widen(h as u16), relu);
            out[l] = one(a[l] >> 16) << 8 | one(a[l]);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// Two bytes to a pair of binary16.
pub struct ToF16<B>(std::marker::PhantomData<B>);
impl<B: Byte> Body for ToF16<B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = u32::load(p, args.src[0]);
        let relu = args.imm & RELU != 0;
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            let one = |b: u32| {
                let h = u32::from(B::to_f16(b as u8));
                if relu && h & 0x8000 != 0 { 0 } else { h }
            };
            out[l] = one(a[l] >> 8) << 16 | one(a[l]);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}

/// Two bytes to a pair of bfloat16.
pub struct ToBf16<B>(std::marker::PhantomData<B>);
impl<B: Byte> Body for ToBf16<B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let a = u32::load(p, args.src[0]);
        let mut out = [0u32; LANES];
        for l in 0..LANES {
            let one = |b: u32| u32::from(Bf16::round(F16::widen(B::to_f16(b as u8)), round::Round::Near));
            out[l] = one(a[l] >> 8) << 16 | one(a[l]);
        }
        u32::store(p, args.dst[0], mask, &out);
    }
}
