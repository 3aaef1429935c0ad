//! Scalar operations on masks of lanes: moves, bitwise operations and their forms that write EXEC (RDNA 3
//! ISA, "SOP1 Instructions", "SOP2 Instructions").
//!
//! # Invariants
//! A mask that nothing reads as one is handled as words, by [`alu`](super::alu).

use prlx_isa::amdgpu::inst::{Bank, Field, Reg, Value};
use prlx_lanes::Args;

use super::decoder::Decoder;
use crate::code::Wave;
use crate::decode::binder::PlaneKind;
use crate::error::{EmuError, unsupported};

/// What a bitwise operation does with its two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bits {
    Copy,
    Not,
    And,
    Or,
    Xor,
    AndNot,
    OrNot,
    NotAnd,
    NotOr,
    Nand,
    Nor,
    Xnor,
}

/// An operation on masks.
#[derive(Clone, Copy, Debug)]
struct MaskOp {
    bits: Bits,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// The result is in the destination.
    Plain,
    /// EXEC becomes the result, and the destination what EXEC was.
    SaveExec,
    /// Both become the result.
    WriteExec,
    /// `s_cselect`: SCC selects.
    Select,
    /// `s_cmov`: only if SCC is set.
    Move,
}

/// The operation of a mnemonic, if it works on masks in waves of this many lanes.
fn operation(name: &str, lanes: u32) -> Option<MaskOp> {
    let stem = name.strip_prefix("s_")?.strip_suffix(if lanes == 64 { "_b64" } else { "_b32" })?;
    let form = match stem {
        "mov" => return Some(MaskOp { bits: Bits::Copy, form: Form::Plain }),
        "cselect" => return Some(MaskOp { bits: Bits::Copy, form: Form::Select }),
        "cmov" => return Some(MaskOp { bits: Bits::Copy, form: Form::Move }),
        _ if stem.ends_with("_saveexec") => Form::SaveExec,
        _ if stem.ends_with("_wrexec") => Form::WriteExec,
        _ => Form::Plain,
    };
    let stem = stem.trim_end_matches("_saveexec").trim_end_matches("_wrexec");
    let bits = match stem {
        "not" => Bits::Not,
        "and" => Bits::And,
        "or" => Bits::Or,
        "xor" => Bits::Xor,
        "andn2" | "and_not1" => Bits::AndNot,
        "orn2" | "or_not1" => Bits::OrNot,
        "andn1" | "and_not0" => Bits::NotAnd,
        "orn1" | "or_not0" => Bits::NotOr,
        "nand" => Bits::Nand,
        "nor" => Bits::Nor,
        "xnor" => Bits::Xnor,
        _ => return None,
    };
    Some(MaskOp { bits, form })
}

/// Appends the steps of an operation on masks. Returns whether the instruction is one: its result is read as
/// a mask, or it changes EXEC.
///
/// # Errors
/// An operand is no mask.
pub fn mask(d: &mut Decoder<'_, '_>) -> Result<bool, EmuError> {
    let Some(op) = operation(d.inst.name(), d.lanes) else { return Ok(false) };
    let operands = d.inst.operands();
    let of = |field| operands.iter().find(|o| o.slot.field == field).map(|o| o.value);
    let to = of(Field::Sdst).and_then(low);
    let changes_exec = matches!(op.form, Form::SaveExec | Form::WriteExec);
    if !changes_exec && to.is_none_or(|to| d.mask(to).is_none()) {
        return Ok(false);
    }
    let missing = || unsupported("an operand of it is no mask of lanes");
    let is_mask = |field| {
        of(field).is_none_or(|v| matches!(v, Value::Integer(_) | Value::Literal(_)) || low(v).is_some())
    };
    let masks = is_mask(Field::Ssrc0) && is_mask(Field::Ssrc1);
    if !changes_exec && !masks {
        // As numbers; the mask follows the words.
        return Ok(false);
    }
    let first = source(d, of(Field::Ssrc0).ok_or_else(missing)?)?;
    let second = match op.form {
        Form::SaveExec | Form::WriteExec => d.exec(),
        Form::Move => to.and_then(|to| d.mask(to)).ok_or_else(missing)?,
        Form::Select => source(d, of(Field::Ssrc1).ok_or_else(missing)?)?,
        Form::Plain if matches!(op.bits, Bits::Copy | Bits::Not) => first,
        Form::Plain => source(d, of(Field::Ssrc1).ok_or_else(missing)?)?,
    };
    let (result, before, scc) = (d.b.temp(PlaneKind::Pred), d.b.temp(PlaneKind::Pred), d.scc());
    let args = Args { dst: [result, before, scc, 0], src: [first, second, scc, 0], imm: op.bits as u64 };
    let exec = d.exec();
    match op.form {
        Form::Select | Form::Move => d.wave_main(select, args),
        Form::Plain if op.bits == Bits::Copy => d.wave_main(combine, args),
        Form::Plain => d.wave_main(combine_scc, args),
        Form::SaveExec | Form::WriteExec => {
            d.wave_main(combine_scc, args);
            d.set_mask(Reg::ExecLo, result);
        }
    }
    if let Some(to) = to.filter(|to| *to != Reg::ExecLo || !changes_exec) {
        debug_assert!(exec != 0 || !changes_exec, "code of AMD's has EXEC as a mask");
        d.set_mask(to, if op.form == Form::SaveExec { before } else { result });
    }
    Ok(true)
}

