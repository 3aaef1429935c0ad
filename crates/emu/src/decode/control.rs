//! Decoding of calls, barriers and what lanes of a warp do together.

use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Inst, Operand, Reg, Role, Type};

use super::binder::{Binder, PlaneKind, bits, kind, leaves};
use crate::code::{BarrierKind, BarrierOp, Builtin, Call, Callee, Op, Plane, Slot, WarpOp, WarpOpKind};
use crate::error::{EmuError, unsupported};

/// The slot of a register that is an argument or result of a call.
pub fn reg_slot(b: &Binder<'_>, r: Reg) -> Slot {
    let at = b.reg(r);
    match kind(b.reg_type(r)) {
        PlaneKind::Pred => Slot::Pred(at),
        PlaneKind::W32 => Slot::Plane(Plane::W32(at)),
        PlaneKind::W64 => Slot::Plane(Plane::W64(at)),
        PlaneKind::W128 => Slot::Plane(Plane::W128(at)),
    }
}

/// `call (results), callee, (arguments), prototype`.
pub fn call(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let target = inst
        .roles
        .iter()
        .position(|&r| r == Role::Target)
        .or_else(|| inst.operands.iter().position(|o| !matches!(o, Operand::List(_))))
        .filter(|&i| i < inst.operands.len())
        .ok_or_else(|| unsupported("it names no function"))?;
    let callee = match &inst.operands[target] {
        Operand::Symbol(s, _) => {
            let symbol =
                b.module.symbols.get(s.index()).ok_or_else(|| unsupported("it names no function"))?;
            match (symbol.function, symbol.name.as_str()) {
                (Some(f), _) => Callee::Direct(f),
                (None, "vprintf") => Callee::Builtin(Builtin::Vprintf),
                (None, "__assertfail") => Callee::Builtin(Builtin::AssertFail),
                (None, "malloc") => Callee::Builtin(Builtin::Malloc),
                (None, "free") => Callee::Builtin(Builtin::Free),
                _ if symbol.launches_kernels() => {
                    return Err(unsupported(
                        "it launches a kernel from a kernel, which the CPU device cannot do",
                    ));
                }
                (None, name) if name.starts_with("cudaCG") => {
                    return Err(unsupported(format!(
                        "`{name}` of the CUDA device runtime synchronises several GPUs (`this_multi_grid()`), or the \
                         grid before CUDA 11; the CPU device has `this_grid()` of CUDA 11 and later"
                    )));
                }
                (None, name) => return Err(unsupported(format!("`{name}` has no body in this module"))),
            }
        }
        o @ Operand::Reg(_) => Callee::Indirect(b.source(o, Type::B64)?),
        _ => return Err(unsupported("what it calls is not understood")),
    };
    let mut args = Vec::new();
    let mut rets = Vec::new();
    for (i, o) in inst.operands.iter().enumerate() {
        let list = match o {
            Operand::List(list) => list.as_slice(),
            _ => continue,
        };
        for o in list {
            let slot = slot(b, o)?;
            if i < target { rets.push(slot) } else { args.push(slot) }
        }
    }
    let frame = b.code.entries.get(&b.func).map_or(0, |e| e.frame);
    b.code.calls.push(Call { callee, args, rets, frame });
    let at = b.code.calls.len() as u32 - 1;
    b.emit_main(Op::Call(at));
    Ok(())
}

fn slot(b: &mut Binder<'_>, o: &Operand) -> Result<Slot, EmuError> {
    Ok(match o {
        Operand::Symbol(s, 0) if b.local.contains_key(s) => {
            let (at, _) = b.local[s];
            let size = b.module.symbols[s.index()].size;
            Slot::Bytes(at, u32::try_from(size).map_err(|_| unsupported("a parameter of more than 4 GiB"))?)
        }
        Operand::Reg(r) => reg_slot(b, *r),
        Operand::Int(v) => Slot::Plane(Plane::W64(b.const64(*v as u64))),
        Operand::F32(v) => Slot::Plane(Plane::W32(b.const32(*v))),
        Operand::F64(v) => Slot::Plane(Plane::W64(b.const64(*v))),
        Operand::Symbol(..) => Slot::Plane(Plane::W64(b.source(o, Type::B64)?)),
        _ => return Err(unsupported("an argument of this shape is not supported")),
    })
}

