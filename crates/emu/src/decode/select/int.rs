//! Selects integer arithmetic.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::Type;
use prlx_lanes::int::*;
use prlx_lanes::{LaneFn, Simd, entry};

use super::selector::{AluOp, Selector, by_type};
use crate::error::{EmuError, unsupported};

/// Chooses a carry operation: 0 sum, 1 difference, 2 `mad.lo`, 3 `mad.hi`.
fn chain(x: &Selector, kind: u8) -> Result<AluOp, EmuError> {
    use Type::{S32, S64};
    // As for comparisons, flags come faster from AVX2's vectors.
    let l = x.simd.min(Simd::Avx2);
    let run = match kind {
        0 => by_type!(l, x.ty; U32 | S32 | B32 => Chain<u32, 0>, U64 | S64 | B64 => Chain<u64, 0>),
        1 => by_type!(l, x.ty; U32 | S32 | B32 => Chain<u32, 1>, U64 | S64 | B64 => Chain<u64, 1>),
        2 => by_type!(l, x.ty; U32 | S32 | B32 => Chain<u32, 2>, U64 | S64 | B64 => Chain<u64, 2>),
        _ if matches!(x.ty, S32 | S64) => by_type!(l, x.ty; S32 => Chain<u32, 4>, S64 => Chain<u64, 4>),
        _ => by_type!(l, x.ty; U32 | B32 => Chain<u32, 3>, U64 | B64 => Chain<u64, 3>),
    };
    let carry_in = matches!(opcode(x.inst).op, Some(Op::Addc | Op::Subc | Op::Madc));
    let imm = if carry_in { CARRY_IN } else { 0 } | if x.has("cc") { CARRY_OUT } else { 0 };
    x.op(run, x.ty, &[x.ty; 3][..if kind >= 2 { 3 } else { 2 }], imm)
}

/// The twice as wide type.
fn wider(ty: Type) -> Option<Type> {
    Some(match ty {
        Type::U16 => Type::U32,
        Type::S16 => Type::S32,
        Type::U32 => Type::U64,
        Type::S32 => Type::S64,
        _ => return None,
    })
}

