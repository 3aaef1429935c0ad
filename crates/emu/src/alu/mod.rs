//! Data operations: what an instruction that only computes does to a warp's registers.
//!
//! [`select`] looks at an instruction once, when its function is decoded, and gives a function that does its work on all
//! lanes ([`Run`]) with the types in which it wants its operands. The decoder binds operands to planes; running is then one
//! call through a pointer.
//!
//! The contract between the two sides:
//! - The *leaves* of an instruction are its operands flattened in source order (`d|p` is two, `{a, b}` is two). Those of the
//!   first operand are destinations, [`Args::dst`] in order; the others are sources, [`Args::src`] in order. [`AluOp::src`]
//!   may name fewer than there are: trailing constants that [`select`] itself has looked at (the mode of a `prmt`) go
//!   into [`AluOp::imm`]. So does the table of a `lop3`, which is no leaf.
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

#![allow(
    clippy::needless_range_loop,
    reason = "lanes of several arrays by number: the shape that becomes vectors"
)]

mod approx;
mod bits;
mod compare;
mod cvt;
mod float;
pub mod fp8;
pub mod half;
mod half_ops;
mod int;
mod lane;
mod mov;
pub mod round;
mod soft;
mod video;

use prlx_isa::ptx::Op;
use prlx_isa::view::{Function, Inst, Operand, Type};

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
    let _ = function;
    let x = Asked { inst, level, ty: inst.form.types.last().copied().unwrap_or_default() };
    let Some(op) = inst.form.op else {
        return Err("the operation is not in the table of PTX operations".to_owned());
    };
    let chosen = match op {
        Op::Mov => mov::select(&x),
        Op::Setp | Op::Set | Op::Selp | Op::Slct | Op::Testp => compare::select(op, &x),
        Op::Cvt => cvt::select(&x),
        Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Cnot
        | Op::Shl
        | Op::Shr
        | Op::Shf
        | Op::Lop3
        | Op::Prmt => bits::select(op, &x),
        Op::Popc | Op::Clz | Op::Brev | Op::Bfind | Op::Fns | Op::Bfe | Op::Bfi | Op::Bmsk | Op::Szext => {
            bits::select(op, &x)
        }
        Op::Addc | Op::Subc | Op::Madc | Op::Mul24 | Op::Mad24 | Op::Sad | Op::Rem | Op::Dp4a | Op::Dp2a => {
            int::select(op, &x)
        }
        Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Div | Op::Abs | Op::Neg | Op::Min | Op::Max
            if !x.is_float() =>
        {
            int::select(op, &x)
        }
        Op::Add
        | Op::Sub
        | Op::Mul
        | Op::Fma
        | Op::Abs
        | Op::Neg
        | Op::Min
        | Op::Max
        | Op::Ex2
        | Op::Tanh
            if x.is_half() =>
        {
            half_ops::select(op, &x)
        }
        Op::Add | Op::Sub | Op::Mul | Op::Mad | Op::Fma | Op::Div | Op::Abs | Op::Neg | Op::Min | Op::Max => {
            float::select(op, &x)
        }
        Op::Rcp | Op::Sqrt | Op::Rsqrt | Op::Sin | Op::Cos | Op::Lg2 | Op::Ex2 | Op::Tanh | Op::Copysign => {
            float::select(op, &x)
        }
        _ => video::select(op, &x),
    }?;
    let (dst, src) = leaves(inst);
    if dst < chosen.dst.len() || src < chosen.src.len() {
        return Err(format!(
            "it has {dst} results and {src} sources, not {} and {}",
            chosen.dst.len(),
            chosen.src.len()
        ));
    }
    Ok(chosen)
}

/// How many leaves the operands have: destinations, sources.
fn leaves(inst: &Inst) -> (usize, usize) {
    fn of(o: &Operand) -> usize {
        match o {
            Operand::Vector(v) | Operand::List(v) => v.iter().map(of).sum(),
            Operand::Pair(a, b) => of(a) + of(b),
            _ => 1,
        }
    }
    (inst.operands.first().map_or(0, of), inst.operands.iter().skip(1).map(of).sum())
}

/// What the families' `select`s look at.
struct Asked<'a> {
    inst: &'a Inst,
    level: Level,
    /// The last type written: the type of the operation, or of the source.
    ty: Type,
}

impl Asked<'_> {
    fn has(&self, modifier: &str) -> bool {
        self.inst.form.has(modifier)
    }
    fn is_float(&self) -> bool {
        use Type::{Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64};
        matches!(self.ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F32x2 | F64)
    }
    fn is_half(&self) -> bool {
        matches!(self.ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2)
    }
    /// Refuses modifiers other than these: one that is not understood must not be dropped.
    fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.inst.form.mods.iter().find(|m| !known.contains(&m.as_str())) {
            Some(m) => Err(format!("modifier `.{m}` is not implemented here")),
            None => Ok(()),
        }
    }
    /// An operation of one result.
    fn op(&self, run: Option<Run>, dst: Type, src: &[Type], imm: u64) -> Result<AluOp, String> {
        match run {
            Some(run) => Ok(AluOp { run, dst: vec![dst], src: src.to_vec(), imm }),
            None => Err(self.untyped()),
        }
    }
    /// The refusal of a type.
    fn untyped(&self) -> String {
        let types: Vec<String> =
            self.inst.form.types.iter().map(|t| format!(".{t:?}").to_lowercase()).collect();
        let later = ["e2m1", "e2m3", "e3m2", "ue8m0", "f32x2"];
        let why = if types.iter().any(|t| later.iter().any(|l| t.contains(l))) {
            ", which are for sm_100 and later"
        } else {
            ""
        };
        format!("it is not implemented for the types `{}`{why}", types.concat())
    }
}

/// The entry for a type: `run!(level, ty; U32 | B32 => Add<u32>, …)`.
macro_rules! run {
    ($level:expr, $ty:expr; $($($p:ident)|+ => $body:ty),* $(,)?) => {
        match $ty { $($(prlx_isa::view::Type::$p)|+ => Some($crate::alu::lane::pick::<$body>($level)),)* _ => None }
    };
}
use run;