/// `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`.
pub fn sync(b: &mut Binder<'_>, inst: &Inst, op: Ptx) -> Result<(), EmuError> {
    let f = opcode(inst);
    // Targets before sm_70 have forms without a mask: the lanes that run them together take part. Hostile
    // schedules may run lanes apart that such a target runs in step.
    let together = !f.has("sync");
    if together && !matches!(op, Ptx::Vote | Ptx::Shfl) {
        return Err(unsupported(
            "the form without `.sync` is not supported: it does not say which lanes take part",
        ));
    }
    let (dst, src) = leaves(inst);
    let one = |names: &[(&str, WarpOpKind)]| names.iter().find(|(n, _)| f.has(n)).map(|&(_, k)| k);
    let ty = f.ty(0).unwrap_or(Type::B32);
    let mut out =
        WarpOp { kind: WarpOpKind::Warp, members: None, dst: 0, pred: None, src: [0; 3], flag: false };
    let mut after = None;
    let mut members = src.last().copied();
    match op {
        Ptx::Shfl => {
            out.kind = one(&[
                ("up", WarpOpKind::Up),
                ("down", WarpOpKind::Down),
                ("bfly", WarpOpKind::Bfly),
                ("idx", WarpOpKind::Idx),
            ])
            .ok_or_else(|| unsupported("its mode is missing"))?;
            let needed = if together { 3 } else { 4 };
            if src.len() < needed {
                return Err(unsupported(format!("it needs {needed} sources")));
            }
            for (i, o) in src.iter().take(3).enumerate() {
                out.src[i] = b.source(o, Type::B32)?;
            }
            (out.dst, after) = b.dest(dst.first().ok_or_else(|| unsupported("no result"))?, Type::B32)?;
            if let Some(p) = dst.get(1) {
                out.pred = Some(b.dest(p, Type::Pred)?.0);
            }
        }
        Ptx::Vote => {
            out.kind = one(&[
                ("all", WarpOpKind::VoteAll),
                ("any", WarpOpKind::VoteAny),
                ("uni", WarpOpKind::VoteUni),
                ("ballot", WarpOpKind::VoteBallot),
            ])
            .ok_or_else(|| unsupported("its mode is missing"))?;
            out.src[0] = b.source(src.first().ok_or_else(|| unsupported("no source"))?, Type::Pred)?;
            let ty = if out.kind == WarpOpKind::VoteBallot { Type::B32 } else { Type::Pred };
            (out.dst, after) = b.dest(dst.first().ok_or_else(|| unsupported("no result"))?, ty)?;
        }
        Ptx::Match => {
            out.kind = if f.has("all") { WarpOpKind::MatchAll } else { WarpOpKind::MatchAny };
            out.flag = bits(ty) == 64;
            out.src[0] = b.source(src.first().ok_or_else(|| unsupported("no source"))?, ty)?;
            (out.dst, after) = b.dest(dst.first().ok_or_else(|| unsupported("no result"))?, Type::B32)?;
            if let Some(p) = dst.get(1) {
                out.pred = Some(b.dest(p, Type::Pred)?.0);
            }
        }
        Ptx::Redux => {
            let (abs, nan) = (f.has("abs"), f.has("NaN"));
            out.kind = match (f.one_of(&["add", "min", "max", "and", "or", "xor"]), ty) {
                (Some("add"), Type::U32 | Type::S32) => WarpOpKind::ReduxAdd,
                (Some("min"), Type::U32) => WarpOpKind::ReduxMinU,
                (Some("max"), Type::U32) => WarpOpKind::ReduxMaxU,
                (Some("min"), Type::S32) => WarpOpKind::ReduxMinS,
                (Some("max"), Type::S32) => WarpOpKind::ReduxMaxS,
                (Some("min"), Type::F32) => WarpOpKind::ReduxMinF { abs, nan },
                (Some("max"), Type::F32) => WarpOpKind::ReduxMaxF { abs, nan },
                (Some("and"), _) => WarpOpKind::ReduxAnd,
                (Some("or"), _) => WarpOpKind::ReduxOr,
                (Some("xor"), _) => WarpOpKind::ReduxXor,
                _ => return Err(unsupported("this reduction is not supported")),
            };
            out.src[0] = b.source(src.first().ok_or_else(|| unsupported("no source"))?, Type::B32)?;
            (out.dst, after) = b.dest(dst.first().ok_or_else(|| unsupported("no result"))?, Type::B32)?;
        }
        Ptx::Elect => {
            out.kind = WarpOpKind::Elect;
            (out.dst, after) = b.dest(dst.first().ok_or_else(|| unsupported("no result"))?, Type::B32)?;
            out.pred = Some(
                b.dest(dst.get(1).ok_or_else(|| unsupported("it has no predicate result"))?, Type::Pred)?.0,
            );
        }
        // bar.warp.sync: the mask is its only operand.
        _ => members = dst.first().copied(),
    }
    out.members = Some(match members.filter(|_| !together) {
        Some(mask) => b.source(mask, Type::B32)?,
        None if together => {
            let mask = b.temp(PlaneKind::W32);
            b.emit(Op::ActiveMask(mask));
            mask
        }
        None => return Err(unsupported("its mask is missing")),
    });
    b.code.warp_ops.push(out);
    let at = b.code.warp_ops.len() as u32 - 1;
    b.emit_main(Op::Exchange(at));
    b.finish(after);
    Ok(())
}

