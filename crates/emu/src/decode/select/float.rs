//! Selects arithmetic on binary32 and binary64.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::Type;
use prlx_lanes::float::*;
use prlx_lanes::half::{Bf16, F16};
use prlx_lanes::{LaneFn, entry};

use super::selector::{AluOp, Selector, by_type};
use crate::error::{EmuError, unsupported};

/// The rounding mode and flags as an [`Args::imm`]; `approx`, `full` and others must be in `extra`.
fn flags(x: &Selector, extra: &[&str]) -> Result<u64, EmuError> {
    let mut imm = 0;
    for m in &opcode(x.inst).mods {
        imm |= match m.as_str() {
            "rn" => 0,
            "rz" => 1,
            "rm" => 2,
            "rp" => 3,
            "ftz" => FTZ,
            "sat" => SAT,
            m if extra.contains(&m) => 0,
            m => return Err(unsupported(format!("modifier `.{m}` is not implemented here"))),
        };
    }
    Ok(imm)
}

/// The entry for a type and flags.
macro_rules! entry {
    ($x:expr, $imm:expr, $($t:ident => $op:ident<$r:ty>),*) => {
        match $x.ty {
            $(Type::$t => Some(match $imm {
                0 => entry::<Plain<$op, $r>>($x.simd),
                FTZ => entry::<Flush<$op, $r>>($x.simd),
                _ => entry::<Every<$op, $r>>($x.simd),
            }),)*
            _ => None,
        }
    };
}

/// Chooses an operation on binary32 whose operands but the last have 16 bits.
pub(super) fn mixed(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    let imm = flags(x, &[])?;
    if imm & FTZ != 0 {
        return Err(unsupported("modifier `.ftz` is not for operands of 16 bits"));
    }
    let t = x.ty;
    let (run, n) = match op {
        Op::Add => (by_type!(x.simd, t; F16 => Mixed<Add, F16>, Bf16 => Mixed<Add, Bf16>), 2),
        Op::Sub => (by_type!(x.simd, t; F16 => Mixed<Sub, F16>, Bf16 => Mixed<Sub, Bf16>), 2),
        Op::Fma => (by_type!(x.simd, t; F16 => Mixed<Fma, F16>, Bf16 => Mixed<Fma, Bf16>), 3),
        _ => (None, 0),
    };
    x.op(run, Type::F32, &[t, t, Type::F32][3 - n..], imm)
}

/// Chooses a floating-point operation.
#[rustfmt::skip]
pub(super) fn select(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    let t = x.ty;
    let n = match op {
        Op::Fma | Op::Mad => 3,
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Min | Op::Max | Op::Copysign => 2,
        _ => 1,
    };
    if x.inst.operands.len() > n + 1 {
        return Err(unsupported(format!("`{}` of {} operands is not implemented", op.mnemonic(),
            x.inst.operands.len() - 1)));
    }
    let extra: &[&str] = match op {
        Op::Div => &["approx", "full"],
        Op::Rcp | Op::Sqrt | Op::Rsqrt | Op::Sin | Op::Cos | Op::Lg2 | Op::Ex2 | Op::Tanh => &["approx"],
        Op::Min | Op::Max => &["NaN", "xorsign", "abs"],
        _ => &[],
    };
    let mut imm = flags(x, extra)?;
    if t == Type::F32x2 && imm & SAT != 0 {
        return Err(unsupported("modifier `.sat` is not for pairs"));
    }
    let run: Option<LaneFn> = match op {
        Op::Add if t == Type::F32x2 => Some(entry::<Packed<Add>>(x.simd)),
        Op::Sub if t == Type::F32x2 => Some(entry::<Packed<Sub>>(x.simd)),
        Op::Mul if t == Type::F32x2 => Some(entry::<Packed<Mul>>(x.simd)),
        Op::Fma if t == Type::F32x2 => Some(entry::<Packed<Fma>>(x.simd)),
        Op::Add => entry!(x, imm, F32 => Add<f32>, F64 => Add<f64>),
        Op::Sub => entry!(x, imm, F32 => Sub<f32>, F64 => Sub<f64>),
        Op::Mul => entry!(x, imm, F32 => Mul<f32>, F64 => Mul<f64>),
        Op::Fma | Op::Mad => entry!(x, imm, F32 => Fma<f32>, F64 => Fma<f64>),
        Op::Div if x.has("approx") => entry!(x, imm, F32 => DivApprox<f32>),
        Op::Div => entry!(x, imm, F32 => Div<f32>, F64 => Div<f64>),
        Op::Rcp if t == Type::F64 && x.has("approx") => { imm = 0; entry!(x, imm, F64 => RcpHigh<f64>) }
        Op::Rsqrt if t == Type::F64 && x.has("ftz") => { imm = 0; entry!(x, imm, F64 => RsqrtHigh<f64>) }
        Op::Rcp => entry!(x, imm, F32 => Rcp<f32>, F64 => Rcp<f64>),
        Op::Sqrt => entry!(x, imm, F32 => Sqrt<f32>, F64 => Sqrt<f64>),
        Op::Rsqrt => entry!(x, imm, F32 => Rsqrt<f32>, F64 => Rsqrt<f64>),
        Op::Sin => entry!(x, imm, F32 => Sin<f32>),
        Op::Cos => entry!(x, imm, F32 => Cos<f32>),
        Op::Lg2 => entry!(x, imm, F32 => Lg2<f32>),
        Op::Ex2 => entry!(x, imm, F32 => Ex2<f32>),
        Op::Tanh => entry!(x, imm, F32 => Tanh<f32>),
        Op::Abs => entry!(x, imm, F32 => Abs<f32>, F64 => Abs<f64>),
        Op::Neg => entry!(x, imm, F32 => Neg<f32>, F64 => Neg<f64>),
        Op::Min => match (x.has("NaN"), x.has("xorsign")) {
            (false, false) => entry!(x, imm, F32 => Min<f32>, F64 => Min<f64>),
            (true, false) => entry!(x, imm, F32 => MinNan<f32>),
            (false, true) => entry!(x, imm, F32 => MinXorSign<f32>),
            (true, true) => entry!(x, imm, F32 => MinNanXorSign<f32>),
        },
        Op::Max => match (x.has("NaN"), x.has("xorsign")) {
            (false, false) => entry!(x, imm, F32 => Max<f32>, F64 => Max<f64>),
            (true, false) => entry!(x, imm, F32 => MaxNan<f32>),
            (false, true) => entry!(x, imm, F32 => MaxXorSign<f32>),
            (true, true) => entry!(x, imm, F32 => MaxNanXorSign<f32>),
        },
        Op::Copysign => by_type!(x.simd, t; F32 => CopySign<u32>, F64 => CopySign<u64>),
        _ => None,
    };
    x.op(run, t, &[t; 3][..n], imm)
}
