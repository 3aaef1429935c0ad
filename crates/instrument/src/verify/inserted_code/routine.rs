//! Runs the text of a routine in all lanes of a wave, as [`crate::routines`] says what it means.
//!
//! Branches go forward, so one pass over the lines in their order runs every lane: lanes that have branched
//! wait for their label. Lanes do each line one after the other, the lowest first.
//!
//! # Limitations
//! Masks of lanes that exchanges name are not looked at: a routine exchanges between the lanes that get
//! there.

use prlx_isa::ptx::{Op, Opcode};
use prlx_isa::view::Type;
use rustc_hash::FxHashMap;

use super::memory::{Memory, combine, double, single};
use super::piece::{Environment, Row, each};
use crate::routines::{Arg, GRID_WARP, Instruction, KEPT_SPECIALS, Line, own};
use crate::verify::arithmetic::compute;

/// What a routine reads and writes.
pub(super) struct Lanes<'r> {
    /// Lanes that run it.
    pub(super) present: u64,
    /// Bits of registers of the routine, by name without the prefix; `None` for those it does not have.
    pub(super) bits: &'r dyn Fn(&str) -> Option<u32>,
    /// A register of the function, as a predicate or as a number, or a special register; `None` if there is
    /// none, or nothing holds it here.
    pub(super) outer: &'r dyn Fn(&str, bool) -> Option<Row>,
    /// Values of the routine's registers and of state. Predicates are 0 and 1.
    pub(super) registers: FxHashMap<String, Row>,
    /// Address of the hidden parameter.
    pub(super) parameters: u64,
    pub(super) warp: u32,
    pub(super) environment: Environment,
    /// Number of events of the wave so far, if `%clock` is that.
    pub(super) events: Option<u32>,
    pub(super) memory: Memory,
}

