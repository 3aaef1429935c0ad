//! A piece of inserted code as the verifier executes it: where what is live lies, and what must not change.

use prlx_isa::amdgpu::inst::Value;
use prlx_isa::amdgpu::{ClockSource, Register, TIMER_CYCLES, TIMER_TICK, Target, inst::Reg};
use rustc_hash::FxHashMap;

use super::wave::{CLOCK, Counter, PLACE, Step, Wave};
use crate::amdgpu::{Homes, Piece, ScalarHome, Special, VectorHome};
use crate::routines::{Line, instructions, mentions};
use crate::verify::inserted_code::{Environment, InsertedPiece, Live, Memory, PARAMETERS, Row, Work};

/// Registers of a function by name, and whether it is a predicate.
pub(super) type Names = FxHashMap<(String, bool), Register>;

/// A piece with its instructions.
pub(super) struct Executable<'p> {
    pub(super) target: Target,
    pub(super) piece: &'p Piece,
    pub(super) names: &'p Names,
    pub(super) code: &'p [Step],
}

impl InsertedPiece for Executable<'_> {
    type Wave = Wave;

    fn work(&self) -> &Work {
        &self.piece.work
    }

    fn begins(&self) -> bool {
        self.piece.specials.contains_key("%tid.x")
    }

    fn state(&self) -> Vec<(&str, u32)> {
        let state = self.piece.homes.state.iter();
        state.map(|(name, words)| (name.as_str(), 32 * words.len() as u32)).collect()
    }

    fn environment(&self) -> Environment {
        Environment {
            multiprocessor: multiprocessor(self.target),
            clock: clock(self.target),
            timer: CLOCK.wrapping_mul(TIMER_TICK.into()),
            stored_at_once,
        }
    }

    fn put(&self, wave: &mut Wave, live: &Live) {
        let homes = &*self.piece.homes;
        wave.exec = live.exec;
        let masks = [(&homes.launched, live.launched), (&homes.parameters, PARAMETERS)];
        for (homes, value) in masks.into_iter().chain([(&homes.present, live.present)]) {
            homes.iter().zip(halves(value)).for_each(|(home, word)| put_scalar(wave, *home, word));
        }
        put_scalar(wave, homes.warp, live.warp);
        for (home, events) in homes.events.iter().zip(live.events) {
            put_scalar(wave, *home, events);
        }
        for lane in 0..wave.lanes as usize {
            put_vector(wave, homes.away, lane, live.away[lane]);
        }
        for (name, words) in &homes.state {
            let values = live.state.get(name);
            for lane in 0..wave.lanes as usize {
                let value = values.map_or(0, |lanes| lanes[lane]);
                words.iter().zip(halves(value)).for_each(|(home, word)| put_vector(wave, *home, lane, word));
            }
        }
    }

    fn events(&self, wave: &Wave) -> Option<u32> {
        self.piece.homes.events.map(|home| get_scalar(wave, home))
    }

    fn register(&self, wave: &Wave, name: &str, predicate: bool) -> Option<Row> {
        match self.piece.specials.get(name) {
            Some(special) => row(wave.lanes, |lane| read_special(wave, *special, lane)),
            None => self.outer(wave, name, predicate),
        }
    }

    fn execute(&self, wave: &mut Wave, lines: &[Line<'_>]) -> Result<(), String> {
        wave.pending = self.late(lines);
        wave.run(self.code)
    }

    fn memory(wave: &Wave) -> &Memory {
        &wave.memory
    }

    fn compare(&self, wave: &Wave, wanted: &Wave) -> Result<(), String> {
        let homes = &*self.piece.homes;
        let differs = |what: String, is: u64, wanted: u64| match is == wanted {
            true => Ok(()),
            false => Err(format!("{what} becomes {is:#x}, expected {wanted:#x}")),
        };
        if let Some((reg, _)) = wave.pending.first() {
            return Err(format!("a load may still write {reg:?} behind it"));
        }
        differs("EXEC".to_owned(), wave.exec, wanted.exec)?;
        differs("VCC".to_owned(), wave.vcc, wanted.vcc)?;
        differs("M0".to_owned(), wave.m0.into(), wanted.m0.into())?;
        if self.piece.keeps_scc {
            differs("SCC".to_owned(), wave.scc.into(), wanted.scc.into())?;
        }
        for (what, home) in scalar_homes(homes) {
            differs(what.to_owned(), get_scalar(wave, home).into(), get_scalar(wanted, home).into())?;
        }
        let words =
            homes.state.iter().flat_map(|(name, words)| words.iter().map(move |home| (name.as_str(), home)));
        for (name, home) in words.chain([("the place where a lane waits", &homes.away)]) {
            for lane in 0..wave.lanes as usize {
                let what = || format!("{name} of lane {lane}");
                let [is, wanted] = [wave, wanted].map(|wave| get_vector(wave, *home, lane));
                if is != wanted {
                    differs(what(), is.into(), wanted.into())?;
                }
            }
        }
        for n in (0..=105u8).filter(|n| self.piece.kept.has_scalar(*n)) {
            let at = usize::from(n);
            let home = scalar_homes(homes).any(|(_, home)| home == ScalarHome::Register(n));
            if !home {
                differs(format!("s{n}"), wave.scalars[at].into(), wanted.scalars[at].into())?;
            }
        }
        let banks =
            [("v", &wave.vectors, &wanted.vectors), ("a", &wave.accumulations, &wanted.accumulations)];
        for (bank, is, wanted) in banks {
            for (n, (is, wanted)) in (0u8..=255).zip(is.iter().zip(wanted)) {
                let kept = match bank {
                    "v" => self.piece.kept.has_vector(n),
                    _ => u32::from(n) < homes.free_accumulation,
                };
                let lanes = wave.lanes as usize;
                if kept && let Some(lane) = (0..lanes).find(|lane| is[*lane] != wanted[*lane]) {
                    differs(format!("{bank}{n} of lane {lane}"), is[lane].into(), wanted[lane].into())?;
                }
            }
        }
        for (lane, (is, wanted)) in wave.scratch.iter().zip(&wanted.scratch).enumerate() {
            if let Some(at) = is.differs(wanted).filter(|at| *at < u64::from(homes.free_scratch)) {
                let what = format!("scratch memory of lane {lane} at {at}");
                differs(what, is.read(at, 1), wanted.read(at, 1))?;
            }
        }
        Ok(())
    }
}

