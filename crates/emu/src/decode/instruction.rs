//! Decoding of one instruction.

use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{Class, FunctionKind, Inst, Operand, Space, Type};

use super::address::address;
use super::binder::{Binder, BranchFixup, PlaneKind, bits, bytes, kind, leaves, signed};
use super::{control, copies, matrix, tensor_memory, wgmma};
use crate::code::{
    AddrBase, AddrSpace, AsyncStore, AsyncStoreKind, Atomic, BranchTable, Clock, Correction, MemAccess, Op,
    Plane, Rmw, window,
};
use crate::decode::coverage::{Coverage, coverage};
use crate::decode::select::select;
use crate::error::{EmuError, unsupported};
use prlx_lanes::pack::Mov;
use prlx_lanes::{Args, LaneFn, Simd, entry};
use prlx_lanes::{LANES, Planes, V32, V64};

/// Appends the steps of an instruction.
///
/// # Errors
/// The device does not support the instruction.
pub fn instruction(
    b: &mut Binder<'_>,
    inst: &Inst,
    simd: Simd,
    fixes: &mut Vec<BranchFixup>,
) -> Result<(), EmuError> {
    let Some(op) = opcode(inst).op else {
        return Err(unsupported("it is not an instruction that PRLX knows"));
    };
    if coverage(op) == Coverage::Refused {
        return Err(unsupported("it is not implemented"));
    }
    let f = opcode(inst);
    match op {
        Ptx::Bra => {
            let Some(Operand::Label(to)) = inst.operands.first() else {
                return Err(unsupported("its target is not a label"));
            };
            fixes.push(BranchFixup::Branch(b.code.steps.len(), *to));
            b.emit_main(Op::Bra(u32::MAX));
        }
        Ptx::Brx => {
            let index = b.source(inst.operands.first().ok_or_else(|| unsupported("no index"))?, Type::U32)?;
            let Some(Operand::Targets(to)) = inst.operands.get(1) else {
                return Err(unsupported("its table is not understood"));
            };
            fixes.push(BranchFixup::Table(b.code.steps.len(), b.code.branch_tables.len(), to.clone()));
            b.code.branch_tables.push(BranchTable { index, targets: vec![0; to.len()] });
            let at = b.code.branch_tables.len() as u32 - 1;
            b.emit_main(Op::Brx(at));
        }
        Ptx::Call => return control::call(b, inst),
        Ptx::Ret => b.emit_main(Op::Ret),
        Ptx::Exit => b.emit_main(Op::Exit),
        Ptx::Trap | Ptx::Brkpt => b.emit_main(Op::Trap),
        Ptx::Alloca | Ptx::Stacksave | Ptx::Stackrestore => return control::stack(b, inst, op),
        Ptx::Membar | Ptx::Fence => b.emit_main(Op::Fence),
        Ptx::Nanosleep => b.emit_main(Op::Yield),
        Ptx::Prefetch
        | Ptx::Prefetchu
        | Ptx::Applypriority
        | Ptx::Discard
        | Ptx::Griddepcontrol
        | Ptx::Pmevent => b.emit_main(Op::Nop),
        Ptx::Setmaxnreg => match inst.operands.first() {
            Some(Operand::Int(n)) if (24..=256).contains(n) && n % 8 == 0 => b.emit_main(Op::Nop),
            _ => return Err(unsupported("its register count is not a multiple of 8 from 24 to 256")),
        },
        Ptx::Shfl | Ptx::Vote | Ptx::Match | Ptx::Redux | Ptx::Elect => return control::sync(b, inst, op),
        Ptx::Bar | Ptx::Barrier if f.has("warp") => return control::sync(b, inst, op),
        Ptx::Bar | Ptx::Barrier => return control::bar(b, inst),
        Ptx::Activemask => {
            let (at, after) =
                b.dest(inst.operands.first().ok_or_else(|| unsupported("no result"))?, Type::B32)?;
            b.emit_main(Op::ActiveMask(at));
            b.finish(after);
        }
        Ptx::Mov if matches!(inst.operands[..], [Operand::Vector(_), Operand::Vector(_)]) => {
            return move_vector(b, inst, simd);
        }
        Ptx::Ld | Ptx::Ldu => return load(b, inst),
        Ptx::St | Ptx::Red if f.has("async") => return send(b, inst, op),
        Ptx::St => return store(b, inst),
        Ptx::Atom | Ptx::Red => return atomic(b, inst, op == Ptx::Atom),
        Ptx::Ldmatrix | Ptx::Stmatrix | Ptx::Movmatrix => return matrix::rows(b, inst, op),
        Ptx::Mma => return matrix::mma(b, inst),
        Ptx::Wmma => return matrix::wmma(b, inst),
        Ptx::Wgmma => return wgmma::wgmma(b, inst),
        Ptx::Tcgen05 => return tensor_memory::tcgen05(b, inst),
        Ptx::Cp => return copies::copy(b, inst),
        Ptx::Tensormap => return copies::tensor_map(b, inst),
        Ptx::Mbarrier => return copies::mbarrier(b, inst),
        Ptx::Mapa => return mapa(b, inst),
        Ptx::Getctarank => return getctarank(b, inst),
        Ptx::Cvta => return cvta(b, inst),
        Ptx::Isspacep => return isspacep(b, inst),
        Ptx::Createpolicy => {
            let (at, _) =
                b.dest(inst.operands.first().ok_or_else(|| unsupported("no result"))?, Type::B64)?;
            let zero = b.const64(0);
            b.emit_main(Op::Alu(add64, Args { dst: [at, 0, 0, 0], src: [zero, 0, 0, 0], imm: 0 }));
        }
        Ptx::Mov if clock(inst).is_some() => {
            let c = clock(inst).ok_or_else(|| unsupported("no clock"))?;
            let ty = if matches!(c, Clock::Wide | Clock::Global) { Type::U64 } else { Type::U32 };
            let (at, after) = b.dest(inst.operands.first().ok_or_else(|| unsupported("no result"))?, ty)?;
            b.emit_main(Op::Clock(c, at));
            b.finish(after);
        }
        _ if matches!(
            inst.class,
            Class::Move | Class::Integer | Class::Float | Class::Convert | Class::Compare | Class::Select
        ) =>
        {
            return data(b, inst, simd);
        }
        _ => return Err(unsupported("it is not implemented")),
    }
    Ok(())
}

