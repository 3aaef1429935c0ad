//! Decoding of `tcgen05` (PTX ISA, TensorCore 5th Generation Family Instructions).
//!
//! # Limitations
//! Sparse products, shifts of A, masks of zero columns, `tcgen05.shift`, decompression while copying, and
//! loads that reduce are refused. The collector buffers of A and B only save reads, so they have no effect.

use prlx_isa::ptx::opcode;
use prlx_isa::view::{Inst, Operand, Type};

use super::address::address;
use super::binder::Binder;
use super::copies::mem;
use super::matrix::list;
use crate::code::{
    AddrBase, AddrSpace, Op, ProductKind, TensorA, TensorAddress, TensorCopyShape, TensorFragment, TensorOp,
    TensorProduct, TensorShape, TensorWarpOp, WarpOp, WarpOpKind,
};
use crate::error::{EmuError, unsupported};

/// `tcgen05`.
pub fn tcgen05(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let f = opcode(inst);
    let has = |m: &str| f.text.split('.').any(|x| x == m);
    if f.mods.iter().any(|m| m.starts_with("fence::")) {
        // Products run in the order in which they are issued, and loads and stores at once.
        b.emit_main(Op::Nop);
        return Ok(());
    }
    if has("mma") {
        let product = product(b, inst)?;
        return single(b, TensorOp::Product(product));
    }
    match inst.operands.as_slice() {
        [at, rest @ ..] if has("commit") => {
            let place = if has("shared::cluster") { AddrSpace::Cluster } else { AddrSpace::Generic };
            let mbarrier = mem(b, inst, at, Some(place), 8)?;
            let multicast = match (has("multicast::cluster"), rest) {
                (true, [mask]) => Some(b.source(mask, Type::U32)?),
                (false, []) => None,
                _ => return Err(unsupported("its operands are not understood")),
            };
            single(b, TensorOp::Commit { mbarrier, multicast })
        }
        [to, from] if has("cp") => {
            let shape = match () {
                () if has("128x256b") => TensorCopyShape::Lanes128 { bytes: 32 },
                () if has("128x128b") => TensorCopyShape::Lanes128 { bytes: 16 },
                () if has("4x256b") => TensorCopyShape::Quarters,
                () if has("64x128b") && has("warpx2::02_13") => TensorCopyShape::Halves,
                () if has("64x128b") && has("warpx2::01_23") => TensorCopyShape::Pairs,
                () if has("32x128b") && has("warpx4") => TensorCopyShape::Warps,
                () => return Err(unsupported("its shape is not understood")),
            };
            if has("b8x16") {
                return Err(unsupported("decompression while copying is not implemented"));
            }
            let (to, from) = (tensor_address(b, to, inst)?, b.source(from, Type::B64)?);
            single(b, TensorOp::Copy { shape, pair: pair(inst)?, to, from })
        }
        [to, columns] if has("alloc") => {
            let place = if has("shared::cta") { AddrSpace::Shared } else { AddrSpace::Generic };
            let to = mem(b, inst, to, Some(place), 4)?;
            let columns = b.source(columns, Type::U32)?;
            warp(b, TensorWarpOp::Allocate { to, columns })
        }
        [at, columns] if has("dealloc") => {
            let op =
                TensorWarpOp::Free { at: b.source(at, Type::U32)?, columns: b.source(columns, Type::U32)? };
            warp(b, op)
        }
        _ if has("relinquish_alloc_permit") => warp(b, TensorWarpOp::Relinquish),
        _ if has("wait::ld") || has("wait::st") => warp(b, TensorWarpOp::Wait { loads: has("wait::ld") }),
        _ if has("red") => Err(unsupported("loads that reduce are not implemented")),
        [to, at, rest @ ..] if has("ld") => {
            let fragment = fragment(b, inst, at, rest.first(), to, true)?;
            warp(b, TensorWarpOp::Load(fragment))
        }
        [at, rest @ .., from] if has("st") => {
            let fragment = fragment(b, inst, at, rest.first(), from, false)?;
            warp(b, TensorWarpOp::Store(fragment))
        }
        _ => Err(unsupported("it is not implemented")),
    }
}

fn single(b: &mut Binder<'_>, op: TensorOp) -> Result<(), EmuError> {
    b.code.tensor_ops.push(op);
    let at = b.code.tensor_ops.len() as u32 - 1;
    b.emit_main(Op::Tensor(at));
    Ok(())
}

fn warp(b: &mut Binder<'_>, op: TensorWarpOp) -> Result<(), EmuError> {
    b.code.tensor_warp_ops.push(op);
    let kind = WarpOpKind::Tensor(b.code.tensor_warp_ops.len() as u32 - 1);
    b.code.warp_ops.push(WarpOp { kind, members: None, dst: 0, pred: None, src: [0; 3], flag: false });
    let at = b.code.warp_ops.len() as u32 - 1;
    b.emit_main(Op::Exchange(at));
    Ok(())
}

/// Whether both CTAs of a pair take part.
fn pair(inst: &Inst) -> Result<bool, EmuError> {
    match () {
        () if opcode(inst).has("cta_group::1") => Ok(false),
        () if opcode(inst).has("cta_group::2") => Ok(true),
        () => Err(unsupported("its `.cta_group` is missing")),
    }
}