impl Lanes<'_> {
    /// Runs a routine.
    ///
    /// # Errors
    /// If it has an instruction that is not known, or reads what it has not.
    pub(super) fn run(&mut self, lines: &[Line<'_>]) -> Result<(), String> {
        let (mut here, mut waiting) = (self.present, FxHashMap::<&str, u64>::default());
        for line in lines {
            match line {
                Line::Label(name) => here |= waiting.remove(name).unwrap_or(0),
                Line::Inst(inst) => {
                    let taken = match inst.guard {
                        Some((name, negate)) if here != 0 => here & self.holds(name, negate)?,
                        _ => here,
                    };
                    if let ("bra", [Arg::Name(to)]) = (inst.op, &inst.args[..]) {
                        *waiting.entry(to).or_default() |= taken;
                        here &= !taken;
                    } else if taken != 0 {
                        self.step(inst, taken)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The lanes for which a predicate holds.
    fn holds(&self, name: &str, negate: bool) -> Result<u64, String> {
        let values = self.named(name, true)?;
        let mask = values.iter().enumerate().fold(0, |mask, (lane, value)| mask | (value & 1) << lane);
        Ok(if negate { !mask } else { mask })
    }

    fn named(&self, name: &str, predicate: bool) -> Result<Row, String> {
        if let Some(values) = own(name).and_then(|own| self.registers.get(own)) {
            return Ok(*values);
        }
        match name {
            GRID_WARP => return Ok([self.warp.into(); 64]),
            "%laneid" => return Ok(std::array::from_fn(|lane| lane as u64)),
            _ => {}
        }
        let kept = || {
            let (_, kept_in) = KEPT_SPECIALS.iter().find(|(special, _)| *special == name)?;
            self.registers.get(*kept_in).copied()
        };
        let found = (self.outer)(name, predicate).or_else(kept);
        found.ok_or_else(|| format!("the routine reads `{name}` before it writes it"))
    }

    fn value(&self, arg: &Arg<'_>, predicate: bool) -> Result<Row, String> {
        match arg {
            Arg::Int(n) => Ok([n.cast_unsigned(); 64]),
            Arg::Name(name) => self.named(name, predicate),
            Arg::Not(name) => Ok(self.named(name, true)?.map(|value| value & 1 ^ 1)),
            _ => Err(format!("the routine reads {arg:?}")),
        }
    }

    /// Writes a register in lanes.
    fn set(&mut self, name: &str, here: u64, values: &Row) -> Result<(), String> {
        let wrong = || format!("the routine writes `{name}`");
        let name = own(name).ok_or_else(wrong)?;
        let bits = (self.bits)(name).ok_or_else(wrong)?;
        if !self.registers.contains_key(name) {
            self.registers.insert(name.to_owned(), [0; 64]);
        }
        if let Some(register) = self.registers.get_mut(name) {
            each(here).for_each(|lane| register[lane] = values[lane] & u64::MAX >> (64 - bits));
        }
        Ok(())
    }

    fn step(&mut self, inst: &Instruction<'_>, here: u64) -> Result<(), String> {
        let parts: Vec<&str> = inst.op.split('.').collect();
        let ty = parts.last().copied().unwrap_or_default();
        let first = here.trailing_zeros() as usize % 64;
        match (parts[0], &inst.args[..]) {
            ("fence", []) => Ok(()),
            ("ld", [to, Arg::Address(base, offset)]) => {
                let base = match parts.get(1) {
                    Some(&"param") => [self.parameters; 64],
                    _ => self.named(base, false)?,
                };
                self.load(ty, to, base.map(|base| base.wrapping_add_signed(*offset)), here)
            }
            ("st", [Arg::Address(base, offset), from]) => {
                let at = self.named(base, false)?.map(|base| base.wrapping_add_signed(*offset));
                self.store(ty, at, *offset, from, here)
            }
            ("atom", [Arg::Name(to), Arg::Address(base, offset), values @ ..]) => {
                let at = self.named(base, false)?.map(|base| base.wrapping_add_signed(*offset));
                self.atomic(&parts, Some(to), at, values, here)
            }
            ("red", [Arg::Address(base, offset), values @ ..]) => {
                let at = self.named(base, false)?.map(|base| base.wrapping_add_signed(*offset));
                self.atomic(&parts, None, at, values, here)
            }
            ("mov", [Arg::Vector(to), from]) => {
                let values = self.value(from, false)?;
                to.iter().zip([0, 32]).try_for_each(|(to, by)| {
                    self.set(to, here, &values.map(|value| value >> by & 0xffff_ffff))
                })
            }
            ("mov", [Arg::Name(to), Arg::Vector(from)]) => {
                let mut values = [0; 64];
                for (half, by) in from.iter().zip([0, 32]) {
                    let halves = self.named(half, false)?;
                    values
                        .iter_mut()
                        .zip(halves)
                        .for_each(|(value, half)| *value |= (half & 0xffff_ffff) << by);
                }
                self.set(to, here, &values)
            }
            ("mov", [Arg::Name(GRID_WARP), from]) => {
                self.warp = self.value(from, false)?[first] as u32;
                Ok(())
            }
            ("mov", [Arg::Name(to), Arg::Name("%clock" | "%clock64")]) => {
                let value = self.events.map_or(self.environment.clock, u64::from);
                self.events = self.events.map(|events| events.wrapping_add(1));
                self.set(to, here, &[value; 64])
            }
            ("mov", [Arg::Name(to), Arg::Name("%globaltimer")]) => {
                self.set(to, here, &[self.environment.timer; 64])
            }
            ("mov", [Arg::Name(to), Arg::Name("%smid")]) => {
                self.set(to, here, &[self.environment.multiprocessor.into(); 64])
            }
            ("activemask", [Arg::Name(to)]) => self.set(to, here, &[here; 64]),
            ("vote", [Arg::Name(to), Arg::Name(of), _]) => {
                let mask = here & self.holds(of, false)?;
                self.set(to, here, &[mask; 64])
            }
            ("vote", [Arg::Name(to), Arg::Not(of), _]) => {
                let mask = here & self.holds(of, true)?;
                self.set(to, here, &[mask; 64])
            }
            ("match" | "redux" | "readfirst" | "mbcnt", [Arg::Name(to), from, ..]) => {
                let all = if ty.ends_with("64") { u64::MAX } else { 0xffff_ffff };
                let values = self.value(from, false)?;
                let values = if parts[0] == "mbcnt" { values } else { values.map(|value| value & all) };
                let exchanged = exchange(&parts, &values, here).ok_or_else(|| unknown(inst))?;
                self.set(to, here, &exchanged)
            }
            // The last operand is a register for what is between.
            ("div", [Arg::Name(to), a, b, Arg::Name(spare)]) => {
                let (a, b) = (self.value(a, false)?, self.value(b, false)?);
                let (form, mut out) = (Opcode::parse(inst.op), [0; 64]);
                for lane in each(here) {
                    out[lane] = operation(&form, &[a[lane], b[lane]]).ok_or_else(|| unknown(inst))?;
                }
                self.registers.remove(own(spare).unwrap_or_default());
                self.set(to, here, &out)
            }
            (_, [Arg::Name(to), rest @ ..]) => {
                let values = rest.iter().enumerate();
                let values: Result<Vec<Row>, String> =
                    values.map(|(i, arg)| self.value(arg, reads_predicate(&parts, i))).collect();
                let (values, form, mut out) = (values?, Opcode::parse(inst.op), [0; 64]);
                for lane in each(here) {
                    let of_lane: Vec<u64> = values.iter().map(|row| row[lane]).collect();
                    out[lane] = operation(&form, &of_lane).ok_or_else(|| unknown(inst))?;
                }
                self.set(to, here, &out)
            }
            _ => Err(unknown(inst)),
        }
    }

    fn load(&mut self, ty: &str, to: &Arg<'_>, at: Row, here: u64) -> Result<(), String> {
        let size = size(ty)?;
        let targets: Vec<&str> = match to {
            Arg::Vector(names) => names.clone(),
            Arg::Name(name) => vec![*name],
            _ => return Err(format!("the routine loads {to:?}")),
        };
        for (i, to) in (0..).zip(targets) {
            let mut values = [0; 64];
            each(here)
                .for_each(|lane| values[lane] = self.memory.read(at[lane].wrapping_add(size * i), size));
            self.set(to, here, &values)?;
        }
        Ok(())
    }

    fn store(&mut self, ty: &str, at: Row, offset: i64, from: &Arg<'_>, here: u64) -> Result<(), String> {
        let size = size(ty)?;
        let sources: Result<Vec<Row>, String> = match from {
            Arg::Vector(names) => names.iter().map(|name| self.named(name, false)).collect(),
            other => self.value(other, false).map(|row| vec![row]),
        };
        // Lanes store to one place only in samples. Then it matters how many words are stored at a time.
        let sources = sources?;
        let rows = (self.environment.stored_at_once)(size, sources.len(), offset).max(1);
        for (part, sources) in sources.chunks(rows).enumerate() {
            for lane in each(here) {
                let at = at[lane].wrapping_add(size * (part * rows) as u64);
                for (i, from) in (0..).zip(sources) {
                    self.memory.write(at.wrapping_add(size * i), size, from[lane]);
                }
            }
        }
        Ok(())
    }

    fn atomic(
        &mut self,
        parts: &[&str],
        to: Option<&str>,
        at: Row,
        values: &[Arg<'_>],
        here: u64,
    ) -> Result<(), String> {
        let [.., operation, ty] = parts else { return Err("no atomic operation".to_owned()) };
        let unknown = || format!("the verifier does not know `{}` of a routine", parts.join("."));
        let size = size(ty)?;
        let all = u64::MAX >> (64 - 8 * size);
        let rows: Result<Vec<Row>, String> = values.iter().map(|value| self.value(value, false)).collect();
        let (rows, mut olds) = (rows?, [0; 64]);
        for lane in each(here) {
            let old = self.memory.read(at[lane], size);
            let value = rows.first().ok_or_else(unknown)?[lane] & all;
            let new = match (*operation, rows.get(1)) {
                ("cas", Some(new)) => {
                    if old == value {
                        new[lane] & all
                    } else {
                        old
                    }
                }
                ("add", None) if *ty == "f64" => double(f64::from_bits(old) + f64::from_bits(value)),
                _ => combine(operation, old, value, 8 * size as u32, ty.starts_with('s'))
                    .ok_or_else(unknown)?,
            };
            self.memory.write(at[lane], size, new);
            olds[lane] = old;
        }
        to.map_or(Ok(()), |to| self.set(to, here, &olds))
    }
}

/// What each lane gets from the others.
fn exchange(parts: &[&str], values: &Row, here: u64) -> Option<Row> {
    let mut out = [0; 64];
    match parts[0] {
        "match" => {
            for lane in each(here) {
                let same = each(here).filter(|other| values[*other] == values[lane]);
                out[lane] = same.fold(0, |mask, other| mask | 1 << other);
            }
        }
        "redux" => {
            let (operation, signed) = (*parts.get(2)?, parts.last()?.starts_with('s'));
            let mut all = each(here).map(|lane| values[lane]);
            let first = all.next()?;
            out = [all.try_fold(first, |all, value| combine(operation, all, value, 32, signed))?; 64];
        }
        "readfirst" => out = [values[here.trailing_zeros() as usize % 64]; 64],
        _ => {
            for lane in each(here) {
                out[lane] = u64::from((values[lane] & ((1u64 << lane) - 1)).count_ones());
            }
        }
    }
    Some(out)
}

/// Whether an operand behind the result is a predicate.
fn reads_predicate(parts: &[&str], at: usize) -> bool {
    parts.last() == Some(&"pred") || matches!(parts[0], "setp" | "selp") && at == 2
}

fn unknown(inst: &Instruction<'_>) -> String {
    format!("the verifier does not know `{}` of a routine", inst.op)
}

/// Bytes of a type.
fn size(ty: &str) -> Result<u64, String> {
    let bits: u64 = ty.get(1..).and_then(|n| n.parse().ok()).ok_or("a type without a size")?;
    Ok(bits / 8)
}

/// The result of an operation of one lane. It is computed as the verifier of PTX does, not as the machine for
/// the code, so that an error in the latter's arithmetic shows.
fn operation(form: &Opcode, values: &[u64]) -> Option<u64> {
    let [a, b, c] = std::array::from_fn(|i| values.get(i).copied());
    let ty = form.ty(0)?;
    match form.op? {
        Op::Mov => a,
        // No lane uses a quotient by 0: all ones, and the dividend is left.
        Op::Div if !ty.is_float() && b == Some(0) => Some(u64::MAX),
        Op::Rem if b == Some(0) => a,
        op => {
            let result = compute(form, a, b, c)?;
            Some(match ty {
                Type::F32 if op != Op::Setp => single(f32::from_bits(result as u32)),
                Type::F64 if op != Op::Setp => double(f64::from_bits(result)),
                _ => result,
            })
        }
    }
}
