//! Exact arithmetic on all lanes of a warp at once.
//!
//! The registers of a warp lie in [`Planes`]: one plane per register, with the values of all 32 lanes side by
//! side. An operation is a zero-sized type that implements [`LaneOp`]. [`entry`] compiles it once for each
//! vector instruction set ([`Simd`]) and returns a function ([`LaneFn`]) that runs it on the lanes of a mask.
//! The caller selects the operation once, when it decodes an instruction. To run it is then one call through
//! a pointer.
//!
//! # Invariants
//! - Integer operations are bit-exact. IEEE operations round once, in every rounding mode. Approximate
//!   operations stay within the error that the PTX ISA documents, and give the same bits on every host.
//! - An operation may compute all lanes, but it writes only the lanes of its mask. It never panics, whatever
//!   values the other lanes hold. The same plane may be source and destination.
//! - An operation ignores the bits of a source above the width of the source's type. It writes the bits of a
//!   destination above the width of the destination's type as 0.
//!
//! # Limitations
//! Planes have 32 lanes. The CPU device runs a warp of 64 lanes as two halves.

#![allow(clippy::needless_range_loop, reason = "loops that index several arrays by lane become vector code")]

pub mod amd;
pub mod approx;
pub mod bits;
pub mod compare;
pub mod convert;
pub mod float;
pub mod fp8;
pub mod half;
pub mod half_float;
pub mod int;
pub mod op;
pub mod pack;
pub mod planes;
pub mod round;
mod soft;
pub mod value;
pub mod video;

pub use op::{Args, LaneFn, LaneOp, Simd, entry};
pub use planes::{LANES, Planes, V32, V64};