fn tensor_address(b: &mut Binder<'_>, o: &Operand, inst: &Inst) -> Result<TensorAddress, EmuError> {
    let (_, base, offset) = address(b, o, inst)?;
    let plane = match base {
        AddrBase::W32(plane) => plane,
        AddrBase::None => b.const32(0),
        AddrBase::W64(_) => return Err(unsupported("an address of tensor memory has 32 bits")),
    };
    Ok(TensorAddress { plane, offset: offset as u32 })
}

fn fragment(
    b: &mut Binder<'_>,
    inst: &Inst,
    at: &Operand,
    split: Option<&Operand>,
    values: &Operand,
    load: bool,
) -> Result<TensorFragment, EmuError> {
    let f = opcode(inst);
    let has = |m: &str| f.text.split('.').any(|x| x == m);
    let shape = match (split, ()) {
        (None, ()) if has("32x32b") => TensorShape::Lanes32,
        (None, ()) if has("16x64b") => TensorShape::Wide64,
        (None, ()) if has("16x128b") => TensorShape::Wide128,
        (None, ()) if has("16x256b") => TensorShape::Wide256,
        (Some(Operand::Int(by)), ()) if has("16x32bx2") => TensorShape::Split(
            u32::try_from(*by).map_err(|_| unsupported("its half split offset is negative"))?,
        ),
        _ => return Err(unsupported("its shape is not understood")),
    };
    let per = match shape {
        TensorShape::Wide128 => 2,
        TensorShape::Wide256 => 4,
        _ => 1,
    };
    let count = f.text.split('.').find_map(|m| m.strip_prefix('x')?.parse::<usize>().ok());
    let count = count.ok_or_else(|| unsupported("its `.num` is missing"))? * per;
    let mut planes = Vec::new();
    for o in list(values) {
        planes.push(if load { b.dest(o, Type::B32)?.0 } else { b.source(o, Type::B32)? });
    }
    if planes.len() != count {
        return Err(unsupported(format!("it names {} registers where {count} are needed", planes.len())));
    }
    let packed = has("pack::16b") || has("unpack::16b");
    Ok(TensorFragment { at: tensor_address(b, at, inst)?, shape, planes, packed })
}

fn product(b: &mut Binder<'_>, inst: &Inst) -> Result<TensorProduct, EmuError> {
    let f = opcode(inst);
    let has = |m: &str| f.text.split('.').any(|x| x == m);
    for (what, name) in [("sp", "sparse products are"), ("ashift", "shifts of A are")] {
        if has(what) {
            return Err(unsupported(format!("{name} not implemented")));
        }
    }
    let kind = f.mods.iter().find_map(|m| {
        Some(match m.strip_prefix("kind::")? {
            "f16" => ProductKind::F16,
            "tf32" => ProductKind::Tf32,
            "f8f6f4" => ProductKind::F8f6f4,
            "i8" => ProductKind::I8,
            "mxf8f6f4" => ProductKind::Mxf8f6f4,
            "mxf4" => ProductKind::Mxf4,
            "mxf4nvf4" => ProductKind::Mxf4nvf4,
            _ => return None,
        })
    });
    let kind = kind.ok_or_else(|| unsupported("its `.kind` is missing"))?;
    let [d, a, right, descriptor, rest @ ..] = inst.operands.as_slice() else {
        return Err(unsupported("it has too few operands"));
    };
    let scale_count = match (kind, ()) {
        (ProductKind::Mxf8f6f4, ()) => 1,
        (ProductKind::Mxf4nvf4, ()) if has("scale_vec::4X") || has("block16") => 4,
        (ProductKind::Mxf4 | ProductKind::Mxf4nvf4, ()) => 2,
        _ => 0,
    };
    let (mut scales, mut kept_lanes, mut rest) = (None, Vec::new(), rest);
    if scale_count > 0 {
        let [left, right, more @ ..] = rest else { return Err(unsupported("its scales are missing")) };
        scales = Some([tensor_address(b, left, inst)?, tensor_address(b, right, inst)?]);
        rest = more;
    } else if let [mask @ Operand::Vector(_), more @ ..] = rest {
        for o in list(mask) {
            kept_lanes.push(b.source(o, Type::B32)?);
        }
        rest = more;
    }
    let [add, rest @ ..] = rest else { return Err(unsupported("`enable-input-d` is missing")) };
    let stationary = has("ws");
    let shift_d = match rest {
        [] => 0,
        [Operand::Int(n @ 0..=15)] if !stationary => *n as u32,
        _ if stationary => return Err(unsupported("masks of zero columns are not implemented")),
        _ => return Err(unsupported("`scale-input-d` is not a constant from 0 to 15")),
    };
    Ok(TensorProduct {
        kind,
        pair: pair(inst)?,
        stationary,
        d: tensor_address(b, d, inst)?,
        a: match a {
            Operand::Address(..) => TensorA::Tensor(tensor_address(b, a, inst)?),
            o => TensorA::Shared(b.source(o, Type::B64)?),
        },
        b: b.source(right, Type::B64)?,
        descriptor: b.source(descriptor, Type::B32)?,
        scales,
        scale_count,
        kept_lanes,
        add: b.source(add, Type::Pred)?,
        shift_d,
    })
}