/// The first register of an operand.
pub fn low(value: Value) -> Option<Reg> {
    match value {
        Value::Registers { bank: bank @ (Bank::Scalar | Bank::Trap), first, .. } => Some(bank.reg(first)),
        Value::Named(_, regs) => regs.first().copied(),
        _ => None,
    }
}

/// The predicate plane of a mask that is read.
///
/// # Errors
/// The operand is no mask.
pub fn source(d: &mut Decoder<'_, '_>, value: Value) -> Result<u16, EmuError> {
    let bits = match value {
        Value::Integer(n) => i64::from(n) as u64,
        // The high half of a literal is 0 (RDNA 3 ISA, "Literal Constant").
        Value::Literal(n) => u64::from(n),
        _ => {
            let low = low(value).ok_or_else(|| unsupported("an operand of it is no mask of lanes"))?;
            return Ok(mask_of(d, low));
        }
    };
    match bits {
        0 => return Ok(d.b.const_pred(false)),
        u64::MAX => return Ok(d.b.const_pred(true)),
        _ => {}
    }
    let to = d.b.temp(PlaneKind::Pred);
    d.wave_all(constant_mask, Args { dst: [to, 0, 0, 0], src: [0; 4], imm: bits });
    Ok(to)
}

/// The predicate plane of a mask in registers; a temporary if the code has only words there.
pub fn mask_of(d: &mut Decoder<'_, '_>, low: Reg) -> u16 {
    match d.mask(low) {
        Some(plane) => plane,
        None => d.temporary_mask(low),
    }
}

fn constant_mask(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    w.set_mask(a.dst[0], a.imm);
}

/// Copies the second source, and writes the result of the operation whose number is `imm`.
fn combine(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let (x, y) = (w.mask(a.src[0]), w.mask(a.src[1]));
    let all = if w.lanes() == 64 { u64::MAX } else { u64::from(u32::MAX) };
    const TABLE: [fn(u64, u64) -> u64; 12] = [
        |x, _| x,
        |x, _| !x,
        |x, y| x & y,
        |x, y| x | y,
        |x, y| x ^ y,
        |x, y| x & !y,
        |x, y| x | !y,
        |x, y| !x & y,
        |x, y| !x | y,
        |x, y| !(x & y),
        |x, y| !(x | y),
        |x, y| !(x ^ y),
    ];
    let result = TABLE.get(a.imm as usize).map_or(x, |f| f(x, y)) & all;
    w.set_mask(a.dst[0], result);
    w.set_mask(a.dst[1], y);
}

/// The same, and SCC says whether the result has a lane.
fn combine_scc(w: &mut Wave<'_, '_>, a: &Args, lanes: u64) {
    combine(w, a, lanes);
    let any = w.mask(a.dst[0]) != 0;
    w.set_condition(a.dst[2], any);
}

/// The first source where SCC is set, else the second.
fn select(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let from = if w.mask(a.src[2]) & 1 == 1 { a.src[0] } else { a.src[1] };
    let lanes = w.mask(from);
    w.set_mask(a.dst[0], lanes);
}