impl Executable<'_> {
    /// Registers of the function that the routine reads: a load may still write them.
    fn late(&self, lines: &[Line<'_>]) -> Vec<(Reg, Counter)> {
        let insts = instructions(lines);
        let read = insts.flat_map(mentions).filter_map(|(name, _)| self.names.get(&(name.to_owned(), false)));
        let late = read.filter_map(|register| match register {
            Register::Word(reg @ Reg::V(_)) => Some(vec![(*reg, Counter::Vector), (*reg, Counter::Scalar)]),
            Register::Word(reg @ Reg::S(_)) => Some(vec![(*reg, Counter::Scalar)]),
            _ => None,
        });
        late.flatten().collect()
    }

    /// A register of the function, as a predicate or as a number.
    fn outer(&self, wave: &Wave, name: &str, predicate: bool) -> Option<Row> {
        let same = |value| Some([value; 64]);
        match self.names.get(&(name.to_owned(), predicate))? {
            Register::Word(Reg::Scc) => same(u64::from(wave.scc)),
            Register::Word(reg) => {
                let value = one(*reg)?;
                row(wave.lanes, |lane| wave.lane(value, lane, false).ok())
            }
            Register::Mask(reg) => {
                let mask = wave.mask(mask(*reg, wave.lanes)?).ok()?;
                row(wave.lanes, |lane| Some(mask >> lane & 1))
            }
            Register::AnyVcc => same(u64::from(wave.vcc & wave.all() != 0)),
            Register::AnyExec => same(u64::from(wave.exec != 0)),
        }
    }
}

/// How many words an instruction stores. Those of vectors have no room for other offsets.
fn stored_at_once(size: u64, count: usize, offset: i64) -> usize {
    match (size, count) {
        (8, _) => 1,
        (_, 4) if !(0..2048).contains(&offset) => 2,
        (_, all) => all,
    }
}

/// What code reads for a clock.
fn clock(target: Target) -> u64 {
    let message = target.clock() == ClockSource::Message;
    if message { CLOCK.wrapping_mul(TIMER_CYCLES.into()) } else { CLOCK }
}

/// The number of the multiprocessor: the fields that say where a wave runs, the first one lowest.
fn multiprocessor(target: Target) -> u32 {
    let (mut number, mut above) = (0, 0);
    for field in target.multiprocessor() {
        number |= (PLACE >> field.first & ((1 << field.bits) - 1)) << above;
        above += field.bits;
    }
    number
}

