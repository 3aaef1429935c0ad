//! Lowers an instruction to the operations with which a decoder evaluates it again.
//!
//! # Invariants
//!
//! - Lowered operations give exactly what the instruction writes to the registers that they write. Registers
//!   that they do not write are unknown afterwards.
//! - A decoder register holds at least the low bits of its register. Operations mask what they read to their
//!   type.

use std::collections::{BTreeSet, HashMap};

use prlx_isa::view::{
    Access, Base, Class, Comparison, Derived, Effect, Eval, Expr, FunctionKind, Inst, InstId, Operand, Reg,
    Role, Space,
};
use prlx_trace::kernel::{Alu, Scalar, Special};

use crate::function::body::{Body, scalar, written};

/// One operation of the decode program: `to = op(args)`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Operation {
    pub to: DecoderPlace,
    pub op: Alu,
    pub ty: Scalar,
    pub args: Vec<Value>,
}

/// What an operation writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum DecoderPlace {
    Reg(Reg),
    /// Needed only until the instruction is done.
    Temp(u32),
}

/// What an operation reads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Value {
    At(DecoderPlace),
    Const(u64),
    Special(Special),
    Param { offset: u32, size: u8 },
}

/// The operations that do what instruction `at` does; `None` if that can't be said.
pub(crate) fn lower(body: &Body<'_>, at: InstId) -> Option<Vec<Operation>> {
    let inst = body.inst(at);
    if !inst.semantics.results.is_empty() {
        return derived(body, at, inst);
    }
    if inst.roles.first() == Some(&Role::UseDef) {
        return None;
    }
    let to = inst.operands.first()?;
    match inst.semantics.effect {
        Effect::Compare(comparison) => return compare(inst, comparison),
        Effect::Access(access) => return load_param(body, inst, to, access),
        _ => {}
    }
    let (eval, ty) = inst.eval?;
    let &Operand::Reg(to) = to else { return None };
    if matches!(eval, Eval::Convert(from) if float(scalar(from)) || float(scalar(ty))) {
        return None;
    }
    one(body, to, eval, scalar(ty), arguments(inst)?)
}

/// Instructions that no decoder evaluates, but of which equal inputs make equal results on one device:
/// floating-point arithmetic, approximations too, comparisons, conversions and moves. All that they read are
/// registers and constants.
pub(crate) fn on_device(body: &Body<'_>) -> BTreeSet<InstId> {
    let pure = |at: &InstId| {
        let inst = body.inst(*at);
        let arithmetic = matches!(
            inst.class,
            Class::Move | Class::Float | Class::Convert | Class::Compare | Class::Select
        );
        arithmetic
            && !inst.semantics.scalar
            && matches!(inst.semantics.effect, Effect::Plain | Effect::Compare(_))
            && inst.operands.iter().all(own)
            && lower(body, *at).is_none()
    };
    (0..body.function.insts.len() as u32).map(InstId).filter(pure).collect()
}

/// Whether an operation reads a parameter of the kernel.
pub(crate) fn reads_parameters(operations: &[Operation]) -> bool {
    operations.iter().flat_map(|o| &o.args).any(|arg| matches!(arg, Value::Param { .. }))
}

/// Whether an operand is registers of the lane and constants only.
fn own(operand: &Operand) -> bool {
    match operand {
        Operand::Reg(_) | Operand::Not(_) | Operand::Element(..) | Operand::Sink => true,
        Operand::Int(_) | Operand::F32(_) | Operand::F64(_) => true,
        Operand::Vector(list) => list.iter().all(own),
        Operand::Pair(a, b) => own(a) && own(b),
        _ => false,
    }
}

