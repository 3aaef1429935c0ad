//! Verifies what `lower` inserts: a machine with one wave, which executes toy code for
//! [`prlx_instrument::inserted_code`].
//!
//! # Invariants
//! A piece changes no register of the kernel, and of its own only those that keep something between pieces,
//! as its work says.
//!
//! # Limitations
//! The arithmetic is that of the CPU device (`decode.rs`).

use std::collections::HashMap;
use std::ops::Range;

use prlx_instrument::inserted_code::{
    Environment, InsertedPiece, Live, Memory, PARAMETERS, Row, Samples, Work, combine, each, value,
};
use prlx_instrument::routines::{GRID_WARP, Line, PREFIX};
use prlx_isa::view::Type;

use crate::code::{Arg, Instruction, Op, register};
use crate::compile::Registers;
use crate::decode::{MASKS, compute, extended};
use crate::reader::LANES;

/// A piece of inserted code.
pub struct Piece {
    pub work: Work,
    /// Whether it runs before all else.
    pub begins: bool,
    /// Its lines in the text of the copy.
    pub text: Range<usize>,
}

/// Checks the pieces in the text of a copy. `state` has the names of what is kept between them, with sizes in
/// bytes.
///
/// # Errors
/// What a piece does that it must not do. This is a bug.
pub fn verify(
    text: &str,
    pieces: &[Piece],
    registers: &Registers,
    state: &HashMap<String, u64>,
) -> Result<(), String> {
    let samples = Samples::of(LANES, Wave::new);
    let mut state: Vec<(&str, u32)> =
        state.iter().map(|(name, bytes)| (&**name, 8 * *bytes as u32)).collect();
    state.sort_unstable();
    for piece in pieces {
        let mut code = Code { piece, registers, state: &state, insts: Vec::new(), labels: HashMap::new() };
        for line in text[piece.text.clone()].lines().map(str::trim) {
            match line.strip_suffix(':') {
                Some(label) => _ = code.labels.insert(label, code.insts.len()),
                None => code.insts.push(Instruction::parse(line)?),
            }
        }
        samples.check(&code).map_err(|what| format!("{what}, in `{}`", text[piece.text.clone()].trim()))?;
    }
    Ok(())
}

/// A register: its bank and number.
type Register = (char, u32);

/// A wave, and the memory that it sees. What nobody has written holds arbitrary values.
#[derive(Clone)]
struct Wave {
    seed: u64,
    exec: u64,
    launched: u64,
    /// Registers that keep something between pieces.
    kept: Vec<Register>,
    /// Registers that hold numbers: `v`, `d`, `s`.
    rows: HashMap<Register, Row>,
    /// Registers that hold masks: `m`, `c`.
    masks: HashMap<Register, u64>,
    memory: Memory,
}

/// Values of special registers that are the same in all lanes.
const SPECIALS: [(&str, u64); 13] = [
    ("%ntid.x", 37),
    ("%ntid.y", 3),
    ("%ntid.z", 4),
    ("%nctaid.x", 700),
    ("%nctaid.y", 50),
    ("%nctaid.z", 9),
    ("%ctaid.x", 678),
    ("%ctaid.y", 45),
    ("%ctaid.z", 8),
    ("%clock", 0x5678_9abc),
    ("%clock64", 0x1234_5678_9abc),
    ("%globaltimer", 0x1_2345_6789_0000),
    ("%smid", 77),
];