/// `mov.v2`, `mov.v4`: all elements are read before one is written.
fn move_vector(b: &mut Binder<'_>, inst: &Inst, simd: Simd) -> Result<(), EmuError> {
    let [Operand::Vector(to), Operand::Vector(from)] = &inst.operands[..] else { return Ok(()) };
    if to.len() != from.len() {
        return Err(unsupported("its two vectors have different numbers of elements"));
    }
    let ty = opcode(inst).ty(0).unwrap_or(Type::B32);
    let copy = match kind(ty) {
        PlaneKind::W32 => entry::<Mov<u32>>(simd),
        PlaneKind::W64 => entry::<Mov<u64>>(simd),
        PlaneKind::Pred | PlaneKind::W128 => return Err(unsupported("vectors of this type do not exist")),
    };
    let mut read = Vec::new();
    for source in from {
        let (source, value) = (b.source(source, ty)?, b.temp(kind(ty)));
        b.alu(copy, value, source, 0);
        read.push(value);
    }
    for (n, (target, &value)) in to.iter().zip(&read).enumerate() {
        let (at, after) = b.dest(target, ty)?;
        if n + 1 == to.len() {
            b.emit_main(Op::Alu(copy, Args { dst: [at, 0, 0, 0], src: [value, 0, 0, 0], imm: 0 }));
        } else {
            b.alu(copy, at, value, 0);
        }
        b.finish(after);
    }
    Ok(())
}

fn clock(inst: &Inst) -> Option<Clock> {
    let Some(Operand::Special(name)) = inst.operands.get(1) else { return None };
    Some(match name.as_str() {
        "%clock" => Clock::Low,
        "%clock_hi" => Clock::High,
        "%clock64" => Clock::Wide,
        "%globaltimer" => Clock::Global,
        "%globaltimer_lo" => Clock::GlobalLow,
        "%globaltimer_hi" => Clock::GlobalHigh,
        _ => return None,
    })
}

