//! Selects conversions (`cvt`).

use prlx_isa::ptx::opcode;
use prlx_isa::view::Type;
use prlx_lanes::convert::*;
use prlx_lanes::fp8;
use prlx_lanes::half::{Bf16, F16};
use prlx_lanes::{LaneFn, entry};

use super::selector::{AluOp, Selector, by_type};
use crate::error::{EmuError, unsupported};

/// Rounding modes of results, in the order of [`Round::from_imm`](prlx_lanes::round::Round::from_imm).
const MODES: &[&str] = &["rn", "rz", "rm", "rp"];
/// Rounding modes to an integral value, in the order of [`INTEGER`], from 1 on.
const INTEGER_MODES: &[&str] = &["rni", "rzi", "rmi", "rpi"];
/// Integer types, in the order of the ranges of [`IntSat`].
const INTEGERS: [Type; 8] =
    [Type::U8, Type::S8, Type::U16, Type::S16, Type::U32, Type::S32, Type::U64, Type::S64];

/// The modifiers as an [`Args::imm`](prlx_lanes::Args::imm).
fn flags(x: &Selector) -> Result<u64, EmuError> {
    let mut imm = 0;
    for m in &opcode(x.inst).mods {
        imm |= match m.as_str() {
            "ftz" => FTZ,
            "sat" => SAT,
            "relu" => RELU,
            "satfinite" => FINITE,
            "rna" => 7,
            "rs" => {
                return Err(unsupported("stochastic rounding is for sm_100 and later, and not implemented"));
            }
            m => match (MODES.iter().position(|n| *n == m), INTEGER_MODES.iter().position(|n| *n == m)) {
                (Some(i), _) => i as u64,
                (_, Some(i)) => (i as u64 + 1) << INTEGER,
                _ => return Err(unsupported(format!("modifier `.{m}` is not implemented here"))),
            },
        };
    }
    Ok(imm)
}

/// The entry for two integer types.
macro_rules! int_int {
    ($l:expr, $from:expr, $to:expr, $op:ident) => {{
        macro_rules! to {
                ($a:ty) => {
                    by_type!($l, $to; U8 | S8 | B8 => $op<$a, u8>, U16 | S16 | B16 => $op<$a, u16>, U32 | S32
                        | B32 => $op<$a, u32>,
                        U64 | S64 | B64 => $op<$a, u64>)
                };
            }
        match $from {
            Type::U8 | Type::B8 => to!(u8),
            Type::S8 => to!(i8),
            Type::U16 | Type::B16 => to!(u16),
            Type::S16 => to!(i16),
            Type::U32 | Type::B32 => to!(u32),
            Type::S32 => to!(i32),
            Type::U64 | Type::B64 => to!(u64),
            Type::S64 => to!(i64),
            _ => None,
        }
    }};
}

/// The entry for an integer type and given others.
macro_rules! by_int {
    ($l:expr, $ty:expr; $op:ident<_, $b:ty>) => {
        by_type!($l, $ty; U8 => $op<u8, $b>, S8 => $op<i8, $b>, U16 => $op<u16, $b>, S16 => $op<i16, $b>,
            U32 => $op<u32, $b>,
            S32 => $op<i32, $b>, U64 => $op<u64, $b>, S64 => $op<i64, $b>)
    };
    ($l:expr, $ty:expr; $op:ident<$a:ty, _>) => {
        by_type!($l, $ty; U8 => $op<$a, u8>, S8 => $op<$a, i8>, U16 => $op<$a, u16>, S16 => $op<$a, i16>,
            U32 => $op<$a, u32>,
            S32 => $op<$a, i32>, U64 => $op<$a, u64>, S64 => $op<$a, i64>)
    };
}

