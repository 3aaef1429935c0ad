//! Decoding of tile operations, asynchronous copies and mbarriers.

use prlx_isa::ptx::Op as Ptx;
use prlx_isa::view::{Inst, Operand, Type};

use super::bind::{Binder, Kind, bits, kind, leaves};
use super::inst::address;
use crate::code::{AddrBase, Bulk, Copy, Matrix, MbarKind, Mbarrier, Mem, Mma, Op, Place, Plane, Sync, SyncKind};

/// A warp-wide operation on tiles.
fn tile(b: &mut Binder<'_>, t: Matrix) {
    b.code.matrix.push(t);
    let kind = SyncKind::Matrix(b.code.matrix.len() as u32 - 1);
    b.code.syncs.push(Sync { kind, members: None, dst: 0, pred: None, src: [0; 3], flag: false });
    let at = b.code.syncs.len() as u32 - 1;
    b.emit_main(Op::Sync(at));
}

fn list(o: &Operand) -> &[Operand] {
    match o {
        Operand::Vector(v) => v,
        o => std::slice::from_ref(o),
    }
}

/// `ldmatrix`, `stmatrix`, `movmatrix`.
pub fn rows(b: &mut Binder<'_>, inst: &Inst, op: Ptx) -> Result<(), String> {
    let f = &inst.form;
    if !f.has("m8n8") || f.ty(0) != Some(Type::B16) {
        return Err("only 8x8 tiles of 16-bit elements are implemented".into());
    }
    let [first, second, ..] = inst.operands.as_slice() else { return Err("it needs two operands".into()) };
    if op == Ptx::Movmatrix {
        let src = b.source(second, Type::B32)?;
        let (dst, _) = b.dest(first, Type::B32)?;
        tile(b, Matrix::Transpose { dst, src });
        return Ok(());
    }
    let (regs, at) = if op == Ptx::Ldmatrix { (first, second) } else { (second, first) };
    let (place, base, offset) = address(b, at, inst)?;
    let planes = list(regs).iter().map(|o| b.element(o, Type::B32)).collect::<Result<Vec<_>, _>>()?;
    if planes.iter().any(|p| !matches!(p, Plane::W32(_) | Plane::None)) {
        return Err("its registers are not of 32 bits".into());
    }
    if !matches!(planes.len(), 1 | 2 | 4) {
        return Err(format!("it names {} registers", planes.len()));
    }
    let mem = Mem { place, base, offset, size: 16, strong: false, planes };
    let trans = f.has("trans");
    tile(b, if op == Ptx::Ldmatrix { Matrix::Load { mem, trans } } else { Matrix::Store { mem, trans } });
    Ok(())
}

/// The four matrices' planes: D, A, B, C.
fn operands(b: &mut Binder<'_>, inst: &Inst, types: [Type; 4]) -> Result<[Vec<u16>; 4], String> {
    let mut planes = [const { Vec::new() }; 4];
    if inst.operands.len() < 4 {
        return Err("it has too few operands".into());
    }
    for (i, o) in inst.operands.iter().take(4).enumerate() {
        let ty = if types[i] == Type::F64 { Type::B64 } else { Type::B32 };
        for o in list(o) {
            planes[i].push(if i == 0 { b.dest(o, ty)?.0 } else { b.source(o, ty)? });
        }
    }
    Ok(planes)
}

/// `mma.sync`.
pub fn mma(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    let (m, n, k) = f.mods.iter().find_map(|m| dimensions(m)).ok_or("its shape is missing")?;
    let [d, a, bt, c] = f.types[..] else { return Err("this form is not implemented".into()) };
    if f.mods.iter().any(|m| m == "sp" || m.starts_with("sp::")) {
        return Err("sparse matrices are not implemented".into());
    }
    if f.mods.iter().any(|m| m.starts_with("kind::") || m.contains("block_scale")) {
        return Err("block-scaled forms and their types are for sm_100 and later, and not implemented".into());
    }
    use Type::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let fits = match (a, bt) {
        (F16, F16) => m == 16 && matches!(k, 8 | 16) && matches!(d, F16 | F32) && c == d,
        (Bf16, Bf16) => m == 16 && matches!(k, 8 | 16) && d == F32 && c == F32,
        (Tf32, Tf32) => m == 16 && matches!(k, 4 | 8) && d == F32 && c == F32,
        (E4m3 | E5m2, E4m3 | E5m2) => m == 16 && matches!(k, 16 | 32) && matches!(d, F16 | F32) && c == d,
        (S8 | U8, S8 | U8) => matches!((m, k), (16, 16 | 32) | (8, 16)) && d == S32 && c == S32,
        (S4 | U4, S4 | U4) => matches!((m, k), (16, 32 | 64) | (8, 32)) && d == S32 && c == S32,
        (B1, B1) => matches!((m, k), (16, 128 | 256) | (8, 128)) && d == S32 && c == S32 && popc(inst),
        (F64, F64) => matches!((m, k), (16, 4 | 8 | 16) | (8, 4)) && d == F64 && c == F64,
        _ => false,
    };
    if !fits || n != 8 || !f.has("row") || !f.has("col") {
        return Err("this shape is not implemented for these types".into());
    }
    let types = [d, a, bt, c];
    let planes = operands(b, inst, types)?;
    // Elements of a register, of A and B; accumulators are two to a register if they are halves.
    let e = if a == F64 { 1 } else { 32 / bits(a).max(1) };
    let results = m * n / 32 * bits(d) / if d == F64 { 64 } else { 32 };
    let want = [results, m * k / 32 / e, n * k / 32 / e, results];
    let have = planes.each_ref().map(|p| p.len() as u32);
    if want != have {
        return Err(format!("it names {have:?} registers where {want:?} are needed"));
    }
    let op = Mma { m, n, k, types, planes, saturate: f.has("satfinite"), and: f.has("and"), linear: false };
    tile(b, Matrix::Mma(Box::new(op)));
    Ok(())
}