/// `bar`, `barrier`.
pub fn bar(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    if f.has("cluster") {
        // A CTA that is launched without clusters is a cluster of its own.
        let kind = if f.has("arrive") { BarrierKind::ClusterArrive } else { BarrierKind::ClusterWait };
        b.code.barriers.push(BarrierOp { kind, id: 0, count: None, dst: 0, src: 0 });
        let at = b.code.barriers.len() as u32 - 1;
        b.emit_main(Op::Barrier(at));
        return Ok(());
    }
    let leaf: Vec<Operand> = {
        let (a, c) = leaves(inst);
        a.into_iter().chain(c).cloned().collect()
    };
    let red = f.has("red");
    let kind = match () {
        () if f.has("arrive") => BarrierKind::Arrive,
        () if !red => BarrierKind::Sync,
        () if f.has("popc") => BarrierKind::Popc,
        () if f.has("and") => BarrierKind::And,
        () if f.has("or") => BarrierKind::Or,
        () => return Err(unsupported("this reduction is not supported")),
    };
    let mut out = BarrierOp { kind, id: 0, count: None, dst: 0, src: 0 };
    let mut at = 0;
    let mut after = None;
    if red {
        let ty = if kind == BarrierKind::Popc { Type::U32 } else { Type::Pred };
        (out.dst, after) = b.dest(leaf.first().ok_or_else(|| unsupported("no result"))?, ty)?;
        at = 1;
    }
    let number = Operand::Int(0);
    out.id = b.source(leaf.get(at).unwrap_or(&number), Type::U32)?;
    let rest = &leaf[(at + 1).min(leaf.len())..];
    let counts = if red { rest.len().saturating_sub(1) } else { rest.len() };
    if counts > 0 {
        out.count = Some(b.source(&rest[0], Type::U32)?);
    }
    if red {
        out.src = b.source(rest.last().ok_or_else(|| unsupported("no source"))?, Type::Pred)?;
    }
    if kind == BarrierKind::Arrive && out.count.is_none() {
        return Err(unsupported("`bar.arrive` needs a thread count"));
    }
    b.code.barriers.push(out);
    let at = b.code.barriers.len() as u32 - 1;
    b.emit_main(Op::Barrier(at));
    b.finish(after);
    Ok(())
}

/// `alloca`, `stacksave`, `stackrestore`.
pub fn stack(b: &mut Binder<'_>, inst: &Inst, op: Ptx) -> Result<(), EmuError> {
    if opcode(inst).types.last() != Some(&Type::U64) {
        return Err(unsupported("32-bit addresses are not supported"));
    }
    let first = inst.operands.first().ok_or_else(|| unsupported("it has too few operands"))?;
    if op == Ptx::Stackrestore {
        let src = b.source(first, Type::U64)?;
        b.emit_main(Op::StackRestore(src));
        return Ok(());
    }
    let (dst, after) = b.dest(first, Type::U64)?;
    if op == Ptx::Stacksave {
        b.emit_main(Op::StackSave(dst));
    } else {
        let size =
            b.source(inst.operands.get(1).ok_or_else(|| unsupported("it has too few operands"))?, Type::U64)?;
        let align = match inst.operands.get(2) {
            None => 8,
            Some(Operand::Int(n)) => u32::try_from(*n)
                .ok()
                .filter(|n| n.is_power_of_two())
                .ok_or_else(|| unsupported("its alignment is no power of two"))?,
            Some(_) => return Err(unsupported("its alignment is not a constant")),
        };
        b.emit_main(Op::Alloca(dst, size, align));
    }
    b.finish(after);
    Ok(())
}
