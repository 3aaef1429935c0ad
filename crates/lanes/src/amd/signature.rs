//! The widths of an operation's operands, and the macro that declares operations with them.

use crate::op::{Args, LaneOp};
use crate::planes::{LANES, Planes};
use crate::value::LaneValue;

/// The plane that a value needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// The low 16 bits of a 32-bit plane.
    Half,
    /// A 32-bit plane.
    Word,
    /// A 64-bit plane.
    Double,
    /// A predicate plane.
    Mask,
}

/// The widths of an operation's results and sources.
pub trait Signature: LaneOp {
    /// Widths of the results.
    const RESULTS: &'static [Width];
    /// Widths of the sources.
    const SOURCES: &'static [Width];
    /// Runs the operation where each source has one value in all lanes, as scalar registers have.
    #[inline(always)]
    fn run_uniform(p: &mut Planes, args: &Args, mask: u32) {
        Self::run(p, args, mask);
    }
}

/// An operation of the scalar unit, whose sources have one value in all lanes. It computes one lane and
/// writes the result to all.
pub struct Uniform<O>(std::marker::PhantomData<O>);
impl<O: Signature> LaneOp for Uniform<O> {
    #[inline(always)]
    fn run(p: &mut Planes, args: &Args, mask: u32) {
        O::run_uniform(p, args, mask);
    }
}

/// A type of a source or result.
pub trait Value: LaneValue {
    /// The plane that a value of the type needs.
    const WIDTH: Width;
}
macro_rules! values {
    ($($t:ty: $w:ident;)*) => { $(impl Value for $t { const WIDTH: Width = Width::$w; })* };
}
values! { u8: Word; i8: Word; u16: Half; i16: Half; u32: Word; i32: Word; f32: Word; u64: Double; i64: Double;
f64: Double; bool: Mask; }

/// The results of an operation: one value or two.
pub trait Results: Copy + Default {
    /// The results of all lanes: an array for each value. An array of pairs would not become vector code.
    type Lanes;
    /// The planes that they need.
    const WIDTHS: &'static [Width];
    /// The same results in all lanes.
    fn splat(v: Self) -> Self::Lanes;
    /// Sets the results of a lane.
    fn set(lanes: &mut Self::Lanes, l: usize, v: Self);
    /// Writes all of them.
    fn store(p: &mut Planes, args: &Args, mask: u32, v: &Self::Lanes);
}
impl<T: Value> Results for T {
    type Lanes = [T; LANES];
    const WIDTHS: &'static [Width] = &[T::WIDTH];
    #[inline(always)]
    fn splat(v: T) -> [T; LANES] {
        [v; LANES]
    }
    #[inline(always)]
    fn set(lanes: &mut [T; LANES], l: usize, v: T) {
        lanes[l] = v;
    }
    #[inline(always)]
    fn store(p: &mut Planes, args: &Args, mask: u32, v: &[T; LANES]) {
        T::store(p, args.dst[0], mask, v);
    }
}
impl<A: Value, B: Value> Results for (A, B) {
    type Lanes = ([A; LANES], [B; LANES]);
    const WIDTHS: &'static [Width] = &[A::WIDTH, B::WIDTH];
    #[inline(always)]
    fn splat(v: (A, B)) -> Self::Lanes {
        ([v.0; LANES], [v.1; LANES])
    }
    #[inline(always)]
    fn set(lanes: &mut Self::Lanes, l: usize, v: (A, B)) {
        (lanes.0[l], lanes.1[l]) = v;
    }
    #[inline(always)]
    fn store(p: &mut Planes, args: &Args, mask: u32, v: &Self::Lanes) {
        A::store(p, args.dst[0], mask, &v.0);
        B::store(p, args.dst[1], mask, &v.1);
    }
}

/// Declares operations on one lane, with their signatures: `Name(a: u32, b: u32) -> u32 { … }`. `[imm]`
/// after the name names the constant of the step.
macro_rules! amd_ops {
    ($($(#[$m:meta])* $name:ident $([$imm:ident])? ($($a:ident: $t:ty),*) -> $r:ty $body:block)*) => { $(
        $(#[$m])*
        pub struct $name;
        impl $crate::op::LaneOp for $name {
            #[inline(always)]
            fn run(p: &mut $crate::planes::Planes, args: &$crate::op::Args, mask: u32) {
                $(let $imm = args.imm;)?
                let mut n = 0;
                $(let $a = <$t as $crate::value::LaneValue>::load(p, args.src[n]); n += 1;)*
                let _ = n;
                let mut out = <$r as $crate::amd::signature::Results>::splat(Default::default());
                for l in 0..$crate::planes::LANES {
                    $(let $a = $a[l];)*
                    <$r as $crate::amd::signature::Results>::set(&mut out, l, $body);
                }
                <$r as $crate::amd::signature::Results>::store(p, args, mask, &out);
            }
        }
        impl $crate::amd::Signature for $name {
            const RESULTS: &'static [$crate::amd::Width] = <$r as $crate::amd::signature::Results>::WIDTHS;
            const SOURCES: &'static [$crate::amd::Width] =
                &[$(<$t as $crate::amd::signature::Value>::WIDTH),*];
            #[inline(always)]
            fn run_uniform(p: &mut $crate::planes::Planes, args: &$crate::op::Args, mask: u32) {
                $(let $imm = args.imm;)?
                let mut n = 0;
                $(let $a = <$t as $crate::value::LaneValue>::first(p, args.src[n]); n += 1;)*
                let _ = n;
                let out = <$r as $crate::amd::signature::Results>::splat($body);
                <$r as $crate::amd::signature::Results>::store(p, args, mask, &out);
            }
        }
    )* };
}
pub(crate) use amd_ops;

/// Gives operations that exist already their signatures.
macro_rules! signatures {
    ($($name:ty: ($($t:ty),*) -> $r:ty;)*) => { $(
        impl $crate::amd::Signature for $name {
            const RESULTS: &'static [$crate::amd::Width] = <$r as $crate::amd::signature::Results>::WIDTHS;
            const SOURCES: &'static [$crate::amd::Width] =
                &[$(<$t as $crate::amd::signature::Value>::WIDTH),*];
        }
    )* };
}
pub(crate) use signatures;
