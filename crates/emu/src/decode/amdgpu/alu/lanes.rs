//! Operations that move values between the lanes of a wave.
//!
//! # Invariants
//! An operation reads all lanes before it writes one.

use prlx_isa::amdgpu::inst::Operand;
use prlx_lanes::Args;
use prlx_lanes::amd::Width;

use super::super::decoder::Decoder;
use super::operand::registers;
use crate::code::{Op, Wave, WaveFn};
use crate::error::{EmuError, unsupported};

/// `v_readfirstlane_b32`: the value of the first active lane, or of lane 0 if none is.
fn read_first(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let lane = if exec == 0 { 0 } else { exec.trailing_zeros() as usize };
    let value = w.word(a.src[0], lane);
    w.set_scalar(a.dst[0], value);
}

/// `v_readlane_b32`: EXEC does not matter.
fn read_lane(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let lane = w.scalar(a.src[1]) as usize & (w.lanes() - 1);
    let value = w.word(a.src[0], lane);
    w.set_scalar(a.dst[0], value);
}

/// `v_writelane_b32`: EXEC does not matter.
fn write_lane(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let lane = w.scalar(a.src[1]) as usize & (w.lanes() - 1);
    let value = w.scalar(a.src[0]);
    w.set_word(a.dst[0], lane, value);
}

/// `v_mbcnt_lo_u32_b32`, and with a constant of 32 `v_mbcnt_hi_u32_b32`: bits of lanes below the lane.
fn mbcnt(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let first = a.imm as usize;
    for lane in (0..w.lanes()).filter(|l| exec >> l & 1 == 1) {
        let below = lane.saturating_sub(first).min(32);
        let bits = if below == 32 { u32::MAX } else { (1 << below) - 1 };
        let count = (w.word(a.src[0], lane) & bits).count_ones();
        let value = count.wrapping_add(w.word(a.src[1], lane));
        w.set_word(a.dst[0], lane, value);
    }
}

/// An operation across lanes; `None` if the instruction is none.
pub(super) fn select(name: &str) -> Option<(WaveFn, u64)> {
    Some(match name {
        "v_readfirstlane_b32" => (read_first, 0),
        "v_readlane_b32" => (read_lane, 0),
        "v_writelane_b32" => (write_lane, 0),
        "v_mbcnt_lo_u32_b32" => (mbcnt, 0),
        "v_mbcnt_hi_u32_b32" => (mbcnt, 32),
        _ => return None,
    })
}

/// Appends the steps of an operation across lanes.
pub(super) fn steps(
    d: &mut Decoder<'_, '_>,
    run: WaveFn,
    imm: u64,
    results: &[Operand],
    sources: &[Operand],
) -> Result<(), EmuError> {
    let mut args = Args { imm, ..Args::default() };
    for (to, o) in args.src.iter_mut().zip(sources) {
        *to = d.source(o, Width::Word)?.plane;
    }
    let regs: Vec<_> = results.iter().flat_map(|o| registers(o.value)).collect();
    for (to, reg) in args.dst.iter_mut().zip(&regs) {
        *to = d.word(*reg);
    }
    if regs.is_empty() {
        return Err(unsupported("it has no result"));
    }
    d.b.emit_main(Op::Wave(run, args));
    d.wrote(&regs);
    Ok(())
}
