//! Operations that move values between the lanes of a wave.
//!
//! # Invariants
//! An operation reads all lanes before it writes one.

use prlx_isa::amdgpu::inst::{Encoding, Field, Inst, Operand};
use prlx_lanes::Args;

use super::super::decoder::Decoder;
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

/// Writes the active lanes of a plane with what other lanes had. `from` gives the lane to read; `None`
/// leaves the lane as it is.
fn gather(w: &mut Wave<'_, '_>, a: &Args, exec: u64, from: impl Fn(&Wave<'_, '_>, usize) -> Option<Read>) {
    let lanes = w.lanes();
    let values: Vec<u32> = (0..lanes).map(|l| w.word(a.src[0], l)).collect();
    let reads: Vec<Option<Read>> = (0..lanes).map(|l| from(w, l)).collect();
    for (lane, read) in reads.into_iter().enumerate().filter(|(l, _)| exec >> l & 1 == 1) {
        match read {
            Some(Read::Lane(l)) => w.set_word(a.dst[0], lane, values.get(l).copied().unwrap_or(0)),
            Some(Read::Zero) => w.set_word(a.dst[0], lane, 0),
            None => {}
        }
    }
}

/// What a lane reads.
enum Read {
    Lane(usize),
    Zero,
}

/// Bits of the constant of a permutation: the lane selects of the other row of a pair, lanes that EXEC
/// leaves out are read, and those that may not be read give 0.
const OTHER_ROW: u64 = 1;
const INACTIVE: u64 = 2;
const BOUND: u64 = 4;

fn permuted(exec: u64, imm: u64, lane: usize, select: usize) -> Option<Read> {
    let row = if imm & OTHER_ROW != 0 { (lane & !15) ^ 16 } else { lane & !15 };
    let source = row | (select & 15);
    if exec >> source & 1 == 1 || imm & INACTIVE != 0 {
        Some(Read::Lane(source))
    } else {
        (imm & BOUND != 0).then_some(Read::Zero)
    }
}

/// `v_permlane16_b32`, `v_permlanex16_b32`: the lanes to read are in two scalar registers.
fn permute(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let selects = u64::from(w.scalar(a.src[2])) << 32 | u64::from(w.scalar(a.src[1]));
    let imm = a.imm;
    gather(w, a, exec, |_, lane| permuted(exec, imm, lane, (selects >> (4 * (lane & 15))) as usize));
}

/// `v_permlane16_var_b32`, `v_permlanex16_var_b32`: each lane says what it reads.
fn permute_by_lane(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let (imm, selects) = (a.imm, a.src[1]);
    gather(w, a, exec, |w, lane| permuted(exec, imm, lane, w.word(selects, lane) as usize));
}

/// `v_permlane64_b32`: the lane of the other half. Waves of 32 lanes ignore it.
fn permute_halves(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    if w.lanes() == 64 {
        gather(w, a, exec, |_, lane| Some(Read::Lane(lane ^ 32)));
    }
}

/// `v_permlane16_swap_b32`, `v_permlane32_swap_b32`: swaps the upper lanes of the first register with the
/// lower lanes of the second, in groups of twice the constant. EXEC does not matter.
fn swap_lanes(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let size = a.imm as usize;
    for low in (0..w.lanes()).filter(|l| l & size == 0) {
        let (upper, lower) = (w.word(a.src[0], low + size), w.word(a.src[1], low));
        w.set_word(a.dst[0], low + size, lower);
        w.set_word(a.dst[1], low, upper);
    }
}

/// `ds_bpermute_b32`: each lane reads the lane that its address names. With bit 16 of the constant, which
/// has the offset, also lanes that EXEC leaves out.
fn backward(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let (lanes, imm, address) = (w.lanes(), a.imm, a.src[1]);
    gather(w, a, exec, |w, lane| {
        let source = (w.word(address, lane).wrapping_add(imm as u32 & 0xffff) / 4) as usize % lanes;
        let reads = exec >> source & 1 == 1 || imm >> 16 & 1 == 1;
        Some(if reads { Read::Lane(source) } else { Read::Zero })
    });
}

