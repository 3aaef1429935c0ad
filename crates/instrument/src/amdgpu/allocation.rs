//! The names of a routine: what it mentions where, which predicates are still read, and registers for its
//! temporaries.

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::{Reg, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::sgprs;
use super::misfit::{Bank, Misfit};
use super::registers::{Place, Registers, Used};
use super::routine::{Arg, Instruction, Line};
use crate::ptx::{PREFIX, temporary_type};

/// What the names of a routine mean that are none of its own.
pub(super) struct Names<'n> {
    /// Registers of the function, by name and whether it is a predicate.
    pub(super) function: &'n FxHashMap<(String, bool), Register>,
    /// Special registers, which only the routine at a kernel's entry reads.
    pub(super) specials: &'n FxHashMap<&'static str, Special>,
}

/// Where a special register is when a kernel begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    /// Bits of a register: the lowest one, and how many.
    Bits(Value, u8, u8),
    /// A word behind the hidden parameter, by its offset from the parameter's begin.
    Parameter(u32),
}

/// Scalar registers of the function that a routine reads.
pub(super) fn scalars_read(lines: &[Line<'_>], names: &FxHashMap<(String, bool), Register>) -> Vec<u8> {
    let insts = lines.iter().filter_map(|line| if let Line::Inst(inst) = line { Some(inst) } else { None });
    let read = insts.flat_map(mentions).flat_map(|(name, _)| {
        [false, true].map(|predicate| names.get(&(name.to_owned(), predicate)).copied())
    });
    let numbers = read.flatten().filter_map(|register| match register {
        Register::Word(Reg::S(n)) => Some([n, n]),
        Register::Mask(Reg::S(n)) => Some([n, n.saturating_add(1)]),
        _ => None,
    });
    numbers.flatten().collect()
}

/// Names that an instruction reads and writes as registers, each with whether it is written.
pub(super) fn mentions<'a>(inst: &'a Instruction<'a>) -> Vec<(&'a str, bool)> {
    let mut out: Vec<(&str, bool)> = inst.guard.iter().map(|(name, _)| (*name, false)).collect();
    let stores = ["st.", "red.", "bra"].iter().any(|op| inst.op.starts_with(op));
    for (i, arg) in inst.args.iter().enumerate() {
        let written = i == 0 && !stores;
        match arg {
            Arg::Name(name) => out.push((name, written)),
            Arg::Not(name) | Arg::Address(name, _) => out.push((name, false)),
            Arg::Vector(list) => out.extend(list.iter().map(|name| (*name, written))),
            Arg::Int(_) => {}
        }
    }
    out
}

/// The name of a register of the routine without the prefix.
pub(super) fn own(name: &str) -> Option<&str> {
    name.strip_prefix('%')?.strip_prefix(PREFIX)
}

fn is_predicate(name: &str) -> bool {
    temporary_type(name) == Some(".pred")
}

/// By line, predicates of the routine that are read from there on before they are written.
pub(super) fn live<'a>(lines: &'a [Line<'a>]) -> Vec<FxHashSet<&'a str>> {
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
                        .filter(|(name, _)| is_predicate(name))
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
}

impl<'a> Allocation<'a> {
    /// Gives each temporary registers from its first mention to its last one.
    pub(super) fn of(
        lines: &'a [Line<'a>],
        registers: &Registers,
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
        let (mut vectors, mut scalars) = (vec![None; 256], vec![None; 256]);
        let mut out =
            Allocation { places: FxHashMap::default(), masks: FxHashMap::default(), peak: Used::default() };
        let words = usize::from(lanes / 32);
        for (name, first, last) in ranges {
            let ty =
                temporary_type(name).ok_or_else(|| format!("a routine uses `{name}`, which it has not"))?;
            let (busy, from, end, count, bank) = match ty {
                ".pred" => {
                    (&mut scalars, registers.first_mask, usize::from(registers.sgprs), words, Bank::Scalar)
                }
                ".b64" => (&mut vectors, registers.first_vector, 256, 2, Bank::Vector),
                _ => (&mut vectors, registers.first_vector, 256, 1, Bank::Vector),
            };
            let free = |at: &usize, busy: &[Option<usize>]| {
                at + count <= end
                    && busy[*at..*at + count].iter().all(|until| until.is_none_or(|u| u < first))
            };
            let from = usize::from(from).next_multiple_of(count);
            let place =
                (from..end).step_by(count).find(|at| free(at, busy)).ok_or(Misfit::Registers(bank))?;
            busy[place..place + count].fill(Some(last));
            let (start, top) = (place as u8, (place + count) as u32);
            if ty == ".pred" {
                out.masks.insert(name, sgprs(start, words as u8));
                out.peak.scalar = out.peak.scalar.max(top);
            } else {
                out.places.insert(name, Place { first: start, wide: count == 2 });
                out.peak.vector = out.peak.vector.max(top);
            }
        }
        out.peak =
            out.peak.max(Used { vector: registers.first_vector.into(), scalar: registers.first_mask.into() });
        Ok(out)
    }
}