fn pack(x: &Selector) -> Result<AluOp, EmuError> {
    // Integers of two bits are in no other instruction, and not in the table of types.
    x.only(&["pack", "sat", "u2", "s2"])?;
    let bits = match (opcode(x.inst).types.as_slice(), x.has("u2") || x.has("s2")) {
        ([Type::S32, Type::B32], true) => 2,
        ([Type::U4 | Type::S4, Type::S32, Type::B32], false) => 4,
        ([Type::U8 | Type::S8, Type::S32, Type::B32], false) => 8,
        ([Type::U16 | Type::S16, Type::S32], false) => 16,
        _ => return Err(x.untyped()),
    };
    let signed = x.has("s2") || matches!(opcode(x.inst).types[0], Type::S4 | Type::S8 | Type::S16);
    let src = &[Type::S32, Type::S32, Type::B32][..if bits == 16 { 2 } else { 3 }];
    x.op(Some(entry::<PackInts>(x.simd)), Type::U32, src, bits | u64::from(signed) << 8)
}

/// Whether a type is a pair of at most 8 bits each.
fn is_small(ty: Type) -> bool {
    matches!(ty, Type::E4m3x2 | Type::E5m2x2 | Type::E2m3x2 | Type::E3m2x2 | Type::E2m1x2)
}

/// Chooses a conversion from or to pairs of scale factors.
fn scales(x: &Selector, to: Type, from: Type) -> Result<AluOp, EmuError> {
    use prlx_lanes::fp8::{FINITE, FromScale, ToScale, UP};
    let l = x.simd;
    if from == Type::Ue8m0x2 {
        x.only(&["rn"])?;
        let run = (to == Type::Bf16x2).then(|| entry::<ToScale>(l));
        return x.op(run, to, &[from], 0);
    }
    x.only(&["rz", "rp", "satfinite"])?;
    let imm = if x.has("satfinite") { FINITE } else { 0 } | if x.has("rp") { UP } else { 0 };
    match from {
        Type::F32 => x.op(Some(entry::<FromScale<f32>>(l)), to, &[from; 2], imm),
        Type::Bf16x2 => x.op(Some(entry::<FromScale<Bf16>>(l)), to, &[from], imm),
        _ => Err(x.untyped()),
    }
}

/// Chooses a conversion of pairs of values of at most 8 bits.
fn bytes(x: &Selector, to: Type, from: Type) -> Result<AluOp, EmuError> {
    use prlx_lanes::fp8::{E2m1, E2m3, E3m2, E4m3, E5m2, From, To};
    x.only(&["rn", "satfinite", "relu"])?;
    let imm = if x.has("relu") { fp8::RELU } else { 0 };
    let l = x.simd;
    macro_rules! entry {
        ($ty:expr, $op:ident, $h:ty) => {
            by_type!(l, $ty; E4m3x2 => $op<E4m3, $h>, E5m2x2 => $op<E5m2, $h>,
                E2m3x2 => $op<E2m3, $h>, E3m2x2 => $op<E3m2, $h>, E2m1x2 => $op<E2m1, $h>)
        };
    }
    match (to, from) {
        (_, Type::F32) => x.op(entry!(to, From, f32), to, &[from; 2], imm),
        (_, Type::F16x2) => x.op(entry!(to, From, F16), to, &[from], imm),
        (_, Type::Bf16x2) => x.op(entry!(to, From, Bf16), to, &[from], imm),
        (Type::F16x2, _) => x.op(entry!(from, To, F16), to, &[from], imm),
        (Type::Bf16x2, _) if imm == 0 => x.op(entry!(from, To, Bf16), to, &[from], imm),
        _ => Err(x.untyped()),
    }
}

