//! Selects the operation of an instruction that only computes: no memory, no other lanes, no clocks.
//!
//! [`select`] looks at an instruction once, when its function is decoded. It returns the operation of
//! `prlx-lanes` that does the work on all lanes, and the types in which the operation wants its operands. The
//! decoder then binds the operands to planes.
//!
//! The contract between the selection and the decoder:
//! - The *leaves* of an instruction are its operands, flattened in source order (`d|p` is two, `{a, b}` is
//!   two). The leaves of the first operand are destinations and go to [`Args::dst`](prlx_lanes::Args::dst) in
//!   order. The others are sources and go to [`Args::src`](prlx_lanes::Args::src). [`AluOp::src`] may name
//!   fewer sources than there are leaves: [`select`] moves trailing constants (the mode of a `prmt`) to
//!   [`AluOp::imm`]. The table of a `lop3` goes there too and is no leaf.
//! - An operand is bound to a plane of the class of the *type asked for* (32 bits, 64 bits, 128 bits,
//!   predicate), whatever width the register was declared with. Constants have that type too: `1.0` asked for
//!   as `F32` is a binary32. For `!p` and `_` the decoder binds a temporary.
//! - The decoder extends a result by sign where the register is wider than a signed type.
//! - The decoder itself handles special registers, addresses of symbols, `cvta`, `isspacep` and `mov` of an
//!   address.
//!
//! # Invariants
//! An unknown modifier or type is refused with a sentence that says what is missing. It is never ignored.

mod bits;
mod compare;
mod convert;
mod float;
mod half;
mod int;
mod mov;
mod selector;
mod video;

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Inst, Operand, Type};
use prlx_lanes::Simd;

pub use selector::AluOp;
use selector::Selector;

use crate::error::{EmuError, unsupported};

/// Selects the operation of `inst`, compiled for the instruction set `simd`.
///
/// # Errors
/// When there is none: what is missing, as a sentence without the instruction's own text.
pub fn select(inst: &Inst, simd: Simd) -> Result<AluOp, EmuError> {
    let x = Selector { inst, simd, ty: opcode(inst).types.last().copied().unwrap_or_default() };
    let Some(op) = opcode(inst).op else {
        return Err(unsupported("the operation is not in the table of PTX operations"));
    };
    let chosen = match op {
        Op::Mov => mov::select(&x),
        Op::Setp | Op::Set | Op::Selp | Op::Slct | Op::Testp => compare::select(op, &x),
        Op::Cvt => convert::select(&x),
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
        Op::Add | Op::Sub | Op::Fma if x.is_half() && opcode(inst).types.first() == Some(&Type::F32) => {
            float::mixed(op, &x)
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
            half::select(op, &x)
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
        let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        return Err(unsupported(format!(
            "it has {} and {}, not {} and {}",
            count(dst, "result"),
            count(src, "source"),
            chosen.dst.len(),
            chosen.src.len()
        )));
    }
    Ok(chosen)
}

/// The number of leaves among the destinations and among the sources.
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