/// The results that the view describes as expressions, but those that nothing reads.
fn derived(body: &Body<'_>, at: InstId, inst: &Inst) -> Option<Vec<Operation>> {
    let mut out = Vec::new();
    let mut results = Vec::new();
    for Derived { operand, element, value } in &inst.semantics.results {
        let Some(&Operand::Reg(to)) = part(inst, *operand, *element) else { continue };
        if !body.flow.is_used(at, to) {
            continue;
        }
        // Results are written when all are computed, since they may be inputs.
        let ty = body.function.regs.get(to.index()).map_or(Scalar::B32, |r| scalar(r.ty));
        if let Some(mut value) = expression(inst, value, &mut out) {
            if let Value::At(DecoderPlace::Reg(from)) = value
                && written(inst).contains(&from)
            {
                let kept = DecoderPlace::Temp(out.len() as u32);
                out.push(Operation { to: kept, op: Alu::Mov, ty, args: vec![value] });
                value = Value::At(kept);
            }
            results.push(Operation { to: DecoderPlace::Reg(to), op: Alu::Mov, ty, args: vec![value] });
        }
    }
    match (out.last_mut(), results.as_slice()) {
        (Some(last), [only]) if only.args == [Value::At(last.to)] => last.to = only.to,
        _ => out.extend(results),
    }
    Some(out).filter(|out| !out.is_empty())
}

/// An operand, or its element if it is a vector.
fn part(inst: &Inst, operand: usize, element: usize) -> Option<&Operand> {
    match inst.operands.get(operand)? {
        Operand::Vector(list) => list.get(element),
        operand => Some(operand),
    }
}

/// Appends the operations of an expression. Returns where its value is.
fn expression(inst: &Inst, value: &Expr, out: &mut Vec<Operation>) -> Option<Value> {
    match value {
        Expr::Operand(operand, element) => self::value(part(inst, *operand, *element)?),
        Expr::Int(n) => Some(Value::Const(*n as u64)),
        Expr::Of(eval, ty, args) => {
            let start = out.len();
            let args: Option<Vec<Value>> = args.iter().map(|arg| expression(inst, arg, out)).collect();
            let to = DecoderPlace::Temp(out.len() as u32);
            let operation = args.and_then(|args| {
                let (op, ty) = match eval {
                    Eval::Convert(from) => (Alu::Extend, scalar(*from)),
                    eval => (alu(*eval)?, scalar(*ty)),
                };
                Some(Operation { to, op, ty, args })
            });
            if operation.is_none() {
                out.truncate(start);
            }
            out.push(operation?);
            Some(Value::At(to))
        }
    }
}

/// The operations whose inputs are known, or come from such operations.
pub(crate) fn known_part(operations: &[Operation], known: impl Fn(Reg) -> bool) -> Vec<Operation> {
    let mut written: HashMap<DecoderPlace, bool> = HashMap::new();
    let mut out = Vec::new();
    for o in operations {
        let good = o.args.iter().all(|arg| match arg {
            Value::At(place) => match (written.get(place), place) {
                (Some(good), _) => *good,
                (None, DecoderPlace::Reg(reg)) => known(*reg),
                (None, DecoderPlace::Temp(_)) => false,
            },
            Value::Const(_) | Value::Special(_) | Value::Param { .. } => true,
        });
        written.insert(o.to, good);
        out.extend(good.then(|| o.clone()));
    }
    // Temporaries alone are no result.
    if !out.iter().any(|o| matches!(o.to, DecoderPlace::Reg(_))) {
        out.clear();
    }
    out
}

/// The operations that a register's value comes from.
pub(crate) fn part_for(operations: &[Operation], reg: Reg) -> Vec<Operation> {
    let mut wanted = vec![DecoderPlace::Reg(reg)];
    let mut out = Vec::new();
    for o in operations.iter().rev().filter(|o| !matches!(o.to, DecoderPlace::Reg(r) if r != reg)) {
        if wanted.contains(&o.to) {
            wanted.extend(o.args.iter().filter_map(|arg| match arg {
                Value::At(place @ DecoderPlace::Temp(_)) => Some(*place),
                _ => None,
            }));
            out.push(o.clone());
        }
    }
    out.reverse();
    out
}

/// Whether operations write a register.
pub(crate) fn gives(operations: &[Operation], reg: Reg) -> bool {
    operations.iter().any(|o| o.to == DecoderPlace::Reg(reg))
}

