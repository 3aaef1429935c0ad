//! Conversions between number formats of AMD's processors.
//!
//! # Invariants
//! - A value that an integer type does not have becomes the nearest one that it has; a NaN becomes 0.
//! - A NaN keeps its sign and its upper bits, and becomes quiet.

use super::float::{Format, IEEE, SECOND_NAN, finish, modify};
use super::signature::{Signature, Value, Width};
use crate::int::Int;
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::round::Round;

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
