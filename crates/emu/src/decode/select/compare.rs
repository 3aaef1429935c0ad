//! Selects comparisons and selections: `setp`, `set`, `selp`, `slct`, `testp`.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Operand, Type};
use prlx_lanes::compare::*;
use prlx_lanes::half::{Bf16, F16, Half};
use prlx_lanes::{LaneFn, Simd};

use super::selector::{AluOp, Selector, by_type};
use crate::error::{EmuError, unsupported};

/// Comparison operators: name, relation, flags; the second half only for floating-point values.
#[rustfmt::skip]
const RELATIONS: &[(&str, u8, u64)] = &[
    ("eq", EQ, 0), ("ne", LG, 0), ("lt", LT, 0), ("le", LE, 0), ("gt", LT, SWAP), ("ge", LE, SWAP),
    ("lo", LT, 0), ("ls", LE, 0), ("hi", LT, SWAP), ("hs", LE, SWAP),
    ("equ", LG, NOT), ("neu", EQ, NOT), ("ltu", LE, SWAP | NOT), ("leu", LT, SWAP | NOT), ("gtu", LE, NOT),
        ("geu", LT, NOT),
    ("num", NUM, 0), ("nan", NUM, NOT),
];

/// Chooses a comparison or a choice.
pub(super) fn select(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    match op {
        Op::Selp => {
            x.only(&[])?;
            let run = by_type!(x.simd, x.ty; B16 | U16 | S16 => Selp<u16>, B32 | U32 | S32 | F32 => Selp<u32>,
                B64 | U64 | S64 | F64 => Selp<u64>);
            x.op(run, x.ty, &[x.ty, x.ty, Type::Pred], 0)
        }
        Op::Slct => slct(x),
        Op::Testp => {
            let property = match opcode(x.inst).mods.as_slice() {
                [m] => PROPERTIES
                    .iter()
                    .position(|p| p == m)
                    .ok_or_else(|| unsupported(format!("`testp` has no property `.{m}`")))?,
                _ => return Err(unsupported("`testp` takes one property")),
            };
            x.op(
                by_type!(x.simd, x.ty; F32 => Testp<f32>, F64 => Testp<f64>),
                Type::Pred,
                &[x.ty],
                property as u64,
            )
        }
        Op::Setp => setp(x),
        Op::Set => set(x),
        _ => Err(unsupported(format!("`{}` is not a comparison", op.mnemonic()))),
    }
}

fn slct(x: &Selector) -> Result<AluOp, EmuError> {
    x.only(&["ftz"])?;
    let &[t, by] = opcode(x.inst).types.as_slice() else { return Err(x.untyped()) };
    macro_rules! all {
        ($op:ident) => {
            by_type!(x.simd, t; B16 | U16 | S16 => $op<u16>, B32 | U32 | S32 | F32 => $op<u32>, B64 | U64
                | S64 | F64 => $op<u64>)
        };
    }
    let run = match (by, x.has("ftz")) {
        (Type::S32, _) => all!(SlctS32),
        (Type::F32, false) => all!(SlctF32),
        (Type::F32, true) => all!(SlctF32Ftz),
        _ => None,
    };
    x.op(run, t, &[t, t, by], 0)
}

/// The relation named, its flags, and those of the boolean operand and `.ftz`.
fn relation(x: &Selector) -> Result<(u8, u64), EmuError> {
    let mods = &opcode(x.inst).mods;
    let mut found = None;
    let mut flags = 0;
    for m in mods {
        match m.as_str() {
            "ftz" => flags |= FTZ,
            "and" => flags |= 1 << JOIN,
            "or" => flags |= 2 << JOIN,
            "xor" => flags |= 3 << JOIN,
            name => match RELATIONS.iter().position(|(n, ..)| *n == name) {
                Some(i) if found.is_none() => found = Some(i),
                Some(_) => return Err(unsupported("it names two comparisons")),
                None => return Err(unsupported(format!("modifier `.{name}` is not implemented here"))),
            },
        }
    }
    let i = found.ok_or_else(|| unsupported("it names no comparison"))?;
    let unordered_kind = i >= 10;
    if unordered_kind && !x.is_float() {
        return Err(unsupported(format!("comparison `.{}` needs floating-point values", RELATIONS[i].0)));
    }
    Ok((RELATIONS[i].1, RELATIONS[i].2 | flags))
}

/// The entry for a type and a relation; the second operation is for packed pairs.
macro_rules! by_relation {
    ($op:ident, $pair:ident, $x:expr, $rel:expr) => {{
        // AVX-512's compare masks become bits of one word slowly as LLVM does it: AVX2's vectors are five
        // times faster.
        let (l, t) = ($x.simd.min(Simd::Avx2), $x.ty);
        macro_rules! floats {
                ($r:ident) => {
                    by_type!(l, t; F32 => $op<f32, $r>, F64 => $op<f64, $r>, F16 => $op<F16, $r>, Bf16 =>
                        $op<Bf16, $r>,
                        F16x2 => $pair<F16, $r>, Bf16x2 => $pair<Bf16, $r>)
                };
            }
        macro_rules! all {
                ($r:ident) => {
                    by_type!(l, t; B16 | U16 => $op<u16, $r>, S16 => $op<i16, $r>, B32 | U32 => $op<u32, $r>,
                        S32 => $op<i32, $r>,
                        B64 | U64 => $op<u64, $r>, S64 => $op<i64, $r>)
                    .or_else(|| floats!($r))
                };
            }
        let run: Option<LaneFn> = match $rel {
            EQ => all!(EQ),
            LT => all!(LT),
            LE => all!(LE),
            LG => all!(LG),
            _ => floats!(NUM),
        };
        run
    }};
}

fn setp(x: &Selector) -> Result<AluOp, EmuError> {
    let (rel, mut imm) = relation(x)?;
    let run = by_relation!(Setp, SetpPair, x, rel).ok_or_else(|| x.untyped())?;
    let mut dst = vec![Type::Pred];
    let mut src = vec![x.ty; 2];
    if let Some(Operand::Pair(..)) = x.inst.operands.first() {
        imm |= BOTH;
        dst.push(Type::Pred);
    }
    if imm >> JOIN & 3 != 0 {
        src.push(Type::Pred);
    }
    Ok(AluOp { run, dst, src, imm })
}

fn set(x: &Selector) -> Result<AluOp, EmuError> {
    let (rel, imm) = relation(x)?;
    let d = opcode(x.inst).ty(0).unwrap_or_default();
    let pair = matches!(x.ty, Type::F16x2 | Type::Bf16x2);
    // The result where the relation is true: all ones, or 1.
    let yes: u64 = match (d, pair) {
        (Type::U32 | Type::S32, false) => 0xffff_ffff,
        (Type::U32 | Type::S32, true) | (Type::U16 | Type::S16, false) => 0xffff,
        (Type::F32, false) => u64::from(1f32.to_bits()),
        (Type::F16, false) | (Type::F16x2, true) => u64::from(F16::ONE),
        (Type::Bf16, false) | (Type::Bf16x2, true) => u64::from(Bf16::ONE),
        _ => return Err(x.untyped()),
    };
    let mut src = vec![x.ty; 2];
    if imm >> JOIN & 3 != 0 {
        src.push(Type::Pred);
    }
    x.op(by_relation!(Set, SetPair, x, rel), d, &src, imm | yes << YES)
}