/// An operation on registers alone.
fn data(b: &mut Binder<'_>, inst: &Inst, simd: Simd) -> Result<(), EmuError> {
    let op = select(inst, simd)?;
    let (dst, mut src) = leaves(inst);
    if opcode(inst).op == Some(Ptx::Lop3) && src.len() > 3 {
        // The table.
        src.remove(3);
    }
    let mut args = Args { imm: op.imm, ..Args::default() };
    for (i, &ty) in op.src.iter().enumerate().take(4) {
        args.src[i] = b.source(src.get(i).ok_or_else(|| unsupported("it has too few sources"))?, ty)?;
    }
    let mut afters = Vec::new();
    for (i, &ty) in op.dst.iter().enumerate().take(4) {
        let (at, after) = b.dest(dst.get(i).unwrap_or(&&Operand::Sink), ty)?;
        args.dst[i] = at;
        afters.extend(after);
    }
    if let Some(table) = b.code.calibrations.iter().position(|c| c.op == inst.semantics.opcode) {
        // The correction needs the operand after the result is written, and both may be the same register.
        let to = std::mem::replace(&mut args.dst[0], b.temp(PlaneKind::W32));
        let planes = [args.src[0], args.dst[0], to];
        b.emit_main(Op::Alu(op.run, args));
        b.code.corrections.push(Correction { table: table as u32, planes });
        b.emit(Op::Correct(b.code.corrections.len() as u32 - 1));
        b.finish(afters);
        return Ok(());
    }
    b.emit_main(Op::Alu(op.run, args));
    b.finish(afters);
    Ok(())
}

fn is_strong(inst: &Inst) -> bool {
    opcode(inst).one_of(&["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"]).is_some()
}

fn elements(b: &mut Binder<'_>, operand: &Operand, ty: Type) -> Result<Vec<Plane>, EmuError> {
    match operand {
        Operand::Vector(v) => v.iter().map(|o| b.element(o, ty)).collect(),
        o => Ok(vec![b.element(o, ty)?]),
    }
}

fn load(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let ty = opcode(inst).types.last().copied().ok_or_else(|| unsupported("its type is missing"))?;
    let [to, from, ..] = inst.operands.as_slice() else { return Err(unsupported("it needs two operands")) };
    let (place, base, offset) = address(b, from, inst)?;
    let mut afters = Vec::new();
    let planes = if signed(ty) && bits(ty) < 64 {
        let list = if let Operand::Vector(v) = to { v.as_slice() } else { std::slice::from_ref(to) };
        let mut planes = Vec::new();
        for o in list {
            let (at, after) = b.dest(o, ty)?;
            planes.push(Plane::W32(at));
            afters.extend(after);
        }
        planes
    } else {
        elements(b, to, ty)?
    };
    b.code.mems.push(MemAccess {
        space: place,
        base,
        offset,
        size: bytes(ty),
        strong: is_strong(inst),
        planes,
    });
    let at = b.code.mems.len() as u32 - 1;
    b.emit_main(Op::Ld(at));
    b.finish(afters);
    Ok(())
}

fn store(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let ty = opcode(inst).types.last().copied().ok_or_else(|| unsupported("its type is missing"))?;
    let [to, from, ..] = inst.operands.as_slice() else { return Err(unsupported("it needs two operands")) };
    let (place, base, offset) = address(b, to, inst)?;
    let planes = elements(b, from, ty)?;
    b.code.mems.push(MemAccess {
        space: place,
        base,
        offset,
        size: bytes(ty),
        strong: is_strong(inst),
        planes,
    });
    let at = b.code.mems.len() as u32 - 1;
    b.emit_main(Op::St(at));
    Ok(())
}