/// `ds_permute_b32`: each lane writes to the lane that its address names; the highest lane wins.
fn forward(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let lanes = w.lanes();
    let active = move |l: &usize| exec >> l & 1 == 1;
    let mut to = vec![0; lanes];
    for lane in (0..lanes).filter(active) {
        let target = (w.word(a.src[1], lane).wrapping_add(a.imm as u32) / 4) as usize % lanes;
        if let Some(to) = to.get_mut(target) {
            *to = w.word(a.src[0], lane);
        }
    }
    for lane in (0..lanes).filter(active) {
        w.set_word(a.dst[0], lane, to.get(lane).copied().unwrap_or(0));
    }
}

/// `ds_swizzle_b32`: within four lanes (bit 15 of the constant), or by AND, OR and XOR of the number of
/// the lane among 32.
fn swizzle(w: &mut Wave<'_, '_>, a: &Args, exec: u64) {
    let offset = a.imm as usize;
    gather(w, a, exec, |_, lane| {
        let source = swizzled(lane, offset);
        Some(if exec >> source & 1 == 1 { Read::Lane(source) } else { Read::Zero })
    });
}

/// The lane that a lane reads by `ds_swizzle_b32`.
fn swizzled(lane: usize, offset: usize) -> usize {
    if offset >> 15 & 1 == 1 {
        return (lane & !3) | (offset >> (2 * (lane & 3)) & 3);
    }
    (lane & !31) | ((((lane & 31) & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31))
}

/// The lane that each lane of a wave reads, if the operation has a fixed one for each.
pub fn source_lanes(inst: &Inst) -> Option<Vec<Option<usize>>> {
    let lanes = 0..usize::from(inst.lanes());
    let offset = (inst.get(Field::Offset0) | inst.get(Field::Offset1) << 8) as usize;
    Some(match inst.name() {
        "ds_swizzle_b32" => lanes.map(|lane| Some(swizzled(lane, offset))).collect(),
        "v_permlane64_b32" if inst.lanes() == 64 => lanes.map(|lane| Some(lane ^ 32)).collect(),
        _ => return None,
    })
}

/// The operations of LDS that only move values between lanes.
pub(super) fn select_lds(inst: &Inst) -> Result<Option<(WaveFn, u64)>, EmuError> {
    let offset = u64::from(inst.get(Field::Offset0) | inst.get(Field::Offset1) << 8);
    Ok(Some(match inst.name() {
        "ds_bpermute_b32" => (backward, offset),
        "ds_bpermute_fi_b32" => (backward, offset | 1 << 16),
        "ds_permute_b32" => (forward, offset),
        "ds_swizzle_b32" if offset >= 0xc000 => {
            return Err(unsupported("swizzles of FFT and rotations are not implemented"));
        }
        "ds_swizzle_b32" => (swizzle, offset),
        _ => return Ok(None),
    }))
}

/// An operation across lanes; `None` if the instruction is none.
pub(super) fn select(inst: &Inst) -> Option<(WaveFn, u64)> {
    // The first two bits of `op_sel` are those of DPP: fi and bound_ctrl.
    let options = u64::from(inst.get(Field::OpSel) & 3) * INACTIVE;
    Some(match inst.name() {
        "v_readfirstlane_b32" => (read_first, 0),
        "v_readlane_b32" => (read_lane, 0),
        "v_writelane_b32" => (write_lane, 0),
        "v_mbcnt_lo_u32_b32" => (mbcnt, 0),
        "v_mbcnt_hi_u32_b32" => (mbcnt, 32),
        "v_permlane16_b32" => (permute, options),
        "v_permlanex16_b32" => (permute, options | OTHER_ROW),
        "v_permlane16_var_b32" => (permute_by_lane, options),
        "v_permlanex16_var_b32" => (permute_by_lane, options | OTHER_ROW),
        "v_permlane64_b32" => (permute_halves, 0),
        "v_permlane16_swap_b32" => (swap_lanes, 16),
        "v_permlane32_swap_b32" => (swap_lanes, 32),
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
    // Swaps have no other sources than their results.
    let mut reads: Vec<&Operand> = if sources.is_empty() { results } else { sources }.iter().collect();
    if matches!(d.inst.encoding(), Some(Encoding::Ds)) {
        // The address comes first in the text.
        reads.reverse();
    }
    for (to, o) in args.src.iter_mut().zip(reads) {
        // Selections of halves are options here.
        *to = *d.words(o)?.first().ok_or_else(|| unsupported("its source is no register"))?;
    }
    let regs: Vec<_> = results.iter().flat_map(|o| o.value.registers()).collect();
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
