//! Data operations: what an instruction that only computes does to a warp's registers.
//!
//! [`select`] looks at an instruction once, when its function is decoded, and gives a function that does its work on all
//! lanes ([`Run`]) with the types in which it wants its operands. The decoder binds operands to planes; running is then one
//! call through a pointer.
//!
//! The contract between the two sides:
//! - The *leaves* of an instruction are its operands flattened in source order (`d|p` is two, `{a, b}` is two). Those of the
//!   first operand are destinations, [`Args::dst`] in order; the others are sources, [`Args::src`] in order. [`AluOp::src`]
//!   may name fewer than there are: trailing constants that [`select`] itself has looked at (the table of `lop3`, the mode
//!   of a `prmt`) go into [`AluOp::imm`].
//! - An operand is bound to a plane of the class of the *type asked for* (`u32` up to 32 bits, `u64`, two `u64`s, mask),
//!   whatever width the register was declared with. Constants come in that type too (a decimal such as `1.0` asked for as
//!   `F32` arrives as binary32). `!p` and `_` need no care: the decoder binds a temporary.
//! - Sources: bits above the type's width are not defined and must be ignored. Destinations: bits above the type's width
//!   are written as 0; the decoder widens by sign where the register is wider than a signed type.
//! - `Run` gets the mask of lanes that execute; it may compute all lanes but writes only those ([`Planes::put32`] …), and
//!   never panics whatever the inactive lanes hold. The same plane may be source and destination.
//! - Reads of special registers, symbols' addresses, clocks, memory and other lanes are not data operations: the decoder
//!   binds them or does them itself. `cvta`, `isspacep`, `mov` of an address likewise.
//! - `.cc` operations use [`Planes::carry`].
//!
//! Results: integers bit-exact; IEEE operations correctly rounded in every mode; approximations within their documented
//! error. An instruction that has no meaning here is refused with a sentence that says what is missing.

use prlx_isa::view::{Function, Inst, Type};

use crate::planes::Planes;

/// Does an operation on the lanes of the mask.
pub type Run = fn(&mut Planes, &Args, u32);

/// Which planes an operation works on. Which of the three kinds of plane an index means follows from the type asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Args {
    /// Destinations.
    pub dst: [u16; 4],
    /// Sources.
    pub src: [u16; 4],
    /// What [`select`] put aside.
    pub imm: u64,
}

/// An operation, chosen.
#[derive(Clone, Debug)]
pub struct AluOp {
    /// Its work.
    pub run: Run,
    /// Types of the destinations; at most four.
    pub dst: Vec<Type>,
    /// Types of the sources; at most four.
    pub src: Vec<Type>,
    /// Goes to [`Args::imm`].
    pub imm: u64,
}

/// What the host's processor can do; `Run`s are compiled once for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// What every processor of the architecture has.
    Base,
    /// x86-64 with AVX2, FMA, BMI2, F16C.
    Avx2,
    /// And with AVX-512 F, BW, DQ, VL.
    Avx512,
}

impl Level {
    /// The best that this processor can do.
    pub fn detect() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("bmi2") && has!("f16c") {
                if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
                    return Level::Avx512;
                }
                return Level::Avx2;
            }
        }
        Level::Base
    }
}

/// Chooses the operation of `inst`.
///
/// # Errors
/// When there is none: what is missing, as a sentence without the instruction's own text.
pub fn select(inst: &Inst, function: &Function, level: Level) -> Result<AluOp, String> {
    let _ = (function, level);
    Err(format!("`{}` is not implemented", inst.form.text))
}