/// `st.async`, `red.async`.
fn send(b: &mut Binder<'_>, inst: &Inst, op: Ptx) -> Result<(), EmuError> {
    let [to, value, mbarrier] = inst.operands.as_slice() else {
        return Err(unsupported("it needs three operands"));
    };
    if inst.space != Space::SharedCluster && inst.space != Space::Generic {
        return Err(unsupported("only the form to `.shared::cluster` is supported"));
    }
    // The addresses are in `.shared::cluster`, even if the opcode does not name the space.
    let place = |mem: MemAccess| MemAccess {
        space: if mem.base == AddrBase::None { mem.space } else { AddrSpace::Cluster },
        ..mem
    };
    let sent = match op {
        Ptx::St => {
            let ty = opcode(inst).types.last().copied().ok_or_else(|| unsupported("its type is missing"))?;
            let (at, base, offset) = address(b, to, inst)?;
            let planes = elements(b, value, ty)?;
            AsyncStoreKind::Store(place(MemAccess {
                space: at,
                base,
                offset,
                size: bytes(ty),
                strong: true,
                planes,
            }))
        }
        _ => {
            let atom = update(b, inst, None, to, std::slice::from_ref(value))?;
            AsyncStoreKind::Update(Atomic { mem: place(atom.mem), ..atom })
        }
    };
    let (at, base, offset) = address(b, mbarrier, inst)?;
    let mbarrier = place(MemAccess { space: at, base, offset, size: 8, strong: true, planes: Vec::new() });
    b.code.async_stores.push(AsyncStore { kind: sent, mbarrier });
    let at = b.code.async_stores.len() as u32 - 1;
    b.emit_main(Op::AsyncStore(at));
    Ok(())
}

fn atomic(b: &mut Binder<'_>, inst: &Inst, result: bool) -> Result<(), EmuError> {
    let (to, rest) = match (result, inst.operands.as_slice()) {
        (true, [to, rest @ ..]) => (Some(to), rest),
        (_, rest) => (None, rest),
    };
    let [at, values @ ..] = rest else { return Err(unsupported("it has too few operands")) };
    let atom = update(b, inst, to, at, values)?;
    b.code.atoms.push(atom);
    let at = b.code.atoms.len() as u32 - 1;
    b.emit_main(Op::Atom(at));
    Ok(())
}

/// Binds a read-modify-write: its result, its address and its operands.
fn update(
    b: &mut Binder<'_>,
    inst: &Inst,
    to: Option<&Operand>,
    at: &Operand,
    operands: &[Operand],
) -> Result<Atomic, EmuError> {
    let f = opcode(inst);
    let ty = f.types.last().copied().ok_or_else(|| unsupported("its type is missing"))?;
    let name = f
        .one_of(&["add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"])
        .ok_or_else(|| unsupported("its operation is missing"))?;
    let rmw = match (name, ty) {
        // The hardware flushes subnormals in global memory and keeps them in shared memory.
        ("add", Type::F32) => Rmw::AddF32 { flush: matches!(inst.space, Space::Global | Space::Generic) },
        ("add", Type::F64) => Rmw::AddF64,
        ("add", Type::F16x2) => Rmw::AddF16x2,
        ("add", Type::Bf16x2) => Rmw::AddBf16x2,
        ("add", Type::F16) => Rmw::AddF16,
        ("add", Type::Bf16) => Rmw::AddBf16,
        ("min" | "max", Type::F16 | Type::Bf16 | Type::F16x2 | Type::Bf16x2) => Rmw::Extreme16 {
            max: name == "max",
            bf16: matches!(ty, Type::Bf16 | Type::Bf16x2),
            pair: matches!(ty, Type::F16x2 | Type::Bf16x2),
        },
        (_, Type::B128) if name != "exch" && name != "cas" => {
            return Err(unsupported("this operation is not implemented for this type"));
        }
        (_, Type::F16 | Type::Bf16 | Type::F16x2 | Type::Bf16x2 | Type::F32 | Type::F64)
            if name != "exch" && name != "cas" =>
        {
            return Err(unsupported("this operation is not implemented for this type"));
        }
        ("add", _) => Rmw::Add,
        ("min", Type::S32 | Type::S64) => Rmw::MinS,
        ("max", Type::S32 | Type::S64) => Rmw::MaxS,
        ("min", _) => Rmw::MinU,
        ("max", _) => Rmw::MaxU,
        ("inc", _) => Rmw::Inc,
        ("dec", _) => Rmw::Dec,
        ("and", _) => Rmw::And,
        ("or", _) => Rmw::Or,
        ("xor", _) => Rmw::Xor,
        ("exch", _) => Rmw::Exch,
        ("cas", _) => Rmw::Cas,
        _ => return Err(unsupported("this operation is not implemented for this type")),
    };
    let [value, more @ ..] = operands else { return Err(unsupported("it has too few operands")) };
    let (place, base, offset) = address(b, at, inst)?;
    let values = elements(b, value, ty)?;
    let swap = if rmw == Rmw::Cas {
        Some(b.element(more.first().ok_or_else(|| unsupported("it has too few operands"))?, ty)?)
    } else {
        None
    };
    let planes = match to {
        Some(to) => elements(b, to, ty)?,
        None => vec![Plane::None; values.len()],
    };
    let mem = MemAccess { space: place, base, offset, size: bytes(ty), strong: true, planes };
    Ok(Atomic { mem, rmw, values, swap })
}

