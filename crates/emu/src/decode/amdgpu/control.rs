//! Branches, calls, barriers and other operations that are no arithmetic.

use prlx_isa::amdgpu::inst::{Field, Reg, Value};
use prlx_isa::amdgpu::{HardwareField, Native, REALTIME, TIMER_TICK};
use prlx_isa::view::{Class, Inst, Operand};
use prlx_lanes::{Args, LANES, Planes, V32, V64};

use super::decoder::Decoder;
use super::masks;
use crate::code::{BarrierKind, BarrierOp, Clock, Jump, Op, WaveBranch, WaveCondition};
use crate::decode::binder::{BranchFixup, PlaneKind};
use crate::error::{EmuError, unsupported};

/// Appends the steps of an instruction that is no arithmetic and no access to memory; `None` if it is one.
///
/// # Errors
/// The device does not support the instruction.
pub fn control(
    d: &mut Decoder<'_, '_>,
    view: &Inst,
    native: &Native,
    fixes: &mut Vec<BranchFixup>,
) -> Option<Result<(), EmuError>> {
    let name = d.inst.name();
    let op = match name {
        "s_endpgm" | "s_endpgm_saved" => Op::Exit,
        "s_trap" => Op::Trap,
        "s_sleep" | "s_sleep_var" => Op::Yield,
        "s_branch" => return Some(branch(d, view, fixes, None)),
        _ if name.starts_with("s_cbranch_") => return Some(conditional(d, view, fixes)),
        "s_setpc_b64" | "s_swappc_b64" | "s_call_b64" | "s_getpc_b64" => return Some(jump(d, view, native)),
        "s_barrier" | "s_barrier_wait" => {
            let id = d.b.const32(0);
            let barrier = BarrierOp { kind: BarrierKind::Sync, id, count: None, dst: 0, src: 0 };
            d.b.code.barriers.push(barrier);
            Op::Barrier(d.b.code.barriers.len() as u32 - 1)
        }
        "s_memtime" | "s_memrealtime" => return Some(time(d, name == "s_memrealtime")),
        "s_sendmsg_rtn_b64" if d.inst.get(Field::Ssrc0) == REALTIME => return Some(time(d, true)),
        "s_getreg_b32" => return cycles(d),
        "buffer_gl0_inv" | "buffer_gl1_inv" | "buffer_inv" | "buffer_invl2" | "buffer_wbl2"
        | "buffer_wbinvl1" | "buffer_wbinvl1_vol" | "global_inv" | "global_wb" | "global_wbinv" => Op::Fence,
        // A wait for all stores is a release.
        _ if view.semantics.order.release && name.starts_with("s_wait") => Op::Fence,
        // The device executes in order, so other waits and hints change nothing. A wave that has arrived at a
        // barrier of gfx12 goes on; here it arrives where it waits.
        "s_nop"
        | "s_clause"
        | "s_delay_alu"
        | "s_setprio"
        | "s_icache_inv"
        | "s_dcache_inv"
        | "s_dcache_wb"
        | "s_dcache_inv_vol"
        | "s_dcache_wb_vol"
        | "s_set_inst_prefetch_distance"
        | "s_inst_prefetch"
        | "s_code_end"
        | "s_wakeup"
        | "s_incperflevel"
        | "s_decperflevel"
        | "s_barrier_signal"
        | "ds_nop"
        | "s_ttracedata"
        | "s_ttracedata_imm"
        | "s_prefetch_inst"
        | "s_prefetch_inst_pc_rel"
        | "s_prefetch_data"
        | "s_prefetch_data_pc_rel"
        | "s_buffer_prefetch_data"
        | "v_nop"
        | "s_version" => Op::Nop,
        _ if name.starts_with("s_wait") && !name.starts_with("s_wait_event") => Op::Nop,
        // Scratch memory needs no base here.
        "s_setreg_b32" | "s_setreg_imm32_b32" if sets_flat_scratch(d) => Op::Nop,
        // Message 3 of gfx11 and later: the wave needs its vector registers no more.
        "s_sendmsg" if dealloc_vgprs(d) => Op::Nop,
        _ => return None,
    };
    d.b.emit_main(op);
    Some(Ok(()))
}

