//! Selects `mov`: copies, packing and unpacking.

use prlx_isa::view::{Operand, Type};
use prlx_lanes::bits::Pred;
use prlx_lanes::pack::*;
use prlx_lanes::{LaneFn, entry};

use super::selector::{AluOp, Selector, by_type};
use crate::error::{EmuError, unsupported};

/// Chooses a `mov`.
pub(super) fn select(x: &Selector) -> Result<AluOp, EmuError> {
    x.only(&[])?;
    let (t, l) = (x.ty, x.simd);
    let vector = |i: usize| match x.inst.operands.get(i) {
        Some(Operand::Vector(v)) => Some(v.len()),
        _ => None,
    };
    let (parts, unpack) = match (vector(0), vector(1)) {
        (None, None) => return plain(x),
        (Some(n), None) => (n, true),
        (None, Some(n)) => (n, false),
        (Some(_), Some(_)) => return Err(unsupported("`mov` between two vectors is not implemented")),
    };
    let bits = match t {
        Type::B16 => 16,
        Type::B32 => 32,
        Type::B64 => 64,
        Type::B128 => 128,
        _ => return Err(x.untyped()),
    };
    let part = match bits / parts.max(1) {
        8 => Type::B8,
        16 => Type::B16,
        32 => Type::B32,
        64 => Type::B64,
        _ => return Err(unsupported(format!("`mov` of {parts} parts of {bits} bits is not implemented"))),
    };
    macro_rules! either {
        ($pack:ident $unpack:ident) => {
            if unpack { entry::<$unpack>(l) } else { entry::<$pack>(l) }
        };
    }
    let run: LaneFn = match (bits, parts) {
        (16, 2) => either!(Pack2x8 Unpack2x8),
        (32, 4) => either!(Pack4x8 Unpack4x8),
        (32, 2) => either!(Pack2x16 Unpack2x16),
        (64, 4) => either!(Pack4x16 Unpack4x16),
        (64, 2) => either!(Pack2x32 Unpack2x32),
        (128, 2 | 4) => either!(Pack128 Unpack128),
        _ => return Err(unsupported(format!("`mov` of {parts} parts of {bits} bits is not implemented"))),
    };
    let (whole, parts) = (vec![t], vec![part; parts]);
    let imm = parts.len() as u64;
    Ok(if unpack {
        AluOp { run, dst: parts, src: whole, imm }
    } else {
        AluOp { run, dst: whole, src: parts, imm }
    })
}

fn plain(x: &Selector) -> Result<AluOp, EmuError> {
    if x.ty == Type::Pred {
        // The fifth of its operations: a copy.
        return x.op(Some(entry::<Pred>(x.simd)), x.ty, &[x.ty], 4);
    }
    let run = by_type!(x.simd, x.ty; B8 | U8 | S8 => Mov<u8>, B16 | U16 | S16 | F16 | Bf16 => Mov<u16>,
        B32 | U32 | S32 | F32 => Mov<u32>,
        F16x2 | Bf16x2 => Mov<u32>, B64 | U64 | S64 | F64 => Mov<u64>, B128 => Mov128);
    x.op(run, x.ty, &[x.ty], 0)
}
