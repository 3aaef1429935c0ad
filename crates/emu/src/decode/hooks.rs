//! Binds the actions of a recording plan to the decoded code, as hooks.

use prlx_isa::view::{Class, Function, FunctionKind, InstId, Operand, Type};
use prlx_plan::{Action, At, Insertion, SpanBegin};

use super::binder::Binder;
use crate::code::{Hook, HookValue, Op};
use crate::error::EmuError;

/// Binds the values of one action of the plan to planes and appends its step.
///
/// # Errors
/// When an operand of the action cannot be read here.
pub fn action(
    b: &mut Binder<'_>,
    function: &Function,
    inst: InstId,
    insertion: &Insertion,
    counters: (u16, u16),
) -> Result<(), EmuError> {
    b.begin(inst, insertion.guard);
    let mut hook = Hook {
        action: insertion.action.clone(),
        values: Vec::new(),
        pred: None,
        of: None,
        kernel: function.kind == FunctionKind::Kernel,
        leaves: function.insts.get(inst.index()).is_some_and(|i| i.class == Class::Exit),
        counters,
        after: matches!(insertion.at, At::After(_)),
    };
    if let Action::Event { of: Some(guard), .. } = &insertion.action {
        hook.of = Some((b.reg(guard.reg), guard.negate));
    }
    match &insertion.action {
        Action::Probe(code) => {
            for operand in &code.operands {
                hook.values.push(b.value(operand)?);
            }
        }
        Action::Mark { words, .. } | Action::Group { values: words } => {
            for word in words {
                hook.values.push(b.value(&word.of)?);
            }
        }
        Action::Span { begin: Some(SpanBegin { word: Some(word), .. }), .. } => {
            hook.values.push(b.value(&word.of)?)
        }
        Action::Bits { reg, .. } | Action::TripRead { reg, .. } => {
            hook.values.push(b.value(&Operand::Reg(*reg))?)
        }
        Action::Event { value: Some(Operand::Reg(r)), .. } if b.reg_type(*r) == Type::Pred => {
            hook.pred = Some(b.reg(*r));
        }
        Action::Event { value: Some(v), .. } => values(b, v, &mut hook.values)?,
        Action::ValueHash { values: v, .. }
        | Action::Fold { values: v, .. }
        | Action::Operands { values: v, .. } => {
            for v in v {
                values(b, v, &mut hook.values)?;
            }
        }
        _ => {}
    }
    b.code.hooks.push(hook);
    let at = b.code.hooks.len() as u32 - 1;
    b.emit(Op::Hook(at));
    Ok(())
}

/// Binds every element of an operand.
fn values(b: &mut Binder<'_>, v: &Operand, out: &mut Vec<HookValue>) -> Result<(), EmuError> {
    match v {
        Operand::Vector(list) => list.iter().try_for_each(|v| values(b, v, out)),
        Operand::Sink => Ok(()),
        v => {
            out.push(b.value(v)?);
            Ok(())
        }
    }
}
