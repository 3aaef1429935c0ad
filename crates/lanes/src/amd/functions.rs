//! Functions of AMD's processors: rounding to integers, reciprocals, roots, exponentials, angles, and the
//! steps of a division.
//!
//! # Invariants
//! Functions of binary32 flush denormals, whatever the mode ("1ULP accuracy, denormals are flushed" in the
//! guides). Results are within one unit in the last place.

use super::convert::source;
use super::float::{Format, operations};
use super::signature::{Signature, Width};
use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};

operations! {
    /// `v_trunc_f32`
    Trunc: 1 (a, b, c, mode) { integral(a, f64::trunc) }
    /// `v_ceil_f32`
    Ceil: 1 (a, b, c, mode) { integral(a, f64::ceil) }
    /// `v_floor_f32`
    Floor: 1 (a, b, c, mode) { integral(a, f64::floor) }
    /// `v_rndne_f32`
    Rndne: 1 (a, b, c, mode) { integral(a, f64::round_ties_even) }
}

/// An integral value; the sign of a zero is that of the operand.
#[inline(always)]
fn integral<T: Format>(a: T, f: impl Fn(f64) -> f64) -> T {
    let r = T::from64(f(a.to64()), crate::round::Round::Near);
    if a.is_nan() { a.quiet() } else { r }
}

/// `v_cmp_class_f32`: whether the value is of a class whose bit the second source has.
pub struct Class<T>(std::marker::PhantomData<T>);
impl<T: Format> LaneOp for Class<T> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        let v = source::<T>(p, args, 0);
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