/// What an instruction reads as values, after its result.
fn arguments(inst: &Inst) -> Option<Vec<Value>> {
    let uses = inst.operands.iter().zip(&inst.roles).skip(1).filter(|(_, role)| **role == Role::Use);
    uses.map(|(o, _)| value(o)).collect()
}

/// `setp.lt.and p|q, a, b, c`: p is (a < b) and c, q is not (a < b), and c.
fn compare(inst: &Inst, comparison: Comparison) -> Option<Vec<Operation>> {
    let (p, q) = match inst.operands.first()? {
        Operand::Pair(p, q) => (&**p, &**q),
        p => (p, &Operand::Sink),
    };
    let (op, ty) = (alu(comparison.relation)?, scalar(comparison.ty));
    let mut args = arguments(inst)?;
    let join = match comparison.join {
        None => None,
        Some(_) if args.len() != 3 => return None,
        Some(join) => Some((alu(join)?, args.pop()?)),
    };
    if args.len() != 2 || float(ty) || p == q {
        return None;
    }
    let place = |o: &Operand| match o {
        Operand::Reg(r) => Some(Some(DecoderPlace::Reg(*r))),
        Operand::Sink => Some(None),
        _ => None,
    };
    let (p, q) = (place(p)?, place(q)?);
    // Through temporaries, since `c` may be one of the results.
    let (yes, no) = (DecoderPlace::Temp(0), DecoderPlace::Temp(1));
    if let (None, Some(to), None) = (&join, p, q) {
        return Some(vec![Operation { to, op, ty, args }]);
    }
    let pred = |to, op, args| Operation { to, op, ty: Scalar::Pred, args };
    let mut out = vec![Operation { to: yes, op, ty, args }, pred(no, Alu::Not, vec![Value::At(yes)])];
    if let Some((op, with)) = join {
        out.push(pred(yes, op, vec![Value::At(yes), with]));
        out.push(pred(no, op, vec![Value::At(no), with]));
    }
    out.extend(p.map(|to| pred(to, Alu::Mov, vec![Value::At(yes)])));
    out.extend(q.map(|to| pred(to, Alu::Mov, vec![Value::At(no)])));
    Some(out)
}

fn one(body: &Body<'_>, to: Reg, eval: Eval, ty: Scalar, args: Vec<Value>) -> Option<Vec<Operation>> {
    let place = DecoderPlace::Reg(to);
    let (op, ty) = match eval {
        Eval::Convert(from) => {
            let from = scalar(from);
            // Narrowing: the destination's type says how the rest of a wider register is filled.
            let by = if ty.bits() < from.bits() { ty } else { from };
            let widest = body.function.regs.get(to.index()).map_or(64, |r| scalar(r.ty).bits());
            let mut out = vec![Operation { to: place, op: Alu::Extend, ty: by, args }];
            if widest > ty.bits() && ty != by {
                out.push(Operation { to: place, op: Alu::Extend, ty, args: vec![Value::At(place)] });
            }
            return Some(out);
        }
        // Amounts are 32 bits wide whatever the type, and masking them to it would change large ones.
        Eval::Shl | Eval::Shr if ty.bits() < 32 && !matches!(args.get(1), Some(Value::Const(0..=64))) => {
            return None;
        }
        _ => (alu(eval)?, ty),
    };
    if float(ty) && !matches!(op, Alu::Mov | Alu::Select) {
        return None;
    }
    let want = match op {
        Alu::Mov | Alu::Not | Alu::Neg | Alu::Abs | Alu::Popc | Alu::Clz | Alu::Extend => 1,
        Alu::Mad | Alu::MadWide | Alu::Select | Alu::Bfe => 3,
        Alu::Lop3 => 4,
        _ => 2,
    };
    (args.len() == want).then(|| vec![Operation { to: place, op, ty, args }])
}

