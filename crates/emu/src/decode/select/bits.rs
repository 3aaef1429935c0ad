//! Selects logic, shifts and bit-field operations.

use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Operand, Type};
use prlx_lanes::bits::*;
use prlx_lanes::{LaneFn, entry};

use super::selector::{AluOp, Selector, by_type};
use crate::error::{EmuError, unsupported};

/// Chooses an operation on bits.
#[rustfmt::skip]
pub(super) fn select(op: Op, x: &Selector) -> Result<AluOp, EmuError> {
    let (t, l) = (x.ty, x.simd);
    let u = Type::U32;
    let logic = |kind: u64, run: Option<LaneFn>, n: usize| match t {
        Type::Pred => x.op(Some(entry::<Pred>(l)), t, &[t; 2][..n], kind),
        _ => x.op(run, t, &[t; 2][..n], 0),
    };
    match op {
        Op::And => { x.only(&[])?; logic(0, by_type!(l, t; B16 => And<u16>, B32 => And<u32>, B64 =>
            And<u64>), 2) }
        Op::Or => { x.only(&[])?; logic(1, by_type!(l, t; B16 => Or<u16>, B32 => Or<u32>, B64 => Or<u64>),
            2) }
        Op::Xor => { x.only(&[])?; logic(2, by_type!(l, t; B16 => Xor<u16>, B32 => Xor<u32>, B64 =>
            Xor<u64>), 2) }
        Op::Not => { x.only(&[])?; logic(3, by_type!(l, t; B16 => Not<u16>, B32 => Not<u32>, B64 =>
            Not<u64>), 1) }
        Op::Cnot => { x.only(&[])?; x.op(by_type!(l, t; B16 => Cnot<u16>, B32 => Cnot<u32>, B64 =>
            Cnot<u64>), t, &[t], 0) }
        Op::Shl => { x.only(&[])?; x.op(by_type!(l, t; B16 => Shl<u16>, B32 => Shl<u32>, B64 => Shl<u64>),
            t, &[t, u], 0) }
        Op::Shr => {
            x.only(&[])?;
            let run = by_type!(l, t; B16 | U16 => Shr<u16>, S16 => Shr<i16>, B32 | U32 => Shr<u32>, S32 =>
                Shr<i32>, B64 | U64 => Shr<u64>, S64 => Shr<i64>);
            x.op(run, t, &[t, u], 0)
        }
        Op::Shf => {
            x.only(&["l", "r", "wrap", "clamp"])?;
            let run = match (x.has("l"), x.has("wrap")) {
                (true, true) => by_type!(l, t; B32 => ShfLWrap),
                (true, false) => by_type!(l, t; B32 => ShfLClamp),
                (false, true) => by_type!(l, t; B32 => ShfRWrap),
                (false, false) => by_type!(l, t; B32 => ShfRClamp),
            };
            x.op(run, t, &[t, t, u], 0)
        }
        Op::Lop3 => {
            x.only(&["and", "or"])?;
            let Some(&Operand::Int(table)) = x.inst.operands.get(4) else {
                return Err(unsupported("the table of `lop3` must be a constant"));
            };
            let table = table as u64 & 0xff;
            if t != Type::B32 || !(x.has("and") || x.has("or")) {
                return x.op(by_type!(l, t; B32 => Lop3), t, &[t; 3], table);
            }
            let imm = table | u64::from(x.has("and")) << 8;
            Ok(AluOp { run: entry::<Lop3Pred>(l), dst: vec![t, Type::Pred], src: vec![t, t, t, Type::Pred],
                imm })
        }
        Op::Prmt => {
            let mode = match opcode(x.inst).mods.as_slice() {
                [] => 0,
                [m] => PRMT_MODES.iter().position(|(n,
                    _)| n == m).ok_or_else(|| unsupported(format!("`prmt` has no mode `.{m}`")))?,
                _ => return Err(unsupported("`prmt` takes one mode")),
            };
            match x.inst.operands.get(3) {
                Some(&Operand::Int(selector)) if mode == 0 => {
                    x.op(by_type!(l, t; B32 => PrmtConst), t, &[t; 2], selector as u64 & 0xffff)
                }
                _ => x.op(by_type!(l, t; B32 => Prmt), t, &[t; 3], mode as u64),
            }
        }
        Op::Popc => { x.only(&[])?; x.op(by_type!(l, t; B32 => Popc32, B64 => Popc64), u, &[t], 0) }
        Op::Clz => { x.only(&[])?; x.op(by_type!(l, t; B32 => Clz32, B64 => Clz64), u, &[t], 0) }
        Op::Brev => { x.only(&[])?; x.op(by_type!(l, t; B32 => Brev32, B64 => Brev64), t, &[t], 0) }
        Op::Bfind if x.has("shiftamt") => {
            x.only(&["shiftamt"])?;
            x.op(by_type!(l, t; U32 => BfindShift<u32>, S32 => BfindShift<i32>, U64 => BfindShift<u64>,
                S64 => BfindShift<i64>), u, &[t], 0)
        }
        Op::Bfind => { x.only(&[])?; x.op(by_type!(l, t; U32 => Bfind<u32>, S32 => Bfind<i32>, U64 =>
            Bfind<u64>, S64 => Bfind<i64>), u, &[t], 0) }
        Op::Fns => { x.only(&[])?; x.op(by_type!(l, t; B32 => Fns), u, &[u, u, Type::S32], 0) }
        Op::Bfe => { x.only(&[])?; x.op(by_type!(l, t; U32 => Bfe<u32>, S32 => Bfe<i32>, U64 => Bfe<u64>,
            S64 => Bfe<i64>), t, &[t, u, u], 0) }
        Op::Bfi => { x.only(&[])?; x.op(by_type!(l, t; B32 => Bfi32, B64 => Bfi64), t, &[t, t, u, u], 0) }
        Op::Bmsk => {
            x.only(&["clamp", "wrap"])?;
            x.op(if x.has("wrap") { by_type!(l, t; B32 => BmskWrap) } else { by_type!(l, t; B32 =>
                BmskClamp) }, t, &[u; 2], 0)
        }
        Op::Szext => {
            x.only(&["clamp", "wrap"])?;
            let run = if x.has("wrap") { by_type!(l, t; U32 => ZextWrap, S32 => SextWrap) } else {
                by_type!(l, t; U32 => ZextClamp, S32 => SextClamp) };
            x.op(run, t, &[t, u], 0)
        }
        _ => Err(unsupported(format!("`{}` is not an operation on bits", op.mnemonic()))),
    }
}
