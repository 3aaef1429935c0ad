//! Dot products of AMD's processors.
//!
//! # Invariants
//! - Products of elements are exact. A sum of integers wraps, or is clamped once at the end.
//! - A sum of floating-point values is rounded after each product, the accumulator first and low elements
//!   before high ones.

use super::float::{Binary16, CLAMP, Format, NEG, finish, modify, seal};
use super::packed::{HIGH, LOW, NEG_HIGH};
use super::signature::{Signature, Width};
use crate::fp8::Float8;
use crate::half::{Bf16, Half};
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes, V32};
use crate::round::Round;

/// Integer elements of `BITS` bits. [`SIGNED_A`] and [`SIGNED_B`] say how they are extended.
pub struct DotInt<const BITS: u32>;
/// Elements of the first source are signed.
pub const SIGNED_A: u64 = 1 << 32;
/// Elements of the second source are signed.
pub const SIGNED_B: u64 = 1 << 33;
/// The sum is signed, for `clamp`.
pub const SIGNED: u64 = 1 << 34;

#[inline(always)]
fn element(v: u32, at: u32, bits: u32, signed: bool) -> i64 {
    let up = v << (32 - bits - at);
    if signed { i64::from(up as i32 >> (32 - bits)) } else { i64::from(up >> (32 - bits)) }
}

impl<const BITS: u32> LaneOp for DotInt<BITS> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b, mut c) = (p.get32(args.src[0]), p.get32(args.src[1]), p.get32(args.src[2]));
        let flag = |bit: u64| args.imm & bit != 0;
        for l in 0..LANES {
            let signed = flag(SIGNED);
            let mut sum = if signed { i64::from(c.0[l] as i32) } else { i64::from(c.0[l]) };
            for i in 0..32 / BITS {
                // `op_sel` of pairs of 16 bits.
                let place = |source: u32| {
                    let select = if i == 0 { LOW } else { HIGH } + source;
                    if BITS == 16 { (args.imm >> select & 1) as u32 * 16 } else { i * BITS }
                };
                let x = element(a.0[l], place(0), BITS, flag(SIGNED_A));
                sum += x * element(b.0[l], place(1), BITS, flag(SIGNED_B));
            }
            let clamped = if signed {
                sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX))
            } else {
                sum.clamp(0, i64::from(u32::MAX))
            };
            c.0[l] = if flag(CLAMP) { clamped as u32 } else { sum as u32 };
        }
        p.put32(args.dst[0], mask, c);
    }
}
impl<const BITS: u32> Signature for DotInt<BITS> {
    const RESULTS: &'static [Width] = &[Width::Word];
    const SOURCES: &'static [Width] = &[Width::Word; 3];
}

/// An element of 16 bits, as binary32.
pub trait Element {
    /// The value of the bits.
    fn value(bits: u16) -> f32;
}
impl Element for Binary16 {
    #[inline(always)]
    fn value(bits: u16) -> f32 {
        Binary16::from_bits(bits).0
    }
}
impl Element for Bf16 {
    #[inline(always)]
    fn value(bits: u16) -> f32 {
        Bf16::widen(bits)
    }
}

/// `v_dot2_f32_f16`: pairs of 16 bits, summed in binary32.
pub struct Dot2<E>(std::marker::PhantomData<E>);
impl<E: Element> LaneOp for Dot2<E> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b) = (p.get32(args.src[0]), p.get32(args.src[1]));
        let mut sum = p.get32(args.src[2]).0.map(f32::from_bits);
        modify(&mut sum, args.imm & !(3 << NEG), 2);
        let round = Round::from_imm(args.imm);
        for (select, negate) in [(LOW, NEG), (HIGH, NEG_HIGH)] {
            let part = |v: &V32, source: u32| {
                let by = (args.imm >> (select + source) & 1) as u32 * 16;
                let mut lanes = v.0.map(|v| E::value((v >> by) as u16));
                if args.imm >> (negate + source) & 1 == 1 {
                    lanes = lanes.map(|v| v.negated());
                }
                lanes
            };
            let (x, y) = (part(&a, 0), part(&b, 1));
            for l in 0..LANES {
                sum[l] = seal(x[l].fma(y[l], sum[l], round), x[l], y[l], sum[l]);
            }
        }
        finish(&mut sum, args.imm);
        p.put32(args.dst[0], mask, V32(sum.map(f32::to_bits)));
    }
}
impl<E: Element> Signature for Dot2<E> {
    const RESULTS: &'static [Width] = &[Width::Word];
    const SOURCES: &'static [Width] = &[Width::Word; 3];
}

/// `v_dot4_f32_fp8_bf8`: four bytes, summed in binary32.
pub struct Dot4<A, B>(std::marker::PhantomData<(A, B)>);
impl<A: Float8, B: Float8> LaneOp for Dot4<A, B> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let (a, b) = (p.get32(args.src[0]), p.get32(args.src[1]));
        let mut sum = p.get32(args.src[2]).0.map(f32::from_bits);
        modify(&mut sum, args.imm, 2);
        let round = Round::from_imm(args.imm);
        for by in [0, 8, 16, 24] {
            for l in 0..LANES {
                let (x, y) = (A::value((a.0[l] >> by) as u8), B::value((b.0[l] >> by) as u8));
                sum[l] = seal(x.fma(y, sum[l], round), x, y, sum[l]);
            }
        }
        finish(&mut sum, args.imm);
        p.put32(args.dst[0], mask, V32(sum.map(f32::to_bits)));
    }
}
impl<A: Float8, B: Float8> Signature for Dot4<A, B> {
    const RESULTS: &'static [Width] = &[Width::Word];
    const SOURCES: &'static [Width] = &[Width::Word; 3];
}
