//! The names of a routine: what it mentions where, which predicates are still read, and registers for its
//! temporaries.

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::Value;
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::sgprs;
use super::misfit::{Bank, Misfit};
use super::numbers::{Place, Set, Used};
use super::registers::Registers;
use super::spill::Taker;
use crate::ptx::temporary_type;
use crate::routines::{Arg, Line, instructions, mentions, own};

/// What the names of a routine mean that are none of its own.
pub(super) struct Names<'n> {
    /// Registers of the function, by name and whether it is a predicate.
    pub(super) function: &'n FxHashMap<(String, bool), Register>,
    /// Special registers, which only the routine at a kernel's entry reads.
    pub(super) specials: &'n FxHashMap<&'static str, Special>,
    /// Registers that the routine declares: type, name.
    pub(super) declared: &'n [(&'static str, String)],
}

impl Names<'_> {
    /// The type of a register of the routine, by its name without the prefix.
    fn type_of(&self, name: &str) -> Option<&'static str> {
        let declared = self.declared.iter().find(|(_, declared)| declared == name);
        declared.map(|(ty, _)| *ty).or_else(|| temporary_type(name))
    }

    fn is_predicate(&self, name: &str) -> bool {
        self.type_of(name) == Some(".pred")
    }
}

/// Where a special register is when a kernel begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Special {
    /// Bits of a register: the lowest one, and how many.
    Bits(Value, u8, u8),
    /// A word behind the hidden parameter, by its offset from the parameter's begin.
    Parameter(u32),
}

/// Registers that a routine reads and that are none of its own: those of the function, and those in which
/// hardware hands over special registers.
pub(super) fn outer_registers(lines: &[Line<'_>], names: &Names<'_>) -> Set {
    let insts = instructions(lines);
    let read: Vec<&str> = insts.flat_map(mentions).map(|(name, _)| name).collect();
    let mut out = Set::default();
    for name in &read {
        if let Some(Special::Bits(value, ..)) = names.specials.get(name) {
            value.registers().into_iter().for_each(|reg| out.insert(reg));
        }
    }
    let read = read.into_iter().flat_map(|name| {
        [false, true].map(|predicate| names.function.get(&(name.to_owned(), predicate)).copied())
    });
    for register in read.flatten() {
        match register {
            Register::Word(reg) => out.insert(reg),
            Register::Mask(reg) => {
                [Some(reg), reg.next()].into_iter().flatten().for_each(|reg| out.insert(reg))
            }
            Register::AnyVcc | Register::AnyExec => {}
        }
    }
    out
}

/// By line, predicates of the routine that are read from there on before they are written.
pub(super) fn live<'a>(lines: &'a [Line<'a>], names: &Names<'_>) -> Vec<FxHashSet<&'a str>> {
    let mut at_label: FxHashMap<&str, FxHashSet<&str>> = FxHashMap::default();
    let mut out = vec![FxHashSet::default(); lines.len() + 1];
    for (i, line) in lines.iter().enumerate().rev() {
        let mut now = out[i + 1].clone();
        match line {
            Line::Label(name) => {
                at_label.insert(name, now.clone());
            }
            Line::Inst(inst) => {
                if let ("bra", [Arg::Name(to)]) = (inst.op, &inst.args[..]) {
                    if inst.guard.is_none() {
                        now.clear();
                    }
                    now.extend(at_label.get(to).into_iter().flatten());
                }
                let preds = || {
                    let all = mentions(inst).into_iter();
                    all.filter_map(|(name, written)| Some((own(name)?, written)))
                        .filter(|(name, _)| names.is_predicate(name))
                };
                if inst.guard.is_none() {
                    preds().filter(|(_, written)| *written).for_each(|(name, _)| {
                        now.remove(name);
                    });
                }
                now.extend(preds().filter(|(_, written)| !written).map(|(name, _)| name));
            }
        }
        out[i] = now;
    }
    out
}

/// Registers of the routine's temporaries.
pub(super) struct Allocation<'a> {
    /// Vector registers, by name.
    pub(super) places: FxHashMap<&'a str, Place>,
    /// Predicates, by name.
    pub(super) masks: FxHashMap<&'a str, Value>,
    /// The highest registers, one past each.
    pub(super) peak: Used,
    /// Vector registers in use.
    pub(super) taker: Taker,
}

impl<'a> Allocation<'a> {
    /// Gives each temporary registers from its first mention to its last one.
    pub(super) fn of(
        lines: &'a [Line<'a>],
        registers: &Registers,
        names: &Names<'_>,
        lanes: u8,
    ) -> Result<Allocation<'a>, Misfit> {
        let mut ranges: Vec<(&str, usize, usize)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Line::Inst(inst) = line else { continue };
            for (name, _) in mentions(inst) {
                let Some(name) = own(name).filter(|name| !registers.state.contains_key(*name)) else {
                    continue;
                };
                match ranges.iter_mut().find(|range| range.0 == name) {
                    Some(range) => range.2 = at,
                    None => ranges.push((name, at, at)),
                }
            }
        }
        let mut vectors: Vec<Option<usize>> = vec![None; 256];
        let mut scalars: Vec<Option<usize>> = vec![None; 256];
        let mut out = Allocation {
            places: FxHashMap::default(),
            masks: FxHashMap::default(),
            peak: Used::default(),
            taker: registers.taker.clone(),
        };
        let words = usize::from(lanes / 32);
        for (name, first, last) in ranges {
            let ty =
                names.type_of(name).ok_or_else(|| format!("a routine uses `{name}`, which it has not"))?;
            if ty == ".pred" {
                let end = usize::from(registers.sgprs);
                let free = |at: &usize| {
                    at + words <= end
                        && scalars[*at..*at + words].iter().all(|until| until.is_none_or(|u| u < first))
                };
                let from = usize::from(registers.first_mask).next_multiple_of(words);
                let place = (from..end).step_by(words).find(free).ok_or(Misfit::Registers(Bank::Scalar))?;
                scalars[place..place + words].fill(Some(last));
                out.masks.insert(name, sgprs(place as u8, words as u8));
                out.peak.scalar = out.peak.scalar.max((place + words) as u32);
            } else {
                let wide = ty == ".b64";
                let free = |n: u8| vectors[usize::from(n)].is_none_or(|until| until < first);
                let place = out.taker.find(1 + u32::from(wide), free);
                let place = place.ok_or(Misfit::Registers(Bank::Vector))?;
                for n in place..=place + u8::from(wide) {
                    vectors[usize::from(n)] = Some(last);
                    out.taker.uses(n);
                }
                out.places.insert(name, Place { first: place, wide });
            }
        }
        out.peak.scalar = out.peak.scalar.max(registers.first_mask.into());
        out.peak.vector = out.taker.end();
        Ok(out)
    }
}
