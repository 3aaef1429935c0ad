//! One register operation, decoded and run alone, for tests.

use std::collections::BTreeMap;

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::{Inst, Reg};
use prlx_isa::view::{InstId, Module};
use prlx_lanes::{LANES, Planes, Simd, V32, V64};
use rustc_hash::FxHashMap;

use super::alu;
use super::decoder::Decoder;
use super::float_mode::FloatMode;
use crate::code::{NEGATE, NO_GUARD, Op, Wave};
use crate::decode::binder::{Binder, PlaneKind};
use crate::error::{EmuError, invalid};

/// The registers of a wave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaveState {
    /// By register: its value in each lane. A scalar register has the same in all.
    pub words: BTreeMap<Reg, Vec<u32>>,
    /// By the first register of a mask: its lanes. EXEC must be there.
    pub masks: BTreeMap<Reg, u64>,
    /// The condition code, SCC.
    pub scc: bool,
}

/// Decodes an instruction and runs it. Registers that the state does not have are not there for the decoder.
/// Returns how many steps it took, and its cost.
///
/// # Errors
/// The device does not support the instruction, or the steps need more than a register operation may.
pub fn run_alone(
    inst: Inst,
    lanes: u32,
    mode: FloatMode,
    simd: Simd,
    state: &mut WaveState,
) -> Result<(usize, u32), EmuError> {
    let module = Module::default();
    let mut b = Binder::new(&module, &[]);
    let mut planes: FxHashMap<Register, u16> = FxHashMap::default();
    alu::allocate(&mut b, std::iter::once(inst), &mut planes);
    for reg in state.words.keys() {
        planes.entry(Register::Word(*reg)).or_insert_with(|| b.plane(PlaneKind::W32));
    }
    for reg in state.masks.keys() {
        planes.insert(Register::Mask(*reg), b.plane(PlaneKind::Pred));
    }
    let scc = b.plane(PlaneKind::Pred);
    planes.insert(Register::Word(Reg::Scc), scc);
    b.begin(InstId(0), None);
    let exec = planes.get(&Register::Mask(Reg::ExecLo)).copied().unwrap_or(0);
    if !inst.name().starts_with("s_") {
        b.guard = exec;
    }
    let mut d = Decoder { b: &mut b, planes: &planes, simd, lanes, base: 0, mode, inst };
    alu::data(&mut d)?;
    let count = b.count;
    let half = || Planes {
        w32: vec![V32([0; LANES]); count.w32 as usize],
        w64: vec![V64([0; LANES]); count.w64 as usize],
        pred: vec![0; count.pred as usize],
        carry: 0,
    };
    let mut halves: Vec<Planes> = (0..lanes as usize / LANES).map(|_| half()).collect();
    for half in &mut halves {
        for (plane, value) in &b.code.const32 {
            half.w32[usize::from(*plane)] = V32([*value; LANES]);
        }
        for (plane, value) in &b.code.const64 {
            half.w64[usize::from(*plane)] = V64([*value; LANES]);
        }
        for (plane, value) in &b.code.const_pred {
            half.pred[usize::from(*plane)] = if *value { u32::MAX } else { 0 };
        }
    }
    let mut all: Vec<&mut Planes> = halves.iter_mut().collect();
    let mut wave = Wave(&mut all);
    for (reg, values) in &state.words {
        for (lane, value) in values.iter().enumerate() {
            wave.set_word(planes[&Register::Word(*reg)], lane, *value);
        }
    }
    for (reg, lanes) in &state.masks {
        wave.set_mask(planes[&Register::Mask(*reg)], *lanes);
    }
    wave.set_condition(scc, state.scc);
    let mut cost = 0;
    for step in &b.code.steps {
        cost += u32::from(step.cost);
        let guard = match step.guard {
            NO_GUARD => u64::MAX,
            g if g & NEGATE != 0 => !wave.mask(g & !NEGATE),
            g => wave.mask(g),
        };
        match step.op {
            Op::Alu(run, args) => {
                for (n, half) in wave.0.iter_mut().enumerate() {
                    run(half, &args, (guard >> (n * LANES)) as u32);
                }
            }
            Op::Wave(run, args) => run(&mut wave, &args, guard),
            Op::Nop => {}
            _ => return Err(invalid("has a step that is no register operation")),
        }
    }
    for (reg, values) in &mut state.words {
        for (lane, value) in values.iter_mut().enumerate() {
            *value = wave.word(planes[&Register::Word(*reg)], lane);
        }
    }
    for (reg, lanes) in &mut state.masks {
        *lanes = wave.mask(planes[&Register::Mask(*reg)]);
    }
    state.scc = wave.mask(scc) & 1 == 1;
    Ok((b.code.steps.len(), cost))
}
