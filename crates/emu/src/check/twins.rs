//! Undefined bits of the registers of AMD's waves, found by execution: a wave has twins, in which undefined
//! bits have other values, and every operation on registers runs in the twins as well. A bit of a register
//! is undefined if it differs in a twin.
//!
//! So the rules of an operation are the operation itself: a select, a permutation, a mask of lanes or a half
//! of a packed value need no rule of their own, and a difference is never a false one.
//!
//! # Invariants
//! - Twins follow the wave: they take its branches, its EXEC and the lanes of its guards.
//! - EXEC, constants and what a kernel finds in its registers are equal in all twins.
//!
//! # Limitations
//! - A value that depends on undefined bits, but has the same value for all samples of them, counts as
//!   defined.

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::Reg;
use prlx_lanes::{LANES, Planes};

use crate::code::{Code, Op, Plane, Step, Wave};
use crate::exec::warp_state::Warp;
use crate::mem::access;

use super::undefined::Origin;
use super::wave_facts::{Form, Place, WaveFacts};

/// The number of twins of a wave.
pub const SAMPLES: usize = 3;

/// What the undefined bits with this key are changed by in a twin. The first has them all inverted.
fn pattern(sample: usize, key: u64) -> u64 {
    if sample == 0 {
        return u64::MAX;
    }
    // SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators").
    let mut z =
        key.wrapping_mul(SAMPLES as u64).wrapping_add(sample as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Undefined bits that an access of a half brings into a register.
#[derive(Debug)]
pub struct Incoming {
    /// Plane of the register that the access writes.
    pub plane: Plane,
    /// By lane: the undefined bits.
    pub bits: [u64; LANES],
    /// By lane: where they come from, which chooses their values in the twins.
    pub keys: [u64; LANES],
}

/// The twins of a wave.
#[derive(Debug)]
pub struct Twins {
    /// By sample and half: the registers.
    samples: [Vec<Planes>; SAMPLES],
    /// By plane: the origin of undefined bits; `None` if nothing wrote the register.
    words: Vec<Option<Origin>>,
    preds: Vec<Option<Origin>>,
    /// The step before, after which EXEC is to be compared.
    pub last: Option<u32>,
    /// What the access that runs now brings.
    pub incoming: Vec<Incoming>,
}

/// A number for each register.
fn key_of(reg: Reg) -> u64 {
    let (bank, n) = match reg {
        Reg::S(n) => (1, n),
        Reg::Ttmp(n) => (2, n),
        Reg::V(n) => (3, n),
        Reg::A(n) => (4, n),
        Reg::VccLo => (5, 0),
        Reg::VccHi => (5, 1),
        Reg::ExecLo => (5, 2),
        Reg::ExecHi => (5, 3),
        Reg::M0 => (5, 4),
        Reg::Scc => (5, 5),
        Reg::Mode => (5, 6),
        Reg::FlatScratchLo => (5, 7),
        Reg::FlatScratchHi => (5, 8),
        Reg::XnackMaskLo => (5, 9),
        Reg::XnackMaskHi => (5, 10),
    };
    bank << 40 | u64::from(n) << 16
}

impl Twins {
    /// The twins of a wave that is about to begin.
    pub fn of(halves: &[Warp], code: &Code, facts: &WaveFacts) -> Twins {
        let lanes = halves.len() * LANES;
        let one = || halves.iter().map(|h| h.planes.clone()).collect::<Vec<_>>();
        let mut samples: [Vec<Planes>; SAMPLES] = std::array::from_fn(|_| one());
        let is_set = |plane: u16| code.specials.iter().any(|(p, _)| *p == plane);
        let constant = |reg: Reg| matches!(reg, Reg::ExecLo | Reg::ExecHi | Reg::Mode);
        for (sample, halves) in samples.iter_mut().enumerate() {
            // Scalar registers have one value in all lanes.
            let word = |reg: Reg| if constant(reg) { 0 } else { pattern(sample, key_of(reg)) as u32 };
            let initial: Vec<Reg> = facts
                .registers
                .iter()
                .filter_map(|(r, plane)| match r {
                    Register::Word(reg) if *reg != Reg::Scc && is_set(*plane) => Some(*reg),
                    _ => None,
                })
                .collect();
            let word = |reg: Reg| if initial.contains(&reg) { 0 } else { word(reg) };
            for (at, half) in halves.iter_mut().enumerate() {
                for (register, plane) in &facts.registers {
                    let plane = usize::from(*plane);
                    match *register {
                        Register::Word(Reg::Scc) => {
                            half.pred[plane] ^= if word(Reg::Scc) & 1 == 1 { u32::MAX } else { 0 };
                        }
                        Register::Word(reg @ (Reg::V(_) | Reg::A(_))) if !initial.contains(&reg) => {
                            for (l, v) in half.w32[plane].0.iter_mut().enumerate() {
                                let lane = (at * LANES + l) as u64;
                                *v ^= pattern(sample, key_of(reg) | lane) as u32;
                            }
                        }
                        Register::Word(Reg::V(_) | Reg::A(_)) | Register::AnyVcc | Register::AnyExec => {}
                        Register::Word(reg) => half.w32[plane].0.iter_mut().for_each(|v| *v ^= word(reg)),
                        Register::Mask(low) => {
                            let of = low.mask_words(lanes as u8).get(at).copied();
                            half.pred[plane] ^= of.map_or(0, word);
                        }
                    }
                }
            }
        }
        let (w32, _, pred) = code.planes;
        let (words, preds) = (vec![None; usize::from(w32)], vec![None; usize::from(pred)]);
        Twins { samples, words, preds, last: None, incoming: Vec::new() }
    }

    /// The lanes of a half in which a register differs.
    pub fn differs(&self, real: &Warp, half: usize, form: Form) -> u32 {
        let mut lanes = 0;
        for planes in self.samples.iter().filter_map(|s| s.get(half)) {
            match form {
                Form::Word(p) => lanes |= different(planes, &real.planes, p),
                Form::Pred(p) => lanes |= planes.get_pred(p) ^ real.planes.get_pred(p),
            }
        }
        lanes
    }
    /// By lane of a half: the bits of a plane that differ.
    pub fn bits(&self, real: &Warp, half: usize, plane: Plane, m: u32) -> [u64; LANES] {
        let mut bits = [0; LANES];
        for planes in self.samples.iter().filter_map(|s| s.get(half)) {
            access::each(m, |l| {
                bits[l] |= access::value(planes, plane, l) ^ access::value(&real.planes, plane, l)
            });
        }
        bits
    }
    /// Whether the outcome of a condition on a predicate in any lane differs.
    pub fn any_differs(&self, halves: &[Warp], pred: u16) -> bool {
        let holds = halves.iter().any(|h| h.planes.get_pred(pred) != 0);
        self.samples.iter().any(|s| s.iter().any(|planes| planes.get_pred(pred) != 0) != holds)
    }
    /// Makes a register equal to that of the wave, in these lanes of a half.
    pub fn define(&mut self, real: &Warp, half: usize, form: Form, lanes: u32) {
        for planes in self.samples.iter_mut().filter_map(|s| s.get_mut(half)) {
            match form {
                Form::Word(p) => planes.put32(p, lanes, real.planes.get32(p)),
                Form::Pred(p) => planes.put_pred(p, lanes, real.planes.get_pred(p)),
            }
        }
    }
    /// Makes a plane equal to that of the wave, in these lanes of a half.
    pub fn define_plane(&mut self, real: &Warp, half: usize, plane: Plane, lanes: u32) {
        for planes in self.samples.iter_mut().filter_map(|s| s.get_mut(half)) {
            match plane {
                Plane::W32(p) => planes.put32(p, lanes, real.planes.get32(p)),
                Plane::W64(p) => planes.put64(p, lanes, real.planes.get64(p)),
                Plane::W128(p) => {
                    [p, p + 1].iter().for_each(|&p| planes.put64(p, lanes, real.planes.get64(p)))
                }
                Plane::None => {}
            }
        }
    }
    /// Runs an operation on registers in all twins, in the lanes that the wave runs it in.
    pub fn run(&mut self, halves: &[Warp], step: &Step) {
        let guarded = |half: &Warp| half.guarded(step.guard, u32::MAX);
        match step.op {
            Op::Alu(run, ref args) => {
                for (at, half) in halves.iter().enumerate() {
                    let m = guarded(half);
                    if m != 0 {
                        let twins = self.samples.iter_mut().filter_map(|s| s.get_mut(at));
                        twins.for_each(|planes| run(planes, args, m));
                    }
                }
            }
            Op::Wave(run, ref args) => {
                let lanes = halves.iter().rev().fold(0, |all, half| all << LANES | u64::from(guarded(half)));
                for sample in &mut self.samples {
                    match sample.as_mut_slice() {
                        [one] => run(&mut Wave(&mut [one]), args, lanes),
                        [low, high] => run(&mut Wave(&mut [low, high]), args, lanes),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    /// Adds the undefined bits that an access brought, once its results are those of the wave.
    pub fn bring(&mut self, half: usize) {
        for new in std::mem::take(&mut self.incoming) {
            for (sample, planes) in self.samples.iter_mut().enumerate() {
                let Some(planes) = planes.get_mut(half) else { continue };
                for l in 0..LANES {
                    if new.bits[l] != 0 {
                        let v =
                            access::value(planes, new.plane, l) ^ new.bits[l] & pattern(sample, new.keys[l]);
                        access::set(planes, new.plane, l, v);
                    }
                }
            }
        }
    }
    /// The origin of the undefined bits of a register.
    pub fn origin(&self, place: Place) -> Origin {
        self.slot(place.form).unwrap_or(Origin::Register(place.number))
    }
    fn slot(&self, form: Form) -> Option<Origin> {
        match form {
            Form::Word(p) => self.words.get(usize::from(p)).copied().flatten(),
            Form::Pred(p) => self.preds.get(usize::from(p)).copied().flatten(),
        }
    }
    /// Sets the origin of the undefined bits of a register.
    pub fn set_origin(&mut self, form: Form, origin: Origin) {
        let slot = match form {
            Form::Word(p) => self.words.get_mut(usize::from(p)),
            Form::Pred(p) => self.preds.get_mut(usize::from(p)),
        };
        if let Some(slot) = slot {
            *slot = Some(origin);
        }
    }
    /// The first of some registers that differs in lanes of the wave: in these, or else in any.
    pub fn first_different(&self, halves: &[Warp], places: &[Place], lanes: &[u32]) -> Option<Place> {
        let differs = |place: &&Place, m: Option<&[u32]>| {
            halves.iter().enumerate().any(|(at, half)| {
                let m = m.map_or(u32::MAX, |m| m.get(at).copied().unwrap_or(0));
                self.differs(half, at, place.form) & m != 0
            })
        };
        let here = places.iter().find(|p| differs(p, Some(lanes)));
        here.or_else(|| places.iter().find(|p| differs(p, None))).copied()
    }
}

/// The lanes in which a 32-bit plane differs.
fn different(a: &Planes, b: &Planes, p: u16) -> u32 {
    let (a, b) = (&a.w32[usize::from(p)].0, &b.w32[usize::from(p)].0);
    if a == b {
        return 0;
    }
    (0..LANES).fold(0, |lanes, l| lanes | u32::from(a[l] != b[l]) << l)
}
