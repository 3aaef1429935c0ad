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
    /// The planes that they need.
    const WIDTHS: &'static [Width];
    /// Writes all of them.
    fn store(p: &mut Planes, args: &Args, mask: u32, v: &[Self; LANES]);
}
impl<T: Value> Results for T {
    const WIDTHS: &'static [Width] = &[T::WIDTH];
    #[inline(always)]
    fn store(p: &mut Planes, args: &Args, mask: u32, v: &[T; LANES]) {
        T::store(p, args.dst[0], mask, v);
    }
}
impl<A: Value, B: Value> Results for (A, B) {
    const WIDTHS: &'static [Width] = &[A::WIDTH, B::WIDTH];
    #[inline(always)]
    fn store(p: &mut Planes, args: &Args, mask: u32, v: &[(A, B); LANES]) {
        A::store(p, args.dst[0], mask, &v.map(|v| v.0));
        B::store(p, args.dst[1], mask, &v.map(|v| v.1));
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
                let mut out = [<$r>::default(); $crate::planes::LANES];
                for l in 0..$crate::planes::LANES {
                    $(let $a = $a[l];)*
                    out[l] = $body;
                }
                <$r as $crate::amd::signature::Results>::store(p, args, mask, &out);
            }
        }
        impl $crate::amd::Signature for $name {
            const RESULTS: &'static [$crate::amd::Width] = <$r as $crate::amd::signature::Results>::WIDTHS;
            const SOURCES: &'static [$crate::amd::Width] =
                &[$(<$t as $crate::amd::signature::Value>::WIDTH),*];
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