/// The start of the window of a state space in generic addresses; 0 for global and constant memory.
fn window_of(b: &Binder<'_>, inst: &Inst) -> Result<u64, EmuError> {
    Ok(match inst.space {
        Space::Generic | Space::Global | Space::Const | Space::Reg => 0,
        Space::Shared | Space::SharedCluster => window::SHARED,
        Space::Local => window::LOCAL,
        Space::Param if b.function().kind == FunctionKind::Kernel => window::PARAMS,
        Space::Param => window::LOCAL,
    })
}

fn cvta(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let base = window_of(b, inst)?;
    let [to, from, ..] = inst.operands.as_slice() else { return Err(unsupported("it needs two operands")) };
    let at = b.source(from, Type::U64)?;
    let (dst, after) = b.dest(to, opcode(inst).types.last().copied().unwrap_or(Type::U64))?;
    if after.is_some() || opcode(inst).ty(0) == Some(Type::U32) {
        return Err(unsupported("32-bit generic addresses are not supported"));
    }
    let imm = if opcode(inst).has("to") { 0u64.wrapping_sub(base) } else { base };
    b.emit_main(Op::Alu(add64, Args { dst: [dst, 0, 0, 0], src: [at, 0, 0, 0], imm }));
    Ok(())
}

/// `mapa`: an address in the shared memory of the CTA itself becomes the same one in that of another of its
/// cluster.
fn mapa(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let [to, from, rank, ..] = inst.operands.as_slice() else {
        return Err(unsupported("it needs three operands"));
    };
    let ty = opcode(inst).types.last().copied().unwrap_or(Type::U32);
    let (at, rank) = (b.source(from, ty)?, b.source(rank, Type::U32)?);
    let (dst, after) = b.dest(to, ty)?;
    let args = Args { dst: [dst, 0, 0, 0], src: [at, rank, 0, 0], imm: shared_base(inst) };
    b.emit_main(Op::Alu(if bits(ty) == 64 { mapa64 } else { mapa32 }, args));
    b.finish(after);
    Ok(())
}

/// `getctarank`: the CTA whose shared memory an address lies in.
fn getctarank(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let [to, from, ..] = inst.operands.as_slice() else { return Err(unsupported("it needs two operands")) };
    let (at, own) =
        (b.source(from, Type::U64)?, b.source(&Operand::Special("%cluster_ctarank".into()), Type::U32)?);
    let (dst, after) = b.dest(to, Type::U32)?;
    b.emit_main(Op::Alu(rank_of, Args { dst: [dst, 0, 0, 0], src: [at, own, 0, 0], imm: shared_base(inst) }));
    b.finish(after);
    Ok(())
}

/// The start of shared memory in the addresses of an instruction, which are generic unless it names the
/// space.
fn shared_base(inst: &Inst) -> u64 {
    if inst.space == Space::Generic { window::SHARED } else { 0 }
}

