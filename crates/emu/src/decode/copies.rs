//! Decoding of asynchronous copies, tensor maps and mbarriers.

use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Inst, Operand, Type};
use prlx_trace::kernel::Scalar;

use super::address::address;
use super::binder::{Binder, PlaneKind, kind, leaves};
use crate::code::{
    AddrBase, AddrSpace, BulkCopy, LaneCopy, MbarrierKind, MbarrierOp, MemAccess, Op, Plane, TensorCopy,
    TensorMapEdit, TensorMapOp,
};
use crate::code::{TensorMapField, TensorReduction};
use crate::error::{EmuError, unsupported};

/// `cp.async`, without tensors.
pub fn copy(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    if f.has("bulk") {
        return bulk(b, inst);
    }
    if !f.has("async") || f.has("reduce") {
        return Err(unsupported("it is not implemented"));
    }
    if f.has("commit_group") {
        b.emit_main(Op::LaneCopyCommit);
        return Ok(());
    }
    if f.has("wait_all") {
        b.emit_main(Op::LaneCopyWait(u32::MAX));
        return Ok(());
    }
    if f.has("wait_group") {
        let Some(Operand::Int(n)) = inst.operands.first() else {
            return Err(unsupported("its count is not a constant"));
        };
        b.emit_main(Op::LaneCopyWait(u32::try_from(*n).unwrap_or(0).min(u32::MAX - 1)));
        return Ok(());
    }
    if f.has("mbarrier") {
        return mbarrier(b, inst);
    }
    let [to, from, size, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
    };
    let Operand::Int(bytes @ (4 | 8 | 16)) = size else {
        return Err(unsupported("its size is not 4, 8 or 16"));
    };
    let mut mem = Vec::new();
    for (o, place) in [(to, AddrSpace::Shared), (from, AddrSpace::Global)] {
        let (at, base, offset) = address(b, o, inst)?;
        // The first space of the opcode is that of the destination. A symbol has a space of its own.
        let place = if base == AddrBase::None { at } else { place };
        mem.push(MemAccess {
            space: place,
            base,
            offset,
            size: *bytes as u8,
            strong: false,
            planes: Vec::new(),
        });
    }
    let (Some(src), Some(dst)) = (mem.pop(), mem.pop()) else {
        return Err(unsupported("it has too few operands"));
    };
    // A cache policy is the last operand, and 64 bits wide.
    let rest = if f.mods.iter().any(|m| m.starts_with("L2::cache_hint")) {
        &rest[..rest.len().saturating_sub(1)]
    } else {
        rest
    };
    let (mut size, mut ignore) = (None, None);
    match rest.first() {
        Some(Operand::Reg(r)) if kind(b.reg_type(*r)) == PlaneKind::Pred => {
            ignore = Some(b.source(&rest[0], Type::Pred)?)
        }
        Some(o @ Operand::Not(_)) => ignore = Some(b.source(o, Type::Pred)?),
        Some(o) => size = Some(b.source(o, Type::B32)?),
        None => {}
    }
    b.code.copies.push(LaneCopy { dst, src, size, ignore });
    let at = b.code.copies.len() as u32 - 1;
    b.emit_main(Op::LaneCopy(at));
    Ok(())
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`.
fn bulk(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
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
            return Err(unsupported("its count is not a constant"));
        };
        b.emit_main(Op::BulkWait(u32::try_from(*n).unwrap_or(0), f.has("read")));
        return Ok(());
    }
    if let Some(m) = f.mods.iter().find(|m| UNKNOWN.iter().any(|u| m.starts_with(u))) {
        return Err(unsupported(format!("`.{m}` is not implemented")));
    }
    if f.has("tensor") {
        return tensor(b, inst);
    }
    let [to, from, size, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
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
                _ => return Err(unsupported("this reduction is not implemented")),
            };
            Some((reduce.on(ty).map_err(unsupported)?, (ty.bits() / 8) as u8))
        }
    };
    b.code.bulks.push(BulkCopy { dst, src, size, mbarrier, reduce, multicast });
    let at = b.code.bulks.len() as u32 - 1;
    b.emit_main(Op::BulkCopy(at));
    Ok(())
}

/// Modifiers of bulk copies that change their meaning and are not supported.
const UNKNOWN: [&str; 6] = ["im2col", "tile::", "cp_mask", "cta_group", "ignore_oob", "scatter4"];

/// The state spaces in the order of the opcode: destination, source.
fn places(inst: &Inst) -> impl Iterator<Item = AddrSpace> {
    inst.semantics.opcode.split('.').filter_map(|m| match m {
        "global" => Some(AddrSpace::Global),
        "shared::cta" => Some(AddrSpace::Shared),
        "shared::cluster" => Some(AddrSpace::Cluster),
        _ => None,
    })
}

/// The access of an address operand in a state space. A symbol has a space of its own.
pub fn mem(
    b: &mut Binder<'_>,
    inst: &Inst,
    o: &Operand,
    place: Option<AddrSpace>,
    size: u8,
) -> Result<MemAccess, EmuError> {
    let (at, base, offset) = address(b, o, inst)?;
    let place = if base == AddrBase::None {
        at
    } else {
        place.ok_or_else(|| unsupported("its spaces are not understood"))?
    };
    Ok(MemAccess { space: place, base, offset, size, strong: false, planes: Vec::new() })
}

/// The mbarrier that counts the bytes, and the plane of the mask of receiving CTAs.
fn receivers(
    b: &mut Binder<'_>,
    inst: &Inst,
    rest: &[Operand],
) -> Result<(Option<MemAccess>, Option<u16>), EmuError> {
    let Some(at @ (Operand::Address(..) | Operand::Symbol(..))) = rest.first() else {
        return Ok((None, None));
    };
    let mbarrier = mem(b, inst, at, Some(AddrSpace::Cluster), 8)?;
    let ranks = if opcode(inst).has("multicast::cluster") {
        Some(b.source(rest.get(1).ok_or_else(|| unsupported("it does not say who receives it"))?, Type::B16)?)
    } else {
        None
    };
    Ok((Some(mbarrier), ranks))
}

/// The reduction of an instruction, if it is one.
fn reduce(inst: &Inst) -> Result<Option<TensorReduction>, EmuError> {
    let found = || {
        opcode(inst)
            .mods
            .iter()
            .find_map(|m| TensorReduction::named(m))
            .ok_or_else(|| unsupported("its operation is missing"))
    };
    Ok(if opcode(inst).has("reduce") { Some(found()?) } else { None })
}

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`.
fn tensor(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let [to, from, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
    };
    let (load, map, coordinates, shared) = match (to, from) {
        (shared, Operand::Tensor(map, at)) => (true, map, at, shared),
        (Operand::Tensor(map, at), shared) => (false, map, at, shared),
        _ => return Err(unsupported("it names no tensor map")),
    };
    let dimensions = (1..=5)
        .find(|n| opcode(inst).has(&format!("{n}d")))
        .ok_or_else(|| unsupported("its dimensions are missing"))?;
    if dimensions != coordinates.len() {
        return Err(unsupported(format!(
            "it has {} coordinates for {dimensions} dimensions",
            coordinates.len()
        )));
    }
    let space = places(inst).find(|p| *p != AddrSpace::Global);
    let map = mem(b, inst, map, Some(AddrSpace::Generic), 64)?;
    let shared = mem(b, inst, shared, space, 128)?;
    let at = coordinates.iter().map(|o| b.source(o, Type::S32)).collect::<Result<Vec<_>, _>>()?;
    let (mbarrier, multicast) = receivers(b, inst, rest)?;
    if load && mbarrier.is_none() {
        return Err(unsupported("it names no mbarrier"));
    }
    let reduce = reduce(inst)?;
    b.code.tensors.push(TensorCopy { map, at, shared, load, mbarrier, reduce, multicast });
    let i = b.code.tensors.len() as u32 - 1;
    b.emit_main(Op::TensorCopy(i));
    Ok(())
}

/// `tensormap.replace` and `tensormap.cp_fenceproxy` (PTX ISA, Data Movement and Conversion Instructions:
/// tensormap.replace).
pub fn tensor_map(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    let [at, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
    };
    let mut places = places(inst);
    let map = mem(b, inst, at, Some(places.next().unwrap_or(AddrSpace::Generic)), 64)?;
    let kind = if f.has("cp_fenceproxy") {
        let [from, Operand::Int(128), ..] = rest else {
            return Err(unsupported("it does not copy 128 bytes"));
        };
        TensorMapEdit::Copy(mem(b, inst, from, places.next(), 64)?)
    } else {
        let number = |o: Option<&Operand>| match o {
            Some(Operand::Int(n)) => {
                u8::try_from(*n).map_err(|_| unsupported("its dimension is none of five"))
            }
            _ => Err(unsupported("its dimension is not a constant")),
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
            Some("global_address") => (TensorMapField::Address, rest.first()),
            Some("rank") => (TensorMapField::Rank, rest.first()),
            Some("elemtype") => (TensorMapField::Type, rest.first()),
            Some("interleave_layout") => (TensorMapField::Interleave, rest.first()),
            Some("swizzle_mode") => (TensorMapField::Swizzle, rest.first()),
            Some("fill_mode") => (TensorMapField::Fill, rest.first()),
            Some("global_dim") => (TensorMapField::Size(number(rest.first())?), rest.get(1)),
            Some("global_stride") => (TensorMapField::Stride(number(rest.first())?), rest.get(1)),
            Some("box_dim") => (TensorMapField::Tile(number(rest.first())?), rest.get(1)),
            Some("element_stride") => (TensorMapField::Step(number(rest.first())?), rest.get(1)),
            _ => return Err(unsupported("this field is not implemented")),
        };
        if let TensorMapField::Size(5..)
        | TensorMapField::Stride(4..)
        | TensorMapField::Tile(5..)
        | TensorMapField::Step(5..) = field
        {
            return Err(unsupported("its dimension is none of five"));
        }
        let value = value.ok_or_else(|| unsupported("it has too few operands"))?;
        let wide = matches!(field, TensorMapField::Address | TensorMapField::Stride(_));
        let plane = if wide {
            Plane::W64(b.source(value, Type::B64)?)
        } else {
            Plane::W32(b.source(value, Type::B32)?)
        };
        TensorMapEdit::Set(field, plane)
    };
    b.code.maps.push(TensorMapOp { map, kind });
    let at = b.code.maps.len() as u32 - 1;
    b.emit_main(Op::TensorMap(at));
    Ok(())
}

/// `mbarrier`, and `cp.async.mbarrier.arrive`.
pub fn mbarrier(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    let copies = opcode(inst).op == Some(Ptx::Cp);
    let k = match () {
        () if copies => MbarrierKind::ArriveCopies { counted: !f.has("noinc") },
        () if f.has("init") => MbarrierKind::Init,
        () if f.has("inval") => MbarrierKind::Invalidate,
        () if f.has("arrive") && f.has("expect_tx") => MbarrierKind::ArriveExpect { drop: false },
        () if f.has("arrive") => MbarrierKind::Arrive { drop: false },
        () if f.has("arrive_drop") && f.has("expect_tx") => MbarrierKind::ArriveExpect { drop: true },
        () if f.has("arrive_drop") => MbarrierKind::Arrive { drop: true },
        () if f.has("expect_tx") => MbarrierKind::Expect,
        () if f.has("complete_tx") => MbarrierKind::Complete,
        () if f.has("test_wait") || f.has("try_wait") => {
            MbarrierKind::Test { parity: f.has("parity"), yields: f.has("try_wait") }
        }
        () if f.has("pending_count") => MbarrierKind::Pending,
        () => return Err(unsupported("it is not implemented")),
    };
    let (mut result, mut rest) = (None, inst.operands.as_slice());
    let mut after = None;
    if !matches!(rest.first(), Some(Operand::Address(..) | Operand::Symbol(..))) {
        let Some((first, more)) = rest.split_first() else {
            return Err(unsupported("it has too few operands"));
        };
        rest = more;
        match k {
            MbarrierKind::Test { .. } => {
                let (flat, _) = leaves(inst);
                result = Some(b.dest(flat.first().ok_or_else(|| unsupported("no result"))?, Type::Pred)?.0);
            }
            MbarrierKind::Pending => {
                let (at, a) = b.dest(first, Type::B32)?;
                (result, after) = (Some(at), a);
            }
            _ if *first == Operand::Sink => {}
            _ => result = Some(b.dest(first, Type::B64)?.0),
        }
    }
    if k == MbarrierKind::Pending {
        let value =
            Some(Plane::W64(b.source(rest.first().ok_or_else(|| unsupported("no state"))?, Type::B64)?));
        return push(b, MbarrierOp { kind: k, mem: None, result, value }, after);
    }
    let [at, rest @ ..] = rest else { return Err(unsupported("it has no address")) };
    let (place, base, offset) = address(b, at, inst)?;
    let mem = Some(MemAccess { space: place, base, offset, size: 8, strong: true, planes: Vec::new() });
    let value = match (rest.first(), k) {
        (Some(o), MbarrierKind::Test { parity: false, .. }) => Some(Plane::W64(b.source(o, Type::B64)?)),
        (Some(o), _) => Some(Plane::W32(b.source(o, Type::B32)?)),
        (None, _) => None,
    };
    push(b, MbarrierOp { kind: k, mem, result, value }, after)
}

fn push(
    b: &mut Binder<'_>,
    m: MbarrierOp,
    after: Option<super::binder::ResultFixup>,
) -> Result<(), EmuError> {
    b.code.mbarriers.push(m);
    let at = b.code.mbarriers.len() as u32 - 1;
    b.emit_main(Op::Mbarrier(at));
    b.finish(after);
    Ok(())
}