/// Chooses an integer operation.
#[rustfmt::skip]
pub(super) fn select(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    let (t, l) = (x.ty, x.simd);
    let one = |run: Option<LaneFn>| x.op(run, t, &[t], 0);
    let two = |run: Option<LaneFn>| x.op(run, t, &[t; 2], 0);
    let three = |run: Option<LaneFn>| x.op(run, t, &[t; 3], 0);
    match op {
        Op::Add | Op::Addc if op == Op::Addc || x.has("cc") => { x.only(&["cc"])?; chain(x, 0) }
        Op::Sub | Op::Subc if op == Op::Subc || x.has("cc") => { x.only(&["cc"])?; chain(x, 1) }
        Op::Mad | Op::Madc if op == Op::Madc || x.has("cc") => {
            x.only(&["cc", "lo", "hi"])?;
            chain(x, if x.has("hi") { 3 } else { 2 })
        }
        Op::Add if x.has("sat") => { x.only(&["sat"])?; two(by_type!(l, t; S32 => AddSat<i32>)) }
        Op::Sub if x.has("sat") => { x.only(&["sat"])?; two(by_type!(l, t; S32 => SubSat<i32>)) }
        Op::Add => { x.only(&[])?; two(by_type!(l, t; U16 | S16 => Add<u16>, U32 | S32 => Add<u32>,
            U64 | S64 => Add<u64>, U16x2 | S16x2 => Add16x2)) }
        Op::Sub => { x.only(&[])?; two(by_type!(l, t; U16 | S16 => Sub<u16>, U32 | S32 => Sub<u32>,
            U64 | S64 => Sub<u64>)) }
        Op::Mul if x.has("wide") => {
            x.only(&["wide"])?;
            let run = by_type!(l, t; U16 => MulWideU16, S16 => MulWideS16, U32 => MulWideU32, S32 =>
                MulWideS32);
            x.op(run, wider(t).ok_or_else(|| x.untyped())?, &[t; 2], 0)
        }
        Op::Mul if x.has("hi") => {
            x.only(&["hi"])?;
            two(by_type!(l, t; U16 => MulHi<u16>, S16 => MulHi<i16>, U32 => MulHi<u32>, S32 => MulHi<i32>,
                U64 => MulHi<u64>, S64 => MulHi<i64>))
        }
        Op::Mul => { x.only(&["lo"])?; two(by_type!(l, t; U16 | S16 => Mul<u16>, U32 | S32 => Mul<u32>,
            U64 | S64 => Mul<u64>)) }
        Op::Mad if x.has("wide") => {
            x.only(&["wide"])?;
            let run = by_type!(l, t; U16 => MadWideU16, S16 => MadWideS16, U32 => MadWideU32, S32 =>
                MadWideS32);
            let wide = wider(t).ok_or_else(|| x.untyped())?;
            x.op(run, wide, &[t, t, wide], 0)
        }
        Op::Mad if x.has("hi") && x.has("sat") => { x.only(&["hi", "sat"])?; three(by_type!(l, t; S32 =>
            MadHiSat)) }
        Op::Mad if x.has("hi") => {
            x.only(&["hi"])?;
            three(by_type!(l, t; U16 => MadHi<u16>, S16 => MadHi<i16>, U32 => MadHi<u32>, S32 => MadHi<i32>,
                U64 => MadHi<u64>, S64 => MadHi<i64>))
        }
        Op::Mad => { x.only(&["lo"])?; three(by_type!(l, t; U16 | S16 => Mad<u16>, U32 | S32 => Mad<u32>,
            U64 | S64 => Mad<u64>)) }
        Op::Mul24 if x.has("hi") => { x.only(&["hi"])?; two(by_type!(l, t; U32 => Mul24HiU, S32 =>
            Mul24HiS)) }
        Op::Mul24 => { x.only(&["lo"])?; two(by_type!(l, t; U32 => Mul24LoU, S32 => Mul24LoS)) }
        Op::Mad24 if x.has("sat") => { x.only(&["hi", "sat"])?; three(by_type!(l, t; S32 => Mad24HiSat)) }
        Op::Mad24 if x.has("hi") => { x.only(&["hi"])?; three(by_type!(l, t; U32 => Mad24HiU, S32 =>
            Mad24HiS)) }
        Op::Mad24 => { x.only(&["lo"])?; three(by_type!(l, t; U32 => Mad24LoU, S32 => Mad24LoS)) }
        Op::Sad => {
            x.only(&[])?;
            three(by_type!(l, t; U16 => Sad<u16>, S16 => Sad<i16>, U32 => Sad<u32>, S32 => Sad<i32>, U64 =>
                Sad<u64>, S64 => Sad<i64>))
        }
        Op::Div => { x.only(&[])?; two(by_type!(l, t; U16 => Div<u16>, S16 => Div<i16>, U32 => DivU32,
            S32 => DivS32, U64 => Div<u64>, S64 => Div<i64>)) }
        Op::Rem => { x.only(&[])?; two(by_type!(l, t; U16 => Rem<u16>, S16 => Rem<i16>, U32 => RemU32,
            S32 => RemS32, U64 => Rem<u64>, S64 => Rem<i64>)) }
        Op::Neg => { x.only(&[])?; one(by_type!(l, t; S16 => Neg<u16>, S32 => Neg<u32>, S64 => Neg<u64>)) }
        Op::Abs => { x.only(&[])?; one(by_type!(l, t; S16 => Abs<i16>, S32 => Abs<i32>, S64 => Abs<i64>)) }
        Op::Min if x.has("relu") => { x.only(&["relu"])?; two(by_type!(l, t; S32 => MinRelu, S16x2 =>
            MinReluS16x2)) }
        Op::Max if x.has("relu") => { x.only(&["relu"])?; two(by_type!(l, t; S32 => MaxRelu, S16x2 =>
            MaxReluS16x2)) }
        Op::Min => {
            x.only(&[])?;
            two(by_type!(l, t; U16 => Min<u16>, S16 => Min<i16>, U32 => Min<u32>, S32 => Min<i32>, U64 =>
                Min<u64>, S64 => Min<i64>, U16x2 => MinU16x2, S16x2 => MinS16x2))
        }
        Op::Max => {
            x.only(&[])?;
            two(by_type!(l, t; U16 => Max<u16>, S16 => Max<i16>, U32 => Max<u32>, S32 => Max<i32>, U64 =>
                Max<u64>, S64 => Max<i64>, U16x2 => MaxU16x2, S16x2 => MaxS16x2))
        }
        Op::Dp4a | Op::Dp2a => {
            x.only(if op == Op::Dp2a { &["lo", "hi"] } else { &[] })?;
            let &[a, b] = opcode(x.inst).types.as_slice() else { return Err(x.untyped()) };
            let bit = |on: bool, bit: u64| if on { bit } else { 0 };
            let imm = bit(a == Type::S32, 1) | bit(b == Type::S32, 2) | bit(op == Op::Dp2a,
                4) | bit(x.has("hi"), 8);
            // Both unsigned: the accumulator is too, but its sum wraps alike.
            x.op(Some(entry::<Dot>(l)), if imm & 3 != 0 { Type::S32 } else { Type::U32 }, &[a, b,
                Type::U32], imm)
        }
        _ => Err(unsupported(format!("`{}` is not an integer operation", op.mnemonic()))),
    }
}
