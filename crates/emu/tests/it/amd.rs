//! AMD's register operations on the CPU device: what the tests share.

use prlx_emu::testing::{EmuError, FloatMode, WaveState, run_alone};
use prlx_isa::amdgpu::Target;
use prlx_isa::amdgpu::inst::{Inst, Reg};
use prlx_lanes::Simd;

/// A deterministic sequence of numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// A number below another.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }
}

/// A wave in which nothing is set: EXEC has all lanes.
pub fn wave(lanes: u32) -> WaveState {
    let mut state = WaveState::default();
    state.masks.insert(Reg::ExecLo, if lanes == 64 { u64::MAX } else { 0xffff_ffff });
    state
}

/// Runs words on a wave, at the best level that the host has.
pub fn run(
    target: Target,
    lanes: u32,
    words: &[u32],
    state: &mut WaveState,
) -> Result<(usize, u32), EmuError> {
    let inst = Inst::decode(target, lanes as u8, words).expect("there are words");
    run_alone(
        inst,
        lanes,
        FloatMode::default(),
        if std::env::var_os("BASE").is_some() { Simd::Base } else { Simd::detect() },
        state,
    )
}
