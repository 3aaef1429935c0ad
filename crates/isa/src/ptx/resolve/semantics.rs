//! What an instruction does with its operands: their roles, and the arithmetic that a decoder can evaluate
//! again.
//!
//! # Invariants
//! - There are as many roles as operands.
//! - An operand in brackets is an address in every operation.
//!
//! # Limitations
//! The carry flag of `.cc` is no operand. Instructions that use it have no [`Eval`].

use super::effects::relation;
use crate::ptx::opcode::Opcode;
use crate::ptx::ops::Op;
use crate::view::{Base, Eval, Function, FunctionKind, Operand, Role, Space, Type};

/// Roles of the operands of an instruction.
pub fn roles(form: &Opcode, operands: &[Operand]) -> Vec<Role> {
    use Role::*;
    let in_brackets = |o: &Operand| matches!(o, Operand::Address(..) | Operand::Tensor(..));
    let first_is_address = operands.first().is_some_and(in_brackets);
    let row: &[Role] = match form.op {
        None => &[Other],
        Some(op) => match op {
            Op::Call => return call(operands),
            // A reduction over a barrier has a result.
            Op::Bar | Op::Barrier if form.has("red") => &[Def, Use],
            Op::Mbarrier if form.has("pending_count") => &[Def, Use],
            Op::Mbarrier | Op::Clusterlaunchcontrol if first_is_address => &[Addr, Use],
            Op::Mbarrier => &[Def, Addr, Use],
            Op::Clusterlaunchcontrol => &[Def, Use],
            Op::Cp => &[Use],
            Op::Multimem if !form.has("ld_reduce") => &[Addr, Use],
            Op::Wmma if form.has("load") => &[Def, Addr, Use],
            Op::Wmma if form.has("store") => &[Addr, Use],
            Op::Wgmma if form.has("mma_async") => &[UseDef, Use],
            Op::Wgmma => &[Use],
            Op::Tcgen05 if form.has("ld") => {
                // Operands before the address are results: the data, and the result of a reduction.
                let results = operands.iter().take_while(|o| !in_brackets(o)).count();
                return operands
                    .iter()
                    .enumerate()
                    .map(|(i, o)| {
                        if in_brackets(o) {
                            Addr
                        } else if i < results {
                            Def
                        } else {
                            Use
                        }
                    })
                    .collect();
            }
            Op::Tcgen05 => &[Use],
            op => op.roles(),
        },
    };
    let last = row.last().copied().unwrap_or(Other);
    operands
        .iter()
        .enumerate()
        .map(|(i, o)| match row.get(i).copied().unwrap_or(last) {
            _ if in_brackets(o) => Addr,
            Other if form.op.is_none() => opaque(o),
            role => role,
        })
        .collect()
}

/// Role of an operand of an unknown operation, which may do anything with its registers.
fn opaque(operand: &Operand) -> Role {
    match operand {
        Operand::Reg(_) | Operand::Vector(_) | Operand::Pair(..) | Operand::Element(..) => Role::UseDef,
        Operand::Label(_) | Operand::Targets(_) => Role::Target,
        _ => Role::Use,
    }
}

/// Roles of `call (results), function, (arguments), prototype`.
fn call(operands: &[Operand]) -> Vec<Role> {
    let has_results = operands.len() > 1 && matches!(operands[0], Operand::List(_));
    operands
        .iter()
        .enumerate()
        .map(|(i, o)| match o {
            Operand::List(_) if i == 0 && has_results => Role::Def,
            Operand::List(_) => Role::Use,
            _ if i == usize::from(has_results) => Role::Target,
            _ => Role::Other,
        })
        .collect()
}

/// The arithmetic of an instruction, if a decoder can evaluate it from the operands alone.
pub fn eval(form: &Opcode, operands: &[Operand], function: &Function) -> Option<(Eval, Type)> {
    let op = form.op?;
    let ty = form.ty(0).or(match op {
        Op::Cvta => Some(Type::U64),
        _ => None,
    })?;
    if form.has("cc") || form.has("sat") || !matches!(operands.first(), Some(Operand::Reg(_))) {
        return None;
    }
    if op == Op::Ld {
        return load_param(form, operands, function, ty);
    }
    let plain = |o: &Operand| {
        matches!(
            o,
            Operand::Reg(_) | Operand::Not(_) | Operand::Int(_) | Operand::Special(_) | Operand::Symbol(..)
        )
    };
    if !operands.iter().skip(1).all(plain) || !(ty.is_integer() || ty == Type::Pred) {
        return None;
    }
    let integer = ty.is_integer();
    let part = |low, wide| {
        if form.has("lo") {
            Some(low)
        } else if form.has("wide") {
            wide
        } else {
            None
        }
    };
    let what = match op {
        Op::Mov => Eval::Mov,
        // In other spaces the generic address is a different number.
        Op::Cvta if form.space() == Space::Global => Eval::Mov,
        Op::And => Eval::And,
        Op::Or => Eval::Or,
        Op::Xor => Eval::Xor,
        Op::Not => Eval::Not,
        Op::Selp if integer => Eval::Select,
        Op::Setp if operands.len() == 3 => relation(form)?,
        _ if !integer => return None,
        Op::Add => Eval::Add,
        Op::Sub => Eval::Sub,
        Op::Mul if form.has("hi") => Eval::MulHi,
        Op::Mul => part(Eval::Mul, Some(Eval::MulWide))?,
        Op::Mad => part(Eval::Mad, Some(Eval::MadWide))?,
        Op::Div => Eval::Div,
        Op::Rem => Eval::Rem,
        Op::Neg => Eval::Neg,
        Op::Abs => Eval::Abs,
        Op::Min if operands.len() == 3 && !form.has("relu") => Eval::Min,
        Op::Max if operands.len() == 3 && !form.has("relu") => Eval::Max,
        Op::Shl => Eval::Shl,
        Op::Shr => Eval::Shr,
        Op::Popc => Eval::Popc,
        Op::Clz => Eval::Clz,
        Op::Bfe => Eval::Bfe,
        Op::Lop3 if operands.len() == 5 && form.mods.is_empty() => Eval::Lop3,
        Op::Cvt if !form.has("pack") => Eval::Convert(form.ty(1).filter(|t| t.is_integer())?),
        _ => return None,
    };
    Some((what, ty))
}

/// A load of a kernel parameter at a constant address.
fn load_param(form: &Opcode, operands: &[Operand], function: &Function, ty: Type) -> Option<(Eval, Type)> {
    if function.kind != FunctionKind::Kernel || form.space() != Space::Param || !ty.is_integer() {
        return None;
    }
    match operands.get(1)? {
        Operand::Address(Base::Symbol(s), _) if function.params.contains(s) => Some((Eval::LoadParam, ty)),
        _ => None,
    }
}
