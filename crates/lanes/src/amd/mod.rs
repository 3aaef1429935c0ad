//! Operations of AMD's processors that PTX does not have, or has with another meaning (AMD's ISA guides for
//! CDNA 3, RDNA 3 and RDNA 4, chapter "Instructions").
//!
//! Each operation carries its [`Signature`], so that a decoder needs its name only. [`entry`](crate::entry)
//! compiles it, as any other operation.
//!
//! # Invariants
//! - The order of the sources is the order of the instruction's text.
//! - Operations on floating-point values take the mode and all modifiers in [`Args::imm`](crate::Args::imm)
//!   ([`float`]).
//!
//! # Limitations
//! - The default NaN is `0xffc00000`, as in the guides' examples. If several operands are NaN, the result is
//!   the first one of them, made quiet. The guides leave both open.

mod signature;

pub mod convert;
pub mod dot;
pub mod float;
pub mod functions;
pub mod int;
pub mod minmax;
pub mod packed;
pub mod part;

pub use signature::{Signature, Uniform, Width};