fn special(name: &str) -> Option<u64> {
    SPECIALS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Wave {
    fn new(seed: u64, memory: Memory) -> Wave {
        let (kept, rows, masks) = (Vec::new(), HashMap::new(), HashMap::new());
        Wave { seed, exec: 0, launched: 0, kept, rows, masks, memory }
    }

    fn special(&self, name: &str, lane: usize) -> Option<u64> {
        let thread = self.seed % 6 * u64::from(LANES) + lane as u64;
        Some(match name {
            "%laneid" => lane as u64,
            "%tid.x" => thread % 37,
            "%tid.y" => thread / 37 % 3,
            "%tid.z" => thread / 111,
            _ => special(name)?,
        })
    }

    /// An arbitrary value of a register.
    fn any((bank, number): Register, seed: u64) -> u64 {
        let of =
            |half: u64| u64::from(value(seed << 32 ^ u64::from(number) << 16 ^ u64::from(bank) << 1 ^ half));
        if bank == 'v' || bank == 's' { of(0) } else { of(0) | of(1) << 32 }
    }

    fn row(&self, register: Register) -> Row {
        let lane = |lane| if register.0 == 's' { 0 } else { lane as u64 };
        let any = || std::array::from_fn(|l| Wave::any(register, self.seed << 8 | lane(l)));
        self.rows.get(&register).copied().unwrap_or_else(any)
    }

    fn mask(&self, register: Register) -> u64 {
        let any = Wave::any(register, self.seed << 8);
        let any = if register.0 == 'c' { u64::MAX * (any & 1) } else { any };
        self.masks.get(&register).copied().unwrap_or(any)
    }

    /// The value of an operand in all lanes.
    fn values(&self, arg: &Arg) -> Result<Row, String> {
        match arg {
            Arg::Int(value) => Ok([value.cast_unsigned(); 64]),
            Arg::Reg(bank @ ('v' | 'd' | 's'), number) => Ok(self.row((*bank, *number))),
            Arg::Special(name) => {
                let mut out = [0; 64];
                for (lane, value) in out.iter_mut().enumerate() {
                    *value = self.special(name, lane).ok_or_else(|| format!("`{name}` is not known"))?;
                }
                Ok(out)
            }
            _ => Ok(bits(self.mask_of(arg)?)),
        }
    }

    fn mask_of(&self, arg: &Arg) -> Result<u64, String> {
        match arg {
            Arg::Exec => Ok(self.exec),
            Arg::Int(value) => Ok(if *value & 1 == 0 { 0 } else { u64::MAX }),
            Arg::Reg(bank @ ('m' | 'c'), number) => Ok(self.mask((*bank, *number))),
            Arg::Not(number) => Ok(!self.mask(('c', *number))),
            _ => Err(format!("`{arg}` is no mask")),
        }
    }

    /// Writes a result in lanes.
    fn set(&mut self, to: &Arg, lanes: u64, values: &Row) -> Result<(), String> {
        let Arg::Reg(bank @ ('v' | 'd' | 's'), number) = to else {
            return Err(format!("`{to}` is written"));
        };
        let mut row = self.row((*bank, *number));
        let all = if *bank == 'd' { u64::MAX } else { u64::from(u32::MAX) };
        each(lanes).for_each(|lane| row[lane] = values[lane] & all);
        self.rows.insert((*bank, *number), row);
        Ok(())
    }

    fn set_mask(&mut self, to: &Arg, mask: u64) -> Result<(), String> {
        match to {
            Arg::Exec => self.exec = mask,
            Arg::Reg(bank @ ('m' | 'c'), number) => _ = self.masks.insert((*bank, *number), mask),
            _ => return Err(format!("`{to}` is written")),
        }
        Ok(())
    }

    /// Executes an instruction that is no branch.
    fn step(&mut self, inst: &Instruction) -> Result<(), String> {
        let unknown = || format!("the verifier does not know `{inst}`");
        let lanes = if inst.is_vector() { self.exec } else { u64::MAX };
        match (inst.op, &inst.args[..]) {
            (Op::Arg, [to, Arg::Name(_, offset)]) => {
                let at = PARAMETERS.wrapping_add_signed(*offset);
                self.set(to, lanes, &[self.memory.read(at, inst.ty.bytes().into()); 64])
            }
            (Op::Load | Op::Store | Op::Atom, _) if inst.has("global") => self.access(inst),
            (Op::Ballot, [to, of]) => self.set(to, lanes, &[self.mask_of(of)?; 64]),
            (Op::First, [to, of]) => {
                let lowest = each(self.exec).next().unwrap_or(0);
                self.set(to, lanes, &[self.values(of)?[lowest]; 64])
            }
            (_, [to, a, rest @ ..]) if inst.ty == Type::Pred => {
                let (a, b) = (self.mask_of(a)?, rest.first().map_or(Ok(0), |b| self.mask_of(b))?);
                let (_, make) = MASKS.iter().find(|(op, _)| *op == inst.op).ok_or_else(unknown)?;
                self.set_mask(to, make(a, b))
            }
            (_, [to, sources @ ..]) => {
                let eval = inst.eval().ok_or_else(unknown)?;
                let [a, b] = [0, 1].map(|at| sources.get(at).or(sources.first()).ok_or_else(unknown));
                let (a, b) = (self.values(a?)?, self.values(b?)?);
                let chosen = sources.get(2).map_or(Ok(0), |by| self.mask_of(by))?;
                let (bits, signed) = (inst.ty.bits(), inst.ty.is_signed());
                let result = std::array::from_fn(|l| {
                    let [x, y] = [a[l], b[l]].map(|value| extended(value, signed, bits == 64));
                    let by = (b[l] & u64::MAX >> (64 - bits)).min(bits.into()) as u32;
                    compute(eval, (x, y), by, chosen >> l & 1 == 1) as u64
                });
                match inst.op {
                    Op::Cmp => self.set_mask(to, mask(&result) & lanes),
                    _ => self.set(to, lanes, &result),
                }
            }
            _ => Err(unknown()),
        }
    }

    /// An access to global memory. Lanes do it one after the other.
    fn access(&mut self, inst: &Instruction) -> Result<(), String> {
        let unknown = || format!("the verifier does not know `{inst}`");
        let (size, bits) = (u64::from(inst.ty.bytes()), inst.ty.bits());
        let mut others = Vec::new();
        let mut at = None;
        for arg in &inst.args {
            match arg {
                Arg::Address(bank, number, offset) => {
                    at = Some(self.row((*bank, *number)).map(|at| at.wrapping_add_signed(*offset)));
                }
                other => others.push(self.values(other)?),
            }
        }
        let (at, mut olds) = (at.ok_or_else(unknown)?, [0; 64]);
        for lane in each(self.exec) {
            olds[lane] = self.memory.read(at[lane], size);
            let value = |n: usize| others.get(n).map_or(0, |row| row[lane] & u64::MAX >> (64 - bits));
            let new = match (inst.op, inst.words.last()) {
                (Op::Load, _) => continue,
                (Op::Store, _) => value(0),
                (_, Some(word)) if word == "cas" && olds[lane] == value(1) => value(2),
                (_, Some(word)) if word == "cas" => olds[lane],
                (_, Some(word)) => {
                    combine(word, olds[lane], value(1), bits, inst.ty.is_signed()).ok_or_else(unknown)?
                }
                _ => return Err(unknown()),
            };
            self.memory.write(at[lane], size, new);
        }
        match (inst.op, inst.args.first()) {
            (Op::Load | Op::Atom, Some(to)) => self.set(to, self.exec, &olds),
            _ => Ok(()),
        }
    }
}

/// A piece with its instructions.
struct Code<'p> {
    piece: &'p Piece,
    registers: &'p Registers,
    state: &'p [(&'p str, u32)],
    insts: Vec<Instruction>,
    labels: HashMap<&'p str, usize>,
}

