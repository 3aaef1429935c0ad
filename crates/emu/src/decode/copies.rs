//! Decoding of asynchronous copies and mbarriers.

use prlx_isa::ptx::Op as Ptx;
use prlx_isa::view::{Inst, Operand, Type};

use super::bind::{Binder, Kind, bits, kind, leaves};
use super::inst::address;
use crate::code::{AddrBase, Bulk, Copy, MbarKind, Mbarrier, Mem, Op, Place, Plane};

/// `cp.async`, without tensors.
pub fn copy(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    if f.has("bulk") && !f.has("tensor") {
        return bulk(b, inst);
    }
    if !f.has("async") || f.has("tensor") || f.has("reduce") {
        return Err("it is not implemented".into());
    }
    if f.has("commit_group") {
        b.emit_main(Op::CopyCommit);
        return Ok(());
    }
    if f.has("wait_all") {
        b.emit_main(Op::CopyWait(u32::MAX));
        return Ok(());
    }
    if f.has("wait_group") {
        let Some(Operand::Int(n)) = inst.operands.first() else { return Err("its count is not a constant".into()) };
        b.emit_main(Op::CopyWait(u32::try_from(*n).unwrap_or(0).min(u32::MAX - 1)));
        return Ok(());
    }
    if f.has("mbarrier") {
        return mbarrier(b, inst);
    }
    let [to, from, size, rest @ ..] = inst.operands.as_slice() else { return Err("it has too few operands".into()) };
    let Operand::Int(bytes @ (4 | 8 | 16)) = size else { return Err("its size is not 4, 8 or 16".into()) };
    let mut mem = Vec::new();
    for (o, place) in [(to, Place::Shared), (from, Place::Global)] {
        let (at, base, offset) = address(b, o, inst)?;
        // The first space named is the destination's; a symbol knows its own.
        let place = if base == AddrBase::None { at } else { place };
        mem.push(Mem { place, base, offset, size: *bytes as u8, strong: false, planes: Vec::new() });
    }
    let (Some(src), Some(dst)) = (mem.pop(), mem.pop()) else { return Err("it has too few operands".into()) };
    // A cache policy is the last operand, and 64 bits wide.
    let rest = if f.mods.iter().any(|m| m.starts_with("L2::cache_hint")) {
        &rest[..rest.len().saturating_sub(1)]
    } else {
        rest
    };
    let (mut size, mut ignore) = (None, None);
    match rest.first() {
        Some(Operand::Reg(r)) if kind(b.reg_type(*r)) == Kind::Pred => ignore = Some(b.source(&rest[0], Type::Pred)?),
        Some(o @ Operand::Not(_)) => ignore = Some(b.source(o, Type::Pred)?),
        Some(o) => size = Some(b.source(o, Type::B32)?),
        None => {}
    }
    b.code.copies.push(Copy { dst, src, size, ignore });
    let at = b.code.copies.len() as u32 - 1;
    b.emit_main(Op::Copy(at));
    Ok(())
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`, without tensors.
fn bulk(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    if f.has("commit_group") || f.has("wait_group") || f.has("prefetch") {
        // Copies are done when they begin.
        b.emit_main(Op::Nop);
        return Ok(());
    }
    if f.mods.iter().any(|m| m.starts_with("multicast") || m.starts_with("cp_mask")) {
        return Err("this form is not implemented".into());
    }
    let [to, from, size, rest @ ..] = inst.operands.as_slice() else { return Err("it has too few operands".into()) };
    // The spaces in the order written: destination, source.
    let mut places = f.text.split('.').filter_map(|m| match m {
        "global" => Some(Place::Global),
        "shared::cta" => Some(Place::Shared),
        "shared::cluster" => Some(Place::Cluster),
        _ => None,
    });
    let mem = |b: &mut Binder<'_>, o: &Operand, place: Option<Place>, size: u8| -> Result<Mem, String> {
        let (at, base, offset) = address(b, o, inst)?;
        let place = if base == AddrBase::None { at } else { place.ok_or("its spaces are not understood")? };
        Ok(Mem { place, base, offset, size, strong: false, planes: Vec::new() })
    };
    let dst = mem(b, to, places.next(), 16)?;
    let src = mem(b, from, places.next(), 16)?;
    let size = b.source(size, Type::U32)?;
    let mbarrier = match rest.first() {
        Some(o @ (Operand::Address(..) | Operand::Symbol(..))) => Some(mem(b, o, Some(Place::Cluster), 8)?),
        _ => None,
    };
    let reduce = match (f.has("reduce"), f.types.last()) {
        (true, Some(&ty)) => {
            use crate::code::Rmw;
            let rmw = match (f.one_of(&["add", "min", "max", "inc", "dec", "and", "or", "xor"]), ty) {
                (Some("add"), Type::F32) => Rmw::AddF32 { flush: false },
                (Some("add"), Type::F64) => Rmw::AddF64,
                (Some("add"), Type::F16) => Rmw::AddF16,
                (Some("add"), Type::Bf16) => Rmw::AddBf16,
                (_, Type::F16 | Type::Bf16 | Type::F32 | Type::F64) => {
                    return Err("this reduction is not implemented".into());
                }
                (Some("add"), _) => Rmw::Add,
                (Some("min"), Type::S32 | Type::S64) => Rmw::MinS,
                (Some("max"), Type::S32 | Type::S64) => Rmw::MaxS,
                (Some("min"), _) => Rmw::MinU,
                (Some("max"), _) => Rmw::MaxU,
                (Some("inc"), _) => Rmw::Inc,
                (Some("dec"), _) => Rmw::Dec,
                (Some("and"), _) => Rmw::And,
                (Some("or"), _) => Rmw::Or,
                (Some("xor"), _) => Rmw::Xor,
                _ => return Err("this reduction is not implemented".into()),
            };
            Some((rmw, (bits(ty) / 8) as u8))
        }
        _ => None,
    };
    b.code.bulks.push(Bulk { dst, src, size, mbarrier, reduce });
    let at = b.code.bulks.len() as u32 - 1;
    b.emit_main(Op::Bulk(at));
    Ok(())
}

/// `mbarrier`, and `cp.async.mbarrier.arrive`.
pub fn mbarrier(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    let copies = inst.form.op == Some(Ptx::Cp);
    let k = match () {
        () if copies => MbarKind::ArriveCopies { counted: !f.has("noinc") },
        () if f.has("init") => MbarKind::Init,
        () if f.has("inval") => MbarKind::Invalidate,
        () if f.has("arrive") && f.has("expect_tx") => MbarKind::ArriveExpect { drop: false },
        () if f.has("arrive") => MbarKind::Arrive { drop: false },
        () if f.has("arrive_drop") && f.has("expect_tx") => MbarKind::ArriveExpect { drop: true },
        () if f.has("arrive_drop") => MbarKind::Arrive { drop: true },
        () if f.has("expect_tx") => MbarKind::Expect,
        () if f.has("complete_tx") => MbarKind::Complete,
        () if f.has("test_wait") || f.has("try_wait") => {
            MbarKind::Test { parity: f.has("parity"), yields: f.has("try_wait") }
        }
        () if f.has("pending_count") => MbarKind::Pending,
        () => return Err("it is not implemented".into()),
    };
    let (mut result, mut rest) = (None, inst.operands.as_slice());
    let mut after = None;
    if !matches!(rest.first(), Some(Operand::Address(..) | Operand::Symbol(..))) {
        let Some((first, more)) = rest.split_first() else { return Err("it has too few operands".into()) };
        rest = more;
        match k {
            MbarKind::Test { .. } => {
                let (flat, _) = leaves(inst);
                result = Some(b.dest(flat.first().ok_or("no result")?, Type::Pred)?.0);
            }
            MbarKind::Pending => {
                let (at, a) = b.dest(first, Type::B32)?;
                (result, after) = (Some(at), a);
            }
            _ if *first == Operand::Sink => {}
            _ => result = Some(b.dest(first, Type::B64)?.0),
        }
    }
    if k == MbarKind::Pending {
        let value = Some(Plane::W64(b.source(rest.first().ok_or("no state")?, Type::B64)?));
        return push(b, Mbarrier { kind: k, mem: None, result, value }, after);
    }
    let [at, rest @ ..] = rest else { return Err("it has no address".into()) };
    let (place, base, offset) = address(b, at, inst)?;
    let mem = Some(Mem { place, base, offset, size: 8, strong: true, planes: Vec::new() });
    let value = match (rest.first(), k) {
        (Some(o), MbarKind::Test { parity: false, .. }) => Some(Plane::W64(b.source(o, Type::B64)?)),
        (Some(o), _) => Some(Plane::W32(b.source(o, Type::B32)?)),
        (None, _) => None,
    };
    push(b, Mbarrier { kind: k, mem, result, value }, after)
}

fn push(b: &mut Binder<'_>, m: Mbarrier, after: Option<super::bind::After>) -> Result<(), String> {
    b.code.mbarriers.push(m);
    let at = b.code.mbarriers.len() as u32 - 1;
    b.emit_main(Op::Mbarrier(at));
    b.finish(after);
    Ok(())
}
