//! Executes a piece of inserted code in sample states, and compares what it leaves with what it must do.

use prlx_isa::amdgpu::inst::Value;
use prlx_isa::amdgpu::{ClockSource, Register, TIMER_CYCLES, Target, inst::Reg};
use rustc_hash::FxHashMap;

use super::memory::Memory;
use super::routine::{self, Row};
use super::sample::{self, SAMPLES};
use super::wave::{CLOCK, Counter, PLACE, Step, Wave, each};
use crate::amdgpu::{Homes, Piece, ScalarHome, Special, VectorHome, Work};
use crate::ptx::{KEPT_SPECIALS, Text, temporary_type};
use crate::routines::{Line, instructions, lines, mentions};
use crate::verify::machine::mix;

/// Registers of a function by name, and whether it is a predicate.
pub(super) type Names = FxHashMap<(String, bool), Register>;

/// The wave that each sample begins with.
pub(crate) struct Samples {
    waves: Vec<(sample::Lanes, Wave)>,
}

impl Samples {
    pub(crate) fn of(lanes: u32) -> Samples {
        let wave = |seed| (sample::Lanes::of(lanes, seed), sample::wave(lanes, seed));
        Samples { waves: (0..SAMPLES).map(wave).collect() }
    }

    /// Checks a piece, whose instructions are `code`.
    pub(super) fn check(
        &self,
        target: Target,
        piece: &Piece,
        names: &Names,
        code: &[Step],
    ) -> Result<(), String> {
        let lines = match &piece.work {
            Work::Routine(text, _) => lines(&text.lines).map_err(|e| e.message)?,
            Work::Depart(_) | Work::Rejoin(_) => Vec::new(),
        };
        // Where a kernel begins, all lanes are there.
        let begins = matches!(&piece.work, Work::Routine(_, specials) if specials.contains_key("%tid.x"));
        for (seed, (lanes, wave)) in (0..).zip(&self.waves) {
            let all = sample::Lanes { present: lanes.launched, exec: lanes.launched, ..*lanes };
            let lanes = if begins { &all } else { lanes };
            let one = Trial { target, piece, names, lines: &lines, lanes, seed };
            one.run(wave, code).map_err(|what| format!("{what} (sample {seed})"))?;
        }
        Ok(())
    }
}

/// A piece in one sample.
struct Trial<'t> {
    target: Target,
    piece: &'t Piece,
    names: &'t Names,
    lines: &'t [Line<'t>],
    lanes: &'t sample::Lanes,
    seed: u64,
}

/// What is live between pieces.
struct Live {
    present: u64,
    warp: u32,
    events: Option<u32>,
    /// By lane: the number of the place where it waits.
    away: Vec<u32>,
    state: FxHashMap<String, Row>,
}