/// Whether `s_setreg` writes FLAT_SCRATCH: hardware registers 20 and 21 of gfx10.
fn sets_flat_scratch(d: &Decoder<'_, '_>) -> bool {
    d.inst.operands().iter().any(|o| matches!(o.value, Value::Immediate(n) if matches!(n & 63, 20 | 21)))
}

fn dealloc_vgprs(d: &Decoder<'_, '_>) -> bool {
    d.inst.operands().iter().any(|o| matches!(o.value, Value::Immediate(3)))
}

/// A branch to a label: of the wave as a whole, or on a condition.
fn branch(
    d: &mut Decoder<'_, '_>,
    view: &Inst,
    fixes: &mut Vec<BranchFixup>,
    condition: Option<(u16, WaveCondition)>,
) -> Result<(), EmuError> {
    let label = view.operands.iter().find_map(|o| match o {
        Operand::Label(to) => Some(*to),
        _ => None,
    });
    let to = label.ok_or_else(|| unsupported("its target is not in this function"))?;
    let at = d.b.code.steps.len();
    match condition {
        None => {
            fixes.push(BranchFixup::Branch(at, to));
            d.b.emit_main(Op::Bra(u32::MAX));
        }
        Some((of, when)) => {
            let branches = &mut d.b.code.wave_branches;
            fixes.push(BranchFixup::Wave(at, branches.len(), to));
            branches.push(WaveBranch { of, when, to: u32::MAX });
            let i = branches.len() as u32 - 1;
            d.b.emit_main(Op::WaveBranch(i));
        }
    }
    Ok(())
}

fn conditional(d: &mut Decoder<'_, '_>, view: &Inst, fixes: &mut Vec<BranchFixup>) -> Result<(), EmuError> {
    // The view says whether each lane goes its own way.
    let of_lanes = view.guard.is_some_and(|guard| d.b.reg(guard.reg) == d.exec());
    let condition = match d.inst.name() {
        "s_cbranch_scc0" => (d.scc(), WaveCondition::None),
        "s_cbranch_scc1" => (d.scc(), WaveCondition::Any),
        "s_cbranch_vccz" => (masks::mask_of(d, Reg::VccLo), WaveCondition::None),
        "s_cbranch_vccnz" => (masks::mask_of(d, Reg::VccLo), WaveCondition::Any),
        "s_cbranch_execz" if !of_lanes => (d.exec(), WaveCondition::None),
        "s_cbranch_execnz" if !of_lanes => (d.exec(), WaveCondition::Any),
        "s_cbranch_execz" => (d.exec(), WaveCondition::Inactive),
        "s_cbranch_execnz" => (d.exec(), WaveCondition::Active),
        _ => return Err(unsupported("branches of this kind are not implemented")),
    };
    branch(d, view, fixes, Some(condition))
}

/// Reads the program counter, jumps to an address, or both.
fn jump(d: &mut Decoder<'_, '_>, view: &Inst, native: &Native) -> Result<(), EmuError> {
    let name = d.inst.name();
    let operands = d.inst.operands();
    let mut registers = operands.iter().filter_map(|o| masks::low(o.value));
    let behind = native.address + 4 * d.inst.words().len() as u64;
    let pair = |d: &mut Decoder<'_, '_>, low: Option<Reg>| {
        let low = low?;
        let high = low.next()?;
        Some((d.word(low), d.word(high), [low, high]))
    };
    let has_label = view.operands.iter().any(|o| matches!(o, Operand::Label(_)));
    let kind = match (name, view.class) {
        ("s_swappc_b64" | "s_call_b64", _) => Jump::Call,
        // The call before a function's end: the callee returns to the caller of this function.
        (_, Class::Call) => Jump::Within,
        (_, Class::Branch) if has_label => Jump::Within,
        _ => Jump::Return,
    };
    let no_pair = || unsupported("it names no pair of registers");
    let to = match name {
        "s_getpc_b64" | "s_swappc_b64" | "s_call_b64" => Some(pair(d, registers.next()).ok_or_else(no_pair)?),
        _ => None,
    };
    let from = match name {
        "s_setpc_b64" | "s_swappc_b64" => Some(pair(d, registers.next()).ok_or_else(no_pair)?),
        _ => None,
    };
    // Both may be the same pair.
    let target = from.map(|(low, high, _)| {
        let copies = [d.b.temp(PlaneKind::W32), d.b.temp(PlaneKind::W32)];
        d.alu_all(copy, Args { dst: [copies[0], copies[1], 0, 0], src: [low, high, 0, 0], imm: 0 });
        copies
    });
    let link = |d: &mut Decoder<'_, '_>, main: bool| {
        let Some((low, high, regs)) = to else { return };
        let args = Args { dst: [low, high, 0, 0], src: [0; 4], imm: d.base.wrapping_add(behind) };
        match main {
            true => d.b.emit_main(Op::Alu(constant, args)),
            false => d.alu_all(constant, args),
        }
        d.wrote(&regs);
    };
    match (name, target) {
        ("s_getpc_b64", _) => link(d, true),
        (_, Some([low, high])) => {
            link(d, false);
            d.b.emit_main(Op::WaveJump(low, high, kind));
        }
        _ => {
            let offset = i64::from(d.inst.branch_offset().ok_or_else(|| unsupported("it has no target"))?);
            let at = d.base.wrapping_add(behind).wrapping_add_signed(4 * offset);
            let planes = [d.b.const32(at as u32), d.b.const32((at >> 32) as u32)];
            link(d, false);
            d.b.emit_main(Op::WaveJump(planes[0], planes[1], kind));
        }
    }
    if matches!(kind, Jump::Call) {
        d.b.code.returns.insert(d.base.wrapping_add(behind), d.b.code.steps.len() as u32);
    }
    Ok(())
}