/// Registers with what they keep.
type Homes<T> = Vec<(Register, T)>;

/// Most instructions that a piece executes: its loops end after one iteration for each lane.
const MOST: usize = 100_000;

impl Code<'_> {
    /// Registers that keep something between pieces, with that.
    fn homes(&self, live: &Live) -> (Homes<Row>, Homes<u64>) {
        let named = |bank, name: &str| self.registers.get(bank, name).map(|number| (bank, number));
        let away = std::array::from_fn(|lane| live.away[lane].into());
        let mut rows = vec![(named('v', "away"), away), (named('v', GRID_WARP), [live.warp.into(); 64])];
        for (name, bits) in self.state {
            let bank = if *bits == 64 { 'd' } else { 'v' };
            rows.extend(live.state.get(*name).map(|row| (named(bank, &format!("%{PREFIX}{name}")), *row)));
        }
        let masks = [(named('m', "launched"), live.launched), (named('m', "present"), live.present)];
        let rows = rows.into_iter().filter_map(|(home, row)| Some((home?, row)));
        (rows.collect(), masks.into_iter().filter_map(|(home, mask)| Some((home?, mask))).collect())
    }
}

impl InsertedPiece for Code<'_> {
    type Wave = Wave;

    fn work(&self) -> &Work {
        &self.piece.work
    }

    fn begins(&self) -> bool {
        self.piece.begins
    }

    fn state(&self) -> Vec<(&str, u32)> {
        self.state.to_vec()
    }

    fn environment(&self) -> Environment {
        let [multiprocessor, clock, timer] =
            ["%smid", "%clock64", "%globaltimer"].map(|name| special(name).unwrap_or(0));
        Environment { multiprocessor: multiprocessor as u32, clock, timer, stored_at_once: |_, _, _| 1 }
    }

    fn put(&self, wave: &mut Wave, live: &Live) {
        (wave.exec, wave.launched) = (live.exec, live.launched);
        let (rows, masks) = self.homes(live);
        wave.kept = rows.iter().map(|row| row.0).chain(masks.iter().map(|mask| mask.0)).collect();
        wave.rows.extend(rows);
        wave.masks.extend(masks);
    }

    fn events(&self, _: &Wave) -> Option<u32> {
        None
    }

    fn register(&self, wave: &Wave, name: &str, _: bool) -> Option<Row> {
        let arg = match register(name) {
            Some((bank, number)) => Arg::Reg(bank, number),
            None if name == "exec" => Arg::Exec,
            None => Arg::Special(name.to_owned()),
        };
        wave.values(&arg).ok()
    }

    fn execute(&self, wave: &mut Wave, _: &[Line<'_>]) -> Result<(), String> {
        let (mut at, mut steps) = (0, 0);
        while let Some(inst) = self.insts.get(at) {
            (at, steps) = (at + 1, steps + 1);
            if steps > MOST {
                return Err("it does not end".to_owned());
            }
            match (inst.op, &inst.args[..]) {
                (Op::Branch, [Arg::Name(to, _)]) => at = self.label(to)?,
                (Op::Branch, [condition, Arg::Name(to, _)]) => {
                    if wave.mask_of(condition)? != 0 {
                        at = self.label(to)?;
                    }
                }
                _ => wave.step(inst)?,
            }
        }
        Ok(())
    }

    fn memory(wave: &Wave) -> &Memory {
        &wave.memory
    }

    fn compare(&self, wave: &Wave, wanted: &Wave) -> Result<(), String> {
        let differs = |what: String, is: u64, wanted: u64| match is == wanted {
            true => Ok(()),
            false => Err(format!("{what} becomes {is:#x}, expected {wanted:#x}")),
        };
        differs("exec".to_owned(), wave.exec, wanted.exec)?;
        let kept = |register: &Register| {
            let inserted = self.registers.is_inserted(register.0, register.1);
            (!inserted || wanted.kept.contains(register)).then_some(inserted)
        };
        for (register, mask) in wave.masks.iter().filter(|(register, _)| kept(register).is_some()) {
            differs(format!("{}{}", register.0, register.1), *mask, wanted.mask(*register))?;
        }
        for (register, row) in &wave.rows {
            let Some(inserted) = kept(register) else { continue };
            let wanted = wanted.row(*register);
            // Inserted registers hold nothing in lanes that the launch does not have.
            for lane in each(if inserted { wave.launched } else { u64::MAX }) {
                differs(format!("{}{} of lane {lane}", register.0, register.1), row[lane], wanted[lane])?;
            }
        }
        Ok(())
    }
}

impl Code<'_> {
    fn label(&self, name: &str) -> Result<usize, String> {
        self.labels.get(name).copied().ok_or_else(|| format!("control leaves the piece for `{name}`"))
    }
}

fn bits(mask: u64) -> Row {
    std::array::from_fn(|lane| mask >> lane & 1)
}

fn mask(row: &Row) -> u64 {
    row.iter().enumerate().fold(0, |mask, (lane, bit)| mask | (bit & 1) << lane)
}
