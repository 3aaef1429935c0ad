//! Registers of AMD's machine code as planes, and the steps that move between their forms.
//!
//! A scalar register is a 32-bit plane with one value in all lanes. A pair of scalar registers that is
//! used as a mask of lanes has a predicate plane as well, or only that ([`Register`]). Operations of 64
//! bits work on 64-bit planes: [`Decoder::pair`] and [`Decoder::split`] convert.
//!
//! # Invariants
//! - Scalar steps have no guard. They write all lanes, also those that EXEC leaves out.
//! - After each instruction, the words and the mask of a pair agree where the function has both.

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::{Inst, Reg};
use prlx_lanes::amd::part::{Pair, Split};
use prlx_lanes::{Args, LaneFn, Planes, Simd, entry};
use rustc_hash::FxHashMap;

use super::float_mode::FloatMode;
use crate::code::{NO_GUARD, Op, Wave, WaveFn};
use crate::decode::binder::{Binder, PlaneKind};

/// Decodes one instruction after the other.
pub struct Decoder<'b, 'a> {
    /// Steps and planes.
    pub b: &'b mut Binder<'a>,
    /// The plane of each register that the kernel and what it calls have.
    pub planes: &'b FxHashMap<Register, u16>,
    /// The vector instruction set of the host.
    pub simd: Simd,
    /// Lanes of a wave: 32 or 64.
    pub lanes: u32,
    /// The address at which the code object is loaded.
    pub base: u64,
    /// How floating-point operations round and treat denormals and NaNs.
    pub mode: FloatMode,
    /// The instruction that is decoded.
    pub inst: Inst,
}

impl Decoder<'_, '_> {
    /// The 32-bit plane of a register; of one that the code does not have, a plane that nothing else reads.
    pub fn word(&mut self, reg: Reg) -> u16 {
        self.planes.get(&Register::Word(reg)).copied().unwrap_or(0)
    }
    /// The predicate plane of SCC.
    pub fn scc(&mut self) -> u16 {
        self.planes.get(&Register::Word(Reg::Scc)).copied().unwrap_or(0)
    }
    /// The predicate plane of a mask, by its first register; `None` if nothing reads it as a mask.
    pub fn mask(&self, low: Reg) -> Option<u16> {
        self.planes.get(&Register::Mask(low)).copied()
    }
    /// The predicate plane of EXEC.
    pub fn exec(&self) -> u16 {
        self.mask(Reg::ExecLo).unwrap_or(0)
    }
    /// Appends a step that only the lanes of EXEC run, if the instruction is a vector instruction.
    pub fn alu(&mut self, run: LaneFn, args: Args) {
        self.b.emit(Op::Alu(run, args));
    }
    /// Appends a step that all lanes run.
    pub fn alu_all(&mut self, run: LaneFn, args: Args) {
        self.b.push(Op::Alu(run, args), NO_GUARD, 0);
    }
    /// Appends the step that is the instruction. It runs once for the wave, and gets the lanes of EXEC if the
    /// instruction is a vector instruction, else all.
    pub fn wave_main(&mut self, run: WaveFn, args: Args) {
        self.b.emit_main(Op::Wave(run, args));
    }
    /// Appends a step that runs once for the wave, and gets all lanes.
    pub fn wave_all(&mut self, run: WaveFn, args: Args) {
        self.b.push(Op::Wave(run, args), NO_GUARD, 0);
    }
    /// A temporary 64-bit plane with the value of two 32-bit planes, in all lanes.
    pub fn pair(&mut self, low: u16, high: u16) -> u16 {
        let to = self.b.temp(PlaneKind::W64);
        self.alu_all(entry::<Pair>(self.simd), Args { dst: [to, 0, 0, 0], src: [low, high, 0, 0], imm: 0 });
        to
    }
    /// Writes two 32-bit planes with the halves of a 64-bit plane, in the lanes that run the instruction.
    pub fn split(&mut self, from: u16, low: u16, high: u16) {
        self.alu(entry::<Split>(self.simd), Args { dst: [low, high, 0, 0], src: [from, 0, 0, 0], imm: 0 });
    }
    /// Writes a mask with the result of a vector instruction: the lanes of a predicate plane that are in
    /// EXEC. The plane may have anything in other lanes.
    pub fn set_lane_mask(&mut self, low: Reg, from: u16) {
        let (value, exec) = (self.b.temp(PlaneKind::Pred), self.exec());
        self.alu_all(both, Args { dst: [value, 0, 0, 0], src: [from, exec, 0, 0], imm: 0 });
        self.set_mask(low, value);
    }
    /// Writes a mask with a predicate plane.
    pub fn set_mask(&mut self, low: Reg, from: u16) {
        if let Some(mask) = self.mask(low) {
            self.alu_all(both, Args { dst: [mask, 0, 0, 0], src: [from, from, 0, 0], imm: 0 });
        }
        self.set_words(low, from);
    }
    /// Writes the words that the code has beside a mask.
    pub fn set_words(&mut self, low: Reg, from: u16) {
        let words = low.mask_words(self.inst.lanes());
        if words.iter().any(|r| self.planes.contains_key(&Register::Word(*r))) {
            let mut dst = [0; 4];
            for (plane, reg) in dst.iter_mut().zip(words) {
                *plane = self.word(reg);
            }
            self.wave_all(to_words, Args { dst, src: [from, 0, 0, 0], imm: 0 });
        }
    }
    /// Updates the masks that the code has beside scalar registers which were written.
    pub fn wrote(&mut self, regs: &[Reg]) {
        let mut lows: Vec<Reg> = regs.iter().map(|r| r.first_of_mask(self.inst.lanes())).collect();
        lows.dedup();
        for low in lows {
            let Some(mask) = self.mask(low) else { continue };
            let mut src = [0; 4];
            for (plane, reg) in src.iter_mut().zip(low.mask_words(self.inst.lanes())) {
                *plane = self.word(reg);
            }
            self.wave_all(to_mask, Args { dst: [mask, 0, 0, 0], src, imm: 0 });
        }
    }
    /// A temporary predicate plane with the mask in registers that the code has as words only.
    pub fn temporary_mask(&mut self, low: Reg) -> u16 {
        let to = self.b.temp(PlaneKind::Pred);
        let mut src = [0; 4];
        for (plane, reg) in src.iter_mut().zip(low.mask_words(self.inst.lanes())) {
            *plane = self.word(reg);
        }
        self.wave_all(to_mask, Args { dst: [to, 0, 0, 0], src, imm: 0 });
        to
    }
}

/// The lanes in which both predicates are true.
fn both(p: &mut Planes, a: &Args, m: u32) {
    let v = p.get_pred(a.src[0]) & p.get_pred(a.src[1]);
    p.put_pred(a.dst[0], m, v);
}

/// A mask of lanes as words, low one first.
fn to_words(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let lanes = w.mask(a.src[0]);
    w.set_scalar(a.dst[0], lanes as u32);
    if w.lanes() == 64 {
        w.set_scalar(a.dst[1], (lanes >> 32) as u32);
    }
}

/// Words as a mask of lanes.
fn to_mask(w: &mut Wave<'_, '_>, a: &Args, _: u64) {
    let high = if w.lanes() == 64 { w.scalar(a.src[1]) } else { 0 };
    w.set_mask(a.dst[0], u64::from(high) << 32 | u64::from(w.scalar(a.src[0])));
}
