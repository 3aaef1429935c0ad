//! Selects arithmetic on binary16 and bfloat16.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::Type;
use prlx_lanes::half::{Bf16, F16};
use prlx_lanes::half_float::*;
use prlx_lanes::{LaneFn, entry};

use super::selector::{AluOp, Selector};
use crate::error::{EmuError, unsupported};

/// Chooses an operation on 16-bit formats.
pub(super) fn select(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    let t = x.ty;
    if opcode(x.inst).types.len() != 1 {
        return Err(x.untyped());
    }
    let extra: &[&str] = match op {
        Op::Fma => &["relu", "sat"],
        Op::Add | Op::Sub | Op::Mul => &["sat"],
        Op::Min | Op::Max => &["NaN", "xorsign", "abs"],
        Op::Ex2 | Op::Tanh => &["approx"],
        _ => &[],
    };
    let mut imm = 0;
    for m in &opcode(x.inst).mods {
        imm |= match m.as_str() {
            "rn" => 0,
            "ftz" if matches!(t, Type::Bf16 | Type::Bf16x2) && op != Op::Ex2 => {
                return Err(unsupported("modifier `.ftz` is not for bfloat16"));
            }
            "ftz" => FTZ,
            m if !extra.contains(&m) => {
                return Err(unsupported(format!("modifier `.{m}` is not implemented here")));
            }
            "sat" => SAT,
            "relu" => RELU,
            _ => 0,
        };
    }
    macro_rules! entry {
        ($op:ident) => {
            match t {
                Type::F16 => Some(entry::<One<$op, F16>>(x.simd)),
                Type::F16x2 => Some(entry::<Two<$op, F16>>(x.simd)),
                Type::Bf16 => Some(entry::<One<$op, Bf16>>(x.simd)),
                Type::Bf16x2 => Some(entry::<Two<$op, Bf16>>(x.simd)),
                _ => None,
            }
        };
    }
    let (run, n): (Option<LaneFn>, usize) = match op {
        Op::Add => (entry!(Add), 2),
        Op::Sub => (entry!(Sub), 2),
        Op::Mul => (entry!(Mul), 2),
        Op::Fma => (entry!(Fma), 3),
        Op::Neg => (entry!(Neg), 1),
        Op::Abs => (entry!(Abs), 1),
        Op::Ex2 => (entry!(Ex2), 1),
        Op::Tanh => (entry!(Tanh), 1),
        Op::Min => match (x.has("NaN"), x.has("xorsign")) {
            (false, false) => (entry!(Min), 2),
            (true, false) => (entry!(MinNan), 2),
            (false, true) => (entry!(MinXorSign), 2),
            (true, true) => (entry!(MinNanXorSign), 2),
        },
        Op::Max => match (x.has("NaN"), x.has("xorsign")) {
            (false, false) => (entry!(Max), 2),
            (true, false) => (entry!(MaxNan), 2),
            (false, true) => (entry!(MaxXorSign), 2),
            (true, true) => (entry!(MaxNanXorSign), 2),
        },
        _ => (None, 1),
    };
    if x.inst.operands.len() > n + 1 {
        return Err(unsupported(format!(
            "`{}` of {} operands is not implemented",
            op.mnemonic(),
            x.inst.operands.len() - 1
        )));
    }
    x.op(run, t, &[t; 3][..n], imm)
}