/// A clock, in a pair of scalar registers: the counter of cycles, or the timer.
fn time(d: &mut Decoder<'_, '_>, timer: bool) -> Result<(), EmuError> {
    let operands = d.inst.operands();
    let low = operands.first().and_then(|o| masks::low(o.value));
    let (Some(low), Some(high)) = (low, low.and_then(Reg::next)) else {
        return Err(unsupported("it names no pair of registers"));
    };
    let value = d.b.temp(PlaneKind::W64);
    d.b.emit_main(Op::Clock(if timer { Clock::Global } else { Clock::Wide }, value));
    if timer {
        d.alu_all(ticks, Args { dst: [value, 0, 0, 0], src: [value, 0, 0, 0], imm: 0 });
    }
    let (to_low, to_high) = (d.word(low), d.word(high));
    d.split(value, to_low, to_high);
    d.wrote(&[low, high]);
    Ok(())
}

/// `s_getreg_b32` of the counter of cycles; `None` for other hardware registers.
fn cycles(d: &mut Decoder<'_, '_>) -> Option<Result<(), EmuError>> {
    let (first, bits) = d.inst.target().cycles(HardwareField::of(d.inst.get(Field::Simm16)))?;
    let to = d.inst.operands().first().and_then(|o| masks::low(o.value))?;
    let (clock, value) = (d.b.temp(PlaneKind::W64), d.word(to));
    d.b.emit_main(Op::Clock(Clock::Wide, clock));
    let imm = u64::from(first) | u64::from(bits) << 32;
    d.alu_all(part, Args { dst: [value, 0, 0, 0], src: [clock, 0, 0, 0], imm });
    d.wrote(&[to]);
    Some(Ok(()))
}

/// Bits of a plane: the first, and 32 bits further, their number.
fn part(p: &mut Planes, a: &Args, m: u32) {
    let (first, bits) = (a.imm as u32, (a.imm >> 32) as u32);
    let mask = 1u64.checked_shl(bits).unwrap_or(0).wrapping_sub(1);
    let of = |n: u64| (n.checked_shr(first).unwrap_or(0) & mask) as u32;
    p.put32(a.dst[0], m, V32(p.get64(a.src[0]).0.map(of)));
}

/// Nanoseconds as ticks of the timer.
fn ticks(p: &mut Planes, a: &Args, m: u32) {
    let nanos = p.get64(a.src[0]);
    p.put64(a.dst[0], m, V64(nanos.0.map(|n| n / u64::from(TIMER_TICK))));
}

/// Copies two planes.
fn copy(p: &mut Planes, a: &Args, m: u32) {
    let (low, high) = (p.get32(a.src[0]), p.get32(a.src[1]));
    p.put32(a.dst[0], m, low);
    p.put32(a.dst[1], m, high);
}

/// The halves of a constant.
fn constant(p: &mut Planes, a: &Args, m: u32) {
    p.put32(a.dst[0], m, V32([a.imm as u32; LANES]));
    p.put32(a.dst[1], m, V32([(a.imm >> 32) as u32; LANES]));
}
