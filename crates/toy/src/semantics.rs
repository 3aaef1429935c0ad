//! What the toy's operations do, in the words of the neutral view.
//!
//! # Invariants
//! - [`roles`] has one role for each operand that the reader makes of an instruction.
//! - What depends on other lanes, on memory or on time has no arithmetic.

use std::sync::Arc;

use prlx_isa::view::{
    Access, Atomic, Barrier, Comparison, Derived, Effect, Eval, Expr, Inst, Native, Order, Participants,
    Role, Scope, Semantics, Space, Type,
};

use crate::code::{Arg, Instruction, Op};

/// The operation of an instruction of the view; `None` for what the view has at the entry.
pub fn native(inst: &Inst) -> Option<&Instruction> {
    inst.semantics.native.get()
}

/// What an instruction does.
pub fn semantics(inst: &Instruction) -> Semantics {
    let space = space(inst);
    Semantics {
        opcode: inst.opcode(),
        // Other operations have the names of PTX.
        names: if inst.op == Op::Barrier { vec!["bar.sync".to_owned()] } else { Vec::new() },
        class: inst.class(),
        space,
        effect: effect(inst),
        result: Some(match inst.op {
            Op::Cmp => Type::Pred,
            Op::Popc => Type::U32,
            _ => inst.ty,
        }),
        input: Some(inst.ty),
        order: match inst.op {
            Op::Atom => Order { strong: true, scope: Scope::Gpu, ..Order::default() },
            Op::Barrier => Order { release: true, acquire: true, ..Order::default() },
            _ => Order::default(),
        },
        // A comparison writes 0 for lanes that `exec` leaves out.
        clears: inst.op == Op::Cmp && inst.is_vector(),
        scalar: !inst.is_vector(),
        results: results(inst.op),
        native: Native::new(Arc::new(inst.clone())),
        ..Semantics::default()
    }
}

fn space(inst: &Instruction) -> Space {
    match inst.op {
        Op::Arg => Space::Param,
        Op::Load | Op::Store | Op::Atom if inst.has("shared") => Space::Shared,
        Op::Load | Op::Store | Op::Atom => Space::Global,
        _ => Space::Generic,
    }
}

fn effect(inst: &Instruction) -> Effect {
    let access = Access { element: Some(inst.ty.bytes()), elements: 1, ..Access::default() };
    match inst.op {
        Op::Cmp => inst.relation().map_or(Effect::Plain, |relation| {
            Effect::Compare(Comparison { relation, ty: inst.ty, join: None })
        }),
        Op::First => Effect::Exchange,
        Op::Arg | Op::Load => Effect::Access(Access { reads: true, ..access }),
        Op::Store => Effect::Access(Access { writes: true, ..access }),
        Op::Atom => {
            let atomics = [("add", Atomic::Add), ("xor", Atomic::Xor), ("cas", Atomic::CompareExchange)];
            let atomic = atomics.iter().find(|(name, _)| inst.has(name)).map_or(Atomic::Other, |row| row.1);
            Effect::Access(Access { reads: true, writes: true, atomic: Some(atomic), ..access })
        }
        Op::Barrier => Effect::Barrier(Barrier {
            participants: Participants::Cta,
            arrives: true,
            waits: true,
            converged: true,
        }),
        _ => Effect::Plain,
    }
}

/// The arithmetic of an instruction with one result. `wide`: whether what `mov` copies is a register of 64
/// bits, or of 32.
pub fn eval(inst: &Instruction, wide: Option<bool>) -> Option<(Eval, Type)> {
    let eval = match (inst.op, wide, inst.ty.bits()) {
        (Op::Mov, Some(false), 64) => Eval::Convert(Type::U32),
        (Op::Mov, Some(true), 32) => Eval::Convert(Type::U64),
        _ => inst.eval()?,
    };
    Some((eval, inst.ty))
}

/// The arithmetic of operations with two results, or of several steps.
fn results(op: Op) -> Vec<Derived> {
    let operand = |at| Expr::Operand(at, 0);
    let of = |eval, args| Expr::Of(eval, Type::Pred, args);
    let result = |operand, value| Derived { operand, element: 0, value };
    match op {
        // The operands are the result, both sources.
        Op::AndNot => vec![result(0, of(Eval::And, vec![operand(1), of(Eval::Not, vec![operand(2)])]))],
        // The operands are the result, the mask, and `exec`.
        Op::Save => vec![result(0, operand(2)), result(2, of(Eval::And, vec![operand(2), operand(1)]))],
        _ => Vec::new(),
    }
}

/// The roles of the operands, those included that the text does not have.
pub fn roles(inst: &Instruction) -> Vec<Role> {
    if matches!(inst.op, Op::Branch | Op::Skip | Op::Loop) {
        return vec![Role::Target];
    }
    let explicit = inst.args.iter().enumerate().map(|(at, arg)| match (inst.op, arg) {
        (_, Arg::Address(..)) => Role::Addr,
        (Op::Arg, Arg::Name(..)) => Role::Addr,
        (Op::Store, _) => Role::Use,
        _ if at == 0 => Role::Def,
        _ => Role::Use,
    });
    let implicit = match inst.op {
        Op::Save => Some(Role::UseDef),
        Op::First => Some(Role::Use),
        _ => None,
    };
    explicit.chain(implicit).collect()
}