impl Trial<'_> {
    fn run(&self, begin: &Wave, code: &[Step]) -> Result<(), String> {
        let homes = &*self.piece.homes;
        let mut before = begin.clone();
        before.exec = self.lanes.exec;
        let mut live = self.live();
        let launched = halves(self.lanes.launched);
        homes.launched.iter().zip(launched).for_each(|(home, word)| put_scalar(&mut before, *home, word));
        let parameter_words = homes.parameters.iter().zip(halves(sample::PARAMETERS));
        parameter_words.for_each(|(home, word)| put_scalar(&mut before, *home, word));
        put(&mut before, homes, &live);
        let mut wave = before.clone();
        match &self.piece.work {
            Work::Routine(text, specials) => {
                wave.pending = self.late();
                let memory = self.routine(text, specials, &before, &mut live)?;
                wave.run(code)?;
                if let Some(at) = wave.memory.differs(&memory) {
                    let (is, wanted) = (wave.memory.read(at, 4), memory.read(at, 4));
                    return Err(format!("memory at {at:#x} becomes {is:#x}, expected {wanted:#x}"));
                }
            }
            Work::Depart(number) => {
                let leave = live.present & !before.exec;
                each(leave).for_each(|lane| live.away[lane] = *number);
                live.present &= before.exec;
                wave.run(code)?;
            }
            Work::Rejoin(number) => {
                let back = each(self.lanes.launched).filter(|lane| live.away[*lane] == *number);
                live.present |= back.fold(0, |mask, lane| mask | 1 << lane);
                wave.run(code)?;
            }
        }
        if let (0, Some(events)) = (live.present, homes.events) {
            // Where no lane is with the wave, an event may be counted that none has.
            live.events = Some(get_scalar(&wave, events));
        }
        // The rest must be as before.
        put(&mut before, homes, &live);
        self.compare(&wave, &before)
    }

    /// What is live between pieces in this sample.
    fn live(&self) -> Live {
        let of = |salt: u64, lane: u32| mix(self.seed << 40 ^ salt << 8 ^ u64::from(lane));
        let numbers: Vec<u32> = match self.piece.work {
            Work::Rejoin(number) | Work::Depart(number) => vec![number, 0, number + 1],
            Work::Routine(..) => vec![0, 1, 2],
        };
        let away = (0..64).map(|lane| numbers[(of(7, lane) % 3) as usize]).collect();
        let state = self.piece.homes.state.iter().enumerate().map(|(i, (name, words))| {
            let value = |lane: u32| match words.len() {
                1 => u64::from(sample::value(of(100 + i as u64, lane))),
                _ => sample::wide(self.seed << 16 ^ i as u64, lane),
            };
            (name.clone(), std::array::from_fn(|lane| value(lane as u32)))
        });
        Live {
            present: self.lanes.present,
            warp: sample::WARP,
            events: self.piece.homes.events.map(|_| mix(self.seed ^ 0x3b) as u32),
            away,
            state: state.collect(),
        }
    }

    /// Registers of the function that the routine reads: a load may still write them.
    fn late(&self) -> Vec<(Reg, Counter)> {
        let insts = instructions(self.lines);
        let read = insts.flat_map(mentions).filter_map(|(name, _)| self.names.get(&(name.to_owned(), false)));
        let late = read.filter_map(|register| match register {
            Register::Word(reg @ Reg::V(_)) => Some(vec![(*reg, Counter::Vector), (*reg, Counter::Scalar)]),
            Register::Word(reg @ Reg::S(_)) => Some(vec![(*reg, Counter::Scalar)]),
            _ => None,
        });
        late.flatten().collect()
    }

    /// Runs the routine. Returns the memory behind it.
    fn routine(
        &self,
        text: &Text,
        specials: &FxHashMap<&'static str, Special>,
        wave: &Wave,
        live: &mut Live,
    ) -> Result<Memory, String> {
        let homes = &*self.piece.homes;
        let bits = |name: &str| {
            let of_state =
                homes.state.iter().find(|(own, _)| own == name).map(|(_, words)| 32 * words.len() as u32);
            let declared = text.declared.iter().find(|(_, own)| own == name).map(|(ty, _)| *ty);
            of_state.or_else(|| match declared.or_else(|| temporary_type(name))? {
                ".pred" => Some(1),
                ty => ty.get(2..)?.parse().ok(),
            })
        };
        let kept = live.state.clone();
        let outer = |name: &str, predicate: bool| -> Option<Row> {
            if let Some((_, kept_in)) = KEPT_SPECIALS.iter().find(|(special, _)| *special == name)
                && !specials.contains_key(name)
            {
                return kept.get(*kept_in).copied();
            }
            match specials.get(name) {
                Some(special) => row(wave.lanes, |lane| read_special(wave, *special, lane)),
                None => self.outer(wave, name, predicate),
            }
        };
        let mut lanes = routine::Lanes {
            present: live.present,
            bits: &bits,
            outer: &outer,
            registers: std::mem::take(&mut live.state),
            parameters: sample::PARAMETERS,
            warp: live.warp,
            multiprocessor: multiprocessor(self.target),
            clock: clock(self.target),
            events: live.events,
            memory: wave.memory.clone(),
        };
        lanes.run(self.lines)?;
        (live.warp, live.events) = (lanes.warp, lanes.events);
        live.state = lanes.registers;
        Ok(lanes.memory)
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

    /// Compares what a piece leaves with what it must leave.
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
        Special::Parameter(offset) => Some(wave.memory.read(sample::PARAMETERS + u64::from(offset), 4)),
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

/// Puts what is live between pieces where it is.
fn put(wave: &mut Wave, homes: &Homes, live: &Live) {
    let present = halves(live.present);
    homes.present.iter().zip(present).for_each(|(home, word)| put_scalar(wave, *home, word));
    put_scalar(wave, homes.warp, live.warp);
    for (home, events) in homes.events.iter().zip(live.events) {
        put_scalar(wave, *home, events);
    }
    for lane in 0..wave.lanes as usize {
        put_vector(wave, homes.away, lane, live.away[lane]);
        for (name, words) in &homes.state {
            let value = live.state.get(name).map_or(0, |lanes| lanes[lane]);
            words.iter().zip(halves(value)).for_each(|(home, word)| put_vector(wave, *home, lane, word));
        }
    }
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