/// A load from the parameter buffer of a kernel; in a device function nothing is known of parameters.
fn load_param(body: &Body<'_>, inst: &Inst, to: &Operand, access: Access) -> Option<Vec<Operation>> {
    let reads = access.reads && !access.writes && !access.tile;
    if body.function.kind != FunctionKind::Kernel || inst.space != Space::Param || !reads {
        return None;
    }
    let Operand::Address(Base::Symbol(symbol), plus) = inst.operands.get(1)? else { return None };
    let param = body.function.params.iter().position(|p| p == symbol)?;
    let start = i64::from(*body.function.param_offsets.get(param)?).checked_add(*plus)?;
    let ty = scalar(inst.semantics.result?);
    let size = u8::try_from(ty.bits() / 8).ok().filter(|s| matches!(s, 1 | 2 | 4 | 8))?;
    let targets = match to {
        Operand::Vector(v) => v.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut out = Vec::new();
    for (i, target) in targets.iter().enumerate() {
        let offset = u32::try_from(start.checked_add(i as i64 * i64::from(size))?).ok()?;
        match target {
            Operand::Reg(r) => out.push(Operation {
                to: DecoderPlace::Reg(*r),
                op: if float(ty) { Alu::Mov } else { Alu::Extend },
                ty,
                args: vec![Value::Param { offset, size }],
            }),
            Operand::Sink => {}
            _ => return None,
        }
    }
    Some(out)
}

/// Whether arithmetic on it rounds.
pub(crate) fn float(ty: Scalar) -> bool {
    use Scalar::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    matches!(ty, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64)
}

fn value(operand: &Operand) -> Option<Value> {
    match operand {
        Operand::Reg(r) => Some(Value::At(DecoderPlace::Reg(*r))),
        Operand::Int(i) => Some(Value::Const(*i as u64)),
        Operand::F32(b) => Some(Value::Const(u64::from(*b))),
        Operand::F64(b) => Some(Value::Const(*b)),
        Operand::Special(s) => Special::ALL.iter().find(|k| k.name() == s).map(|k| Value::Special(*k)),
        _ => None,
    }
}

fn alu(eval: Eval) -> Option<Alu> {
    Some(match eval {
        Eval::Mov => Alu::Mov,
        Eval::Add => Alu::Add,
        Eval::Sub => Alu::Sub,
        Eval::Mul => Alu::Mul,
        Eval::MulHi => Alu::MulHi,
        Eval::MulWide => Alu::MulWide,
        Eval::Mad => Alu::Mad,
        Eval::MadWide => Alu::MadWide,
        Eval::Div => Alu::Div,
        Eval::Rem => Alu::Rem,
        Eval::And => Alu::And,
        Eval::Or => Alu::Or,
        Eval::Xor => Alu::Xor,
        Eval::Not => Alu::Not,
        Eval::Shl => Alu::Shl,
        Eval::Shr => Alu::Shr,
        Eval::Neg => Alu::Neg,
        Eval::Abs => Alu::Abs,
        Eval::Min => Alu::Min,
        Eval::Max => Alu::Max,
        Eval::Select => Alu::Select,
        Eval::Eq => Alu::Eq,
        Eval::Ne => Alu::Ne,
        Eval::Lt => Alu::Lt,
        Eval::Le => Alu::Le,
        Eval::Gt => Alu::Gt,
        Eval::Ge => Alu::Ge,
        Eval::Popc => Alu::Popc,
        Eval::Clz => Alu::Clz,
        Eval::Bfe => Alu::Bfe,
        Eval::Lop3 => Alu::Lop3,
        Eval::Convert(_) | Eval::LoadParam => return None,
    })
}

/// Registers that operations read from outside.
fn reads(operations: &[Operation]) -> Vec<Reg> {
    let mut written: Vec<DecoderPlace> = Vec::new();
    let mut out = Vec::new();
    for o in operations {
        for arg in &o.args {
            if let Value::At(place @ DecoderPlace::Reg(r)) = arg
                && !written.contains(place)
                && !out.contains(r)
            {
                out.push(*r);
            }
        }
        written.push(o.to);
    }
    out
}

/// Everything that evaluating `at` reads, its guard included.
pub(crate) fn inputs(body: &Body<'_>, at: InstId, operations: &[Operation]) -> Vec<Reg> {
    let mut regs = reads(operations);
    regs.extend(body.inst(at).guard.map(|g| g.reg));
    regs
}