/// Chooses a conversion.
#[rustfmt::skip]
pub(super) fn select(x: &Selector) -> Result<AluOp, EmuError> {
    use Type::{Bf16 as TB16, Bf16x2, F16 as TF16, F16x2, F32, F64, Tf32};
    if x.has("pack") {
        return pack(x);
    }
    let &[to, from] = opcode(x.inst).types.as_slice() else { return Err(x.untyped()) };
    if to == Type::Ue8m0x2 || from == Type::Ue8m0x2 {
        return scales(x, to, from);
    }
    let imm = flags(x)?;
    if imm & 7 == 7 && to != Tf32 {
        return Err(unsupported("rounding `.rna` is for tf32 only"));
    }
    let l = x.simd;
    let int = |t: Type| INTEGERS.iter().position(|i| *i == t);
    let run: Option<LaneFn> = match (int(from).is_some(), int(to)) {
        (true, Some(range)) => {
            x.only(&["sat"])?;
            if imm & SAT != 0 {
                let run = if range < 6 { by_int!(l, from; IntSat<_, u32>) } else { by_int!(l, from;
                    IntSat<_, u64>) };
                return x.op(run, to, &[from], range as u64);
            }
            int_int!(l, from, to, IntInt)
        }
        (true, None) if imm == 0 && to == F32 => by_int!(l, from; IntReal<_, f32>),
        (true, None) if imm == 0 && to == F64 => by_int!(l, from; IntReal<_, f64>),
        (true, None) => match to {
            F32 => by_int!(l, from; IntFloat<_, f32>),
            F64 => by_int!(l, from; IntFloat<_, f64>),
            TF16 => by_int!(l, from; IntFloat<_, F16>),
            TB16 => by_int!(l, from; IntFloat<_, Bf16>),
            _ => None,
        },
        (false, Some(_)) => match from {
            F32 => by_int!(l, to; FloatInt<f32, _>),
            F64 => by_int!(l, to; FloatInt<f64, _>),
            TF16 => by_int!(l, to; FloatInt<F16, _>),
            TB16 => by_int!(l, to; FloatInt<Bf16, _>),
            _ => None,
        },
        (false, None) => match (to, from) {
            _ if is_small(to) || is_small(from) => return bytes(x, to, from),
            (F16x2, F32) => return x.op(Some(entry::<Pack<F16>>(l)), to, &[F32; 2], imm),
            (Bf16x2, F32) => return x.op(Some(entry::<Pack<Bf16>>(l)), to, &[F32; 2], imm),
            (Tf32, F32) => return x.op(Some(entry::<ToTf32>(l)), Type::B32, &[F32], imm),
            (TF16, F32) if imm == 0 => Some(entry::<ToHalf<F16>>(l)),
            (TB16, F32) if imm == 0 => Some(entry::<ToHalf<Bf16>>(l)),
            (F32, TF16) if imm & !FTZ == 0 => Some(entry::<Direct<F16, f32>>(l)),
            (F32, TB16) if imm == 0 => Some(entry::<Direct<Bf16, f32>>(l)),
            (F64, F32) if imm == 0 => Some(entry::<Direct<f32, f64>>(l)),
            (F32, F64) if imm == 0 => Some(entry::<Direct<f64, f32>>(l)),
            (F32, _) => by_type!(l, from; F32 => FloatFloat<f32, f32>, F64 => FloatFloat<f64, f32>, F16 =>
                FloatFloat<F16, f32>, Bf16 => FloatFloat<Bf16, f32>),
            (F64, _) => by_type!(l, from; F32 => FloatFloat<f32, f64>, F64 => FloatFloat<f64, f64>, F16 =>
                FloatFloat<F16, f64>, Bf16 => FloatFloat<Bf16, f64>),
            (TF16, _) => by_type!(l, from; F32 => FloatFloat<f32, F16>, F64 => FloatFloat<f64, F16>, F16 =>
                FloatFloat<F16, F16>, Bf16 => FloatFloat<Bf16, F16>),
            (TB16, _) => by_type!(l, from; F32 => FloatFloat<f32, Bf16>, F64 => FloatFloat<f64, Bf16>,
                F16 => FloatFloat<F16, Bf16>, Bf16 => FloatFloat<Bf16, Bf16>),
            _ => None,
        },
    };
    x.op(run, to, &[from], imm)
}