/// Whether it says how bits are multiplied.
fn popc(inst: &Inst) -> bool {
    inst.form.has("popc") && (inst.form.has("and") || inst.form.has("xor"))
}

/// `wmma`.
pub fn wmma(b: &mut Binder<'_>, inst: &Inst) -> Result<(), String> {
    let f = &inst.form;
    let (m, n, k) = f.mods.iter().find_map(|m| dimensions(m)).ok_or("its shape is missing")?;
    use Type::{B1, Bf16, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let fits = |ty| match ty {
        F16 | Bf16 | S8 | U8 => matches!((m, n, k), (16, 16, 16) | (32, 8, 16) | (8, 32, 16)),
        Tf32 => (m, n, k) == (16, 16, 8),
        F64 => (m, n, k) == (8, 8, 4),
        S4 | U4 => (m, n, k) == (8, 8, 32),
        B1 => (m, n, k) == (8, 8, 128),
        _ => false,
    };
    let shape = "this shape is not implemented for these types";
    if f.has("mma") {
        let types = match f.types[..] {
            [d, c] => [d, F16, F16, c],
            [d, a, bt, c] => [d, a, bt, c],
            _ => return Err("its types are not understood".into()),
        };
        let known = match types {
            [F16 | F32, F16, F16, F16 | F32] | [F32, Bf16, Bf16, F32] | [F32, Tf32, Tf32, F32] => true,
            [S32, S8, S8, S32] | [S32, U8, U8, S32] | [S32, S4, S4, S32] | [S32, U4, U4, S32] => true,
            [S32, B1, B1, S32] => popc(inst),
            types => types == [F64; 4],
        };
        if !known || !fits(types[1]) {
            return Err(shape.into());
        }
        let planes = operands(b, inst, types)?;
        for (i, total) in [m * n, m * k, k * n, m * n].into_iter().enumerate() {
            check(planes[i].len(), total, types[i])?;
        }
        let op = Mma { m, n, k, types, planes, saturate: f.has("satfinite"), and: f.has("and"), linear: true };
        tile(b, Matrix::Mma(Box::new(op)));
        return Ok(());
    }
    let ty = f.types.last().copied().ok_or("its type is missing")?;
    // Of B a fragment has the columns.
    let (rows, cols, col) = match () {
        () if f.has("a") => (m, k, f.has("col")),
        () if f.has("b") => (n, k, f.has("row")),
        () => (m, n, f.has("col")),
    };
    let factor = f.has("a") || f.has("b");
    let known = if factor { fits(ty) } else { [F16, Bf16, Tf32, S8, S4, B1, F64].into_iter().any(fits) };
    if !known || !factor && !matches!(ty, F16 | F32 | S32 | F64) {
        return Err(shape.into());
    }
    let store = f.has("store");
    let [first, second, rest @ ..] = inst.operands.as_slice() else { return Err("it has too few operands".into()) };
    let (at, regs) = if store { (first, second) } else { (second, first) };
    let (place, base, offset) = address(b, at, inst)?;
    let element = if ty == F64 { Type::B64 } else { Type::B32 };
    let planes = list(regs).iter().map(|o| b.element(o, element)).collect::<Result<Vec<_>, _>>()?;
    check(planes.len(), rows * cols, ty)?;
    let stride = rest.first().map(|o| b.source(o, Type::U32)).transpose()?;
    // Narrow elements go by words, which takes rows of A and columns of B.
    let narrow = bits(ty) < 8;
    if narrow && col {
        return Err("elements of 4 bits or one are only in rows of A and columns of B".into());
    }
    let (bits, unit) = if narrow { (32, 32 / bits(ty).max(1)) } else { (bits(ty), 1) };
    let mem = Mem { place, base, offset, size: (bits / 8) as u8, strong: false, planes };
    let t = crate::code::Tile { mem, stride, unit, rows, cols: cols / unit, col, bits, store };
    tile(b, Matrix::Tile(Box::new(t)));
    Ok(())
}

/// Whether some registers can hold a lane's part of so many elements.
fn check(registers: usize, total: u32, ty: Type) -> Result<(), String> {
    let e = if ty == Type::F64 { 1 } else { 32 / bits(ty).max(1) };
    let (have, need) = (registers as u32 * e, total / 32);
    if have < need || !have.is_multiple_of(need.max(1)) {
        return Err(format!("its {registers} registers can't hold a part of {total} elements"));
    }
    Ok(())
}

fn dimensions(m: &str) -> Option<(u32, u32, u32)> {
    let (m, rest) = m.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some((m.parse().ok()?, n.parse().ok()?, k.parse().ok()?))
}

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