/// A value of each lane of a wave.
fn row(lanes: u32, value: impl Fn(usize) -> Option<u64>) -> Option<Row> {
    let mut row = [0; 64];
    for (lane, own) in row.iter_mut().enumerate().take(lanes as usize) {
        *own = value(lane)?;
    }
    Some(row)
}

/// A special register in a lane.
fn read_special(wave: &Wave, special: Special, lane: usize) -> Option<u64> {
    match special {
        Special::Bits(value, low, count) => {
            let word = wave.lane(value, lane, false).ok()?;
            Some(word >> low & ((1u64 << count) - 1))
        }
        Special::Parameter(offset) => Some(wave.memory.read(PARAMETERS + u64::from(offset), 4)),
    }
}

/// Homes of scalar registers, with what they hold.
fn scalar_homes(homes: &Homes) -> impl Iterator<Item = (&'static str, ScalarHome)> {
    let all = [
        ("the mask of all lanes", homes.launched.as_slice()),
        ("the mask of lanes that are where the wave is", &homes.present),
        ("the address of the hidden parameter", &homes.parameters),
        ("the number of the warp", std::slice::from_ref(&homes.warp)),
        ("the number of events", homes.events.as_slice()),
    ];
    all.into_iter().flat_map(|(what, homes)| homes.iter().map(move |home| (what, *home)))
}

fn put_scalar(wave: &mut Wave, home: ScalarHome, word: u32) {
    match home {
        ScalarHome::Register(n) => wave.scalars[usize::from(n & 127)] = word,
        ScalarHome::Lane(home, lane) => put_vector(wave, home, usize::from(lane), word),
    }
}

fn get_scalar(wave: &Wave, home: ScalarHome) -> u32 {
    match home {
        ScalarHome::Register(n) => wave.scalars[usize::from(n & 127)],
        ScalarHome::Lane(home, lane) => get_vector(wave, home, usize::from(lane)),
    }
}

fn put_vector(wave: &mut Wave, home: VectorHome, lane: usize, word: u32) {
    match home {
        VectorHome::Vector(n) => wave.vectors[usize::from(n)][lane] = word,
        VectorHome::Accumulation(n) => wave.accumulations[usize::from(n)][lane] = word,
        VectorHome::Scratch(at) => wave.scratch[lane].write(at.into(), 4, word.into()),
    }
}

fn get_vector(wave: &Wave, home: VectorHome, lane: usize) -> u32 {
    match home {
        VectorHome::Vector(n) => wave.vectors[usize::from(n)][lane],
        VectorHome::Accumulation(n) => wave.accumulations[usize::from(n)][lane],
        VectorHome::Scratch(at) => wave.scratch[lane].read(at.into(), 4) as u32,
    }
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// A register as an operand.
fn one(reg: Reg) -> Option<Value> {
    use prlx_isa::amdgpu::inst::Bank::{Accumulation, Scalar, Trap, Vector};
    let numbered = |bank, first| Some(Value::Registers { bank, first, count: 1 });
    match reg {
        Reg::S(n) => numbered(Scalar, n),
        Reg::V(n) => numbered(Vector, n),
        Reg::A(n) => numbered(Accumulation, n),
        Reg::Ttmp(n) => numbered(Trap, n),
        Reg::VccLo => Some(Value::Named("vcc_lo", &[Reg::VccLo])),
        Reg::VccHi => Some(Value::Named("vcc_hi", &[Reg::VccHi])),
        Reg::ExecLo => Some(Value::Named("exec_lo", &[Reg::ExecLo])),
        Reg::ExecHi => Some(Value::Named("exec_hi", &[Reg::ExecHi])),
        Reg::M0 => Some(Value::Named("m0", &[Reg::M0])),
        _ => None,
    }
}

/// The mask that begins with a register, as an operand.
fn mask(reg: Reg, lanes: u32) -> Option<Value> {
    match (reg, lanes) {
        (Reg::VccLo, 64) => Some(Value::Named("vcc", &[Reg::VccLo, Reg::VccHi])),
        (Reg::ExecLo, 64) => Some(Value::Named("exec", &[Reg::ExecLo, Reg::ExecHi])),
        _ => match one(reg)? {
            Value::Registers { bank, first, .. } => {
                Some(Value::Registers { bank, first, count: (lanes / 32) as u8 })
            }
            other => Some(other),
        },
    }
}