fn isspacep(b: &mut Binder<'_>, inst: &Inst) -> Result<(), EmuError> {
    let (base, size) = match inst.space {
        // Constants have a window of their own and do not count as global memory, as in the code of ptxas for
        // sm_90a.
        Space::Const | Space::Global => b.code.constants,
        Space::Shared | Space::SharedCluster => (window::SHARED, window::LOCAL - window::SHARED),
        Space::Local => (window::LOCAL, window::PARAMS - window::LOCAL),
        Space::Param => (window::PARAMS, window::CODE - window::PARAMS),
        Space::Generic | Space::Reg => {
            return Err(unsupported("it names no space that addresses can lie in"));
        }
    };
    let [to, from, ..] = inst.operands.as_slice() else { return Err(unsupported("it needs two operands")) };
    let at = b.source(from, Type::U64)?;
    let (dst, _) = b.dest(to, Type::Pred)?;
    let (run, other): (LaneFn, u16) = match inst.space {
        Space::Shared => (in_own, b.source(&Operand::Special("%cluster_ctarank".into()), Type::U32)?),
        Space::Global => (in_global, b.const64(size)),
        _ => (in_window, b.const64(size)),
    };
    b.emit_main(Op::Alu(run, Args { dst: [dst, 0, 0, 0], src: [at, other, 0, 0], imm: base }));
    Ok(())
}

/// A 64-bit value plus a constant.
fn add64(p: &mut Planes, a: &Args, m: u32) {
    let (v, mut out) = (p.get64(a.src[0]), V64([0; LANES]));
    for l in 0..LANES {
        out.0[l] = v.0[l].wrapping_add(a.imm);
    }
    p.put64(a.dst[0], m, out);
}

/// Whether an address is less than a size above a base.
fn in_window(p: &mut Planes, a: &Args, m: u32) {
    let (v, size) = (p.get64(a.src[0]), p.get64(a.src[1]));
    let mut out = 0;
    for l in 0..LANES {
        out |= u32::from(v.0[l].wrapping_sub(a.imm) < size.0[l]) << l;
    }
    p.put_pred(a.dst[0], m, out);
}

/// Whether an address is one of global memory, and none of so many bytes above a base.
fn in_global(p: &mut Planes, a: &Args, m: u32) {
    let (v, size) = (p.get64(a.src[0]), p.get64(a.src[1]));
    let mut out = 0;
    for l in 0..LANES {
        out |= u32::from(v.0[l] < window::SHARED && v.0[l].wrapping_sub(a.imm) >= size.0[l]) << l;
    }
    p.put_pred(a.dst[0], m, out);
}

/// Maps an address in the own shared memory to the CTA of a rank. Other addresses, and ranks that no cluster
/// has, give an address where nothing lies.
fn in_cta_of(at: u64, rank: u32) -> u64 {
    const NOWHERE: u64 = (window::LOCAL - window::SHARED) / window::CTA - 1;
    let rank = if at < window::CTA { u64::from(rank).saturating_add(1).min(NOWHERE) } else { NOWHERE };
    rank * window::CTA + at % window::CTA
}

fn mapa32(p: &mut Planes, a: &Args, m: u32) {
    let (v, rank, mut out) = (p.get32(a.src[0]), p.get32(a.src[1]), V32([0; LANES]));
    for l in 0..LANES {
        out.0[l] = in_cta_of(v.0[l].into(), rank.0[l]) as u32;
    }
    p.put32(a.dst[0], m, out);
}

fn mapa64(p: &mut Planes, a: &Args, m: u32) {
    let (v, rank, mut out) = (p.get64(a.src[0]), p.get32(a.src[1]), V64([0; LANES]));
    for l in 0..LANES {
        out.0[l] = a.imm + in_cta_of(v.0[l].wrapping_sub(a.imm), rank.0[l]);
    }
    p.put64(a.dst[0], m, out);
}

fn rank_of(p: &mut Planes, a: &Args, m: u32) {
    let (v, own, mut out) = (p.get64(a.src[0]), p.get32(a.src[1]), V32([0; LANES]));
    for l in 0..LANES {
        out.0[l] = match v.0[l].wrapping_sub(a.imm) / window::CTA {
            0 => own.0[l],
            n => (n - 1) as u32,
        };
    }
    p.put32(a.dst[0], m, out);
}

/// Whether a generic address lies in the CTA's own shared memory, under either of its addresses.
fn in_own(p: &mut Planes, a: &Args, m: u32) {
    let (v, own) = (p.get64(a.src[0]), p.get32(a.src[1]));
    let mut out = 0;
    for l in 0..LANES {
        let cta = v.0[l].wrapping_sub(a.imm) / window::CTA;
        out |= u32::from(cta == 0 || cta == u64::from(own.0[l]) + 1) << l;
    }
    p.put_pred(a.dst[0], m, out);
}
