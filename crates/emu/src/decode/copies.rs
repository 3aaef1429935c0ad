//! Decoding of asynchronous copies, tensor maps and mbarriers.

use prlx_isa::ptx::Op as Ptx;
use prlx_isa::view::{Inst, Operand, Type};
use prlx_trace::kernel::Scalar;

use super::bind::{Binder, Kind, kind, leaves};
use super::inst::address;
use crate::code::{
    AddrBase, Bulk, Copy, MapKind, MapWork, MbarKind, Mbarrier, Mem, Op, Place, Plane, TensorCopy,
};
use crate::tensor::{Field, Reduce};

/// `cp.async`, without tensors.
pub fn copy(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    if f.has("bulk") {
        return bulk(b, inst);
    }
    if !f.has("async") || f.has("reduce") {
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
        let Some(Operand::Int(n)) = inst.operands.first() else {
            return Err("its count is not a constant".into());
        };
        b.emit_main(Op::CopyWait(u32::try_from(*n).unwrap_or(0).min(u32::MAX - 1)));
        return Ok(());
    }
    if f.has("mbarrier") {
        return mbarrier(b, inst);
    }
    let [to, from, size, rest @ ..] = inst.operands.as_slice() else {
        return Err("it has too few operands".into());
    };
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
        Some(Operand::Reg(r)) if kind(b.reg_type(*r)) == Kind::Pred => {
            ignore = Some(b.source(&rest[0], Type::Pred)?)
        }
        Some(o @ Operand::Not(_)) => ignore = Some(b.source(o, Type::Pred)?),
        Some(o) => size = Some(b.source(o, Type::B32)?),
        None => {}
    }
    b.code.copies.push(Copy { dst, src, size, ignore });
    let at = b.code.copies.len() as u32 - 1;
    b.emit_main(Op::Copy(at));
    Ok(())
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`.
fn bulk(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    if f.has("prefetch") {
        // Caches are not simulated.
        b.emit_main(Op::Nop);
        return Ok(());
    }
    if f.has("commit_group") {
        b.emit_main(Op::BulkCommit);
        return Ok(());
    }
    if f.has("wait_group") {
        let Some(Operand::Int(n)) = inst.operands.first() else {
            return Err("its count is not a constant".into());
        };
        b.emit_main(Op::BulkWait(u32::try_from(*n).unwrap_or(0), f.has("read")));
        return Ok(());
    }
    if let Some(m) = f.mods.iter().find(|m| UNKNOWN.iter().any(|u| m.starts_with(u))) {
        return Err(format!("`.{m}` is not implemented"));
    }
    if f.has("tensor") {
        return tensor(b, inst);
    }
    let [to, from, size, rest @ ..] = inst.operands.as_slice() else {
        return Err("it has too few operands".into());
    };
    let mut places = places(inst);
    let dst = mem(b, inst, to, places.next(), 16)?;
    let src = mem(b, inst, from, places.next(), 16)?;
    let size = b.source(size, Type::U32)?;
    let (mbarrier, multicast) = receivers(b, inst, rest)?;
    let reduce = match reduce(inst)? {
        None => None,
        Some(reduce) => {
            let ty = match f.types.last() {
                Some(Type::U32 | Type::B32) => Scalar::U32,
                Some(Type::U64 | Type::B64) => Scalar::U64,
                Some(Type::S32) => Scalar::S32,
                Some(Type::S64) => Scalar::S64,
                Some(Type::F16) => Scalar::F16,
                Some(Type::Bf16) => Scalar::Bf16,
                Some(Type::F32) => Scalar::F32,
                Some(Type::F64) => Scalar::F64,
                _ => return Err("this reduction is not implemented".into()),
            };
            Some((reduce.on(ty)?, (ty.bits() / 8) as u8))
        }
    };
    b.code.bulks.push(Bulk { dst, src, size, mbarrier, reduce, multicast });
    let at = b.code.bulks.len() as u32 - 1;
    b.emit_main(Op::Bulk(at));
    Ok(())
}

/// What changes the meaning of a bulk copy and is not done.
const UNKNOWN: [&str; 6] = ["im2col", "tile::", "cp_mask", "cta_group", "ignore_oob", "scatter4"];

/// The spaces in the order written: destination, source.
fn places(inst: &Inst) -> impl Iterator<Item = Place> {
    inst.form.text.split('.').filter_map(|m| match m {
        "global" => Some(Place::Global),
        "shared::cta" => Some(Place::Shared),
        "shared::cluster" => Some(Place::Cluster),
        _ => None,
    })
}

/// An address in a space; a symbol knows its own.
fn mem(b: &mut Binder<'_>, inst: &Inst, o: &Operand, place: Option<Place>, size: u8) -> Result<Mem, String> {
    let (at, base, offset) = address(b, o, inst)?;
    let place = if base == AddrBase::None { at } else { place.ok_or("its spaces are not understood")? };
    Ok(Mem { place, base, offset, size, strong: false, planes: Vec::new() })
}

/// The mbarrier that counts the bytes, and who receives them.
fn receivers(
    b: &mut Binder<'_>,
    inst: &Inst,
    rest: &[Operand],
) -> Result<(Option<Mem>, Option<u16>), String> {
    let Some(at @ (Operand::Address(..) | Operand::Symbol(..))) = rest.first() else {
        return Ok((None, None));
    };
    let mbarrier = mem(b, inst, at, Some(Place::Cluster), 8)?;
    let ranks = if inst.form.has("multicast::cluster") {
        Some(b.source(rest.get(1).ok_or("it does not say who receives it")?, Type::B16)?)
    } else {
        None
    };
    Ok((Some(mbarrier), ranks))
}

/// What a reduction does.
fn reduce(inst: &Inst) -> Result<Option<Reduce>, String> {
    let found = || inst.form.mods.iter().find_map(|m| Reduce::named(m)).ok_or("its operation is missing");
    Ok(if inst.form.has("reduce") { Some(found()?) } else { None })
}

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
fn tensor(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let [to, from, rest @ ..] = inst.operands.as_slice() else {
        return Err("it has too few operands".into());
    };
    let (load, map, coordinates, shared) = match (to, from) {
        (shared, Operand::Tensor(map, at)) => (true, map, at, shared),
        (Operand::Tensor(map, at), shared) => (false, map, at, shared),
        _ => return Err("it names no tensor map".into()),
    };
    let dimensions = (1..=5).find(|n| inst.form.has(&format!("{n}d"))).ok_or("its dimensions are missing")?;
    if dimensions != coordinates.len() {
        return Err(format!("it has {} coordinates for {dimensions} dimensions", coordinates.len()));
    }
    let space = places(inst).find(|p| *p != Place::Global);
    let map = mem(b, inst, map, Some(Place::Generic), 64)?;
    let shared = mem(b, inst, shared, space, 128)?;
    let at = coordinates.iter().map(|o| b.source(o, Type::S32)).collect::<Result<Vec<_>, _>>()?;
    let (mbarrier, multicast) = receivers(b, inst, rest)?;
    if load && mbarrier.is_none() {
        return Err("it names no mbarrier".into());
    }
    let reduce = reduce(inst)?;
    b.code.tensors.push(TensorCopy { map, at, shared, load, mbarrier, reduce, multicast });
    let i = b.code.tensors.len() as u32 - 1;
    b.emit_main(Op::Tensor(i));
    Ok(())
}

/// `tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA, Data Movement and Conversion Instructions: tensormap.replace).
pub fn tensor_map(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    let [at, rest @ ..] = inst.operands.as_slice() else { return Err("it has too few operands".into()) };
    let mut places = places(inst);
    let map = mem(b, inst, at, Some(places.next().unwrap_or(Place::Generic)), 64)?;
    let kind = if f.has("cp_fenceproxy") {
        let [from, Operand::Int(128), ..] = rest else { return Err("it does not copy 128 bytes".into()) };
        MapKind::Copy(mem(b, inst, from, places.next(), 64)?)
    } else {
        let number = |o: Option<&Operand>| match o {
            Some(Operand::Int(n)) => u8::try_from(*n).map_err(|_| "its dimension is none of five"),
            _ => Err("its dimension is not a constant"),
        };
        let name = f.mods.iter().find_map(|m| {
            let known =
                ["global_address", "rank", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"];
            known
                .iter()
                .chain(&["global_dim", "global_stride", "box_dim", "element_stride"])
                .find(|n| *n == m)
                .copied()
        });
        let (field, value) = match name {
            Some("global_address") => (Field::Address, rest.first()),
            Some("rank") => (Field::Rank, rest.first()),
            Some("elemtype") => (Field::Type, rest.first()),
            Some("interleave_layout") => (Field::Interleave, rest.first()),
            Some("swizzle_mode") => (Field::Swizzle, rest.first()),
            Some("fill_mode") => (Field::Fill, rest.first()),
            Some("global_dim") => (Field::Size(number(rest.first())?), rest.get(1)),
            Some("global_stride") => (Field::Stride(number(rest.first())?), rest.get(1)),
            Some("box_dim") => (Field::Tile(number(rest.first())?), rest.get(1)),
            Some("element_stride") => (Field::Step(number(rest.first())?), rest.get(1)),
            _ => return Err("this field is not implemented".into()),
        };
        if let Field::Size(5..) | Field::Stride(4..) | Field::Tile(5..) | Field::Step(5..) = field {
            return Err("its dimension is none of five".into());
        }
        let value = value.ok_or("it has too few operands")?;
        let wide = matches!(field, Field::Address | Field::Stride(_));
        let plane = if wide {
            Plane::W64(b.source(value, Type::B64)?)
        } else {
            Plane::W32(b.source(value, Type::B32)?)
        };
        MapKind::Set(field, plane)
    };
    b.code.maps.push(MapWork { map, kind });
    let at = b.code.maps.len() as u32 - 1;
    b.emit_main(Op::TensorMap(at));
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
