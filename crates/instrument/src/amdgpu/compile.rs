//! Compiles a recorder routine to machine code.
//!
//! A register of the routine is one of each lane: a vector register, or for a predicate a mask in scalar
//! registers. Lanes that branch are taken out of EXEC. They keep the number of the label that they go to, and
//! the code at the label puts them back. As branches go forward, one pass over the lines in their order runs
//! every lane.
//!
//! # Invariants
//! - Behind a routine, EXEC and SCC are what they were, and no register has changed but those of
//!   [`Registers`] and the temporaries above them. VCC, M0 and MODE are never written.
//! - A routine runs for the lanes that are where the wave is ([`Registers::present`]), whatever EXEC is.
//! - Its loads have arrived when it ends.
//!
//! # Limitations
//! - The code has not run on hardware. Wait states that hardware wants between instructions are not inserted.
//! - Exchanges between lanes are refused, which level `events` needs.

use std::collections::BTreeSet;

use prlx_isa::amdgpu::inst::{Encoding, Field, Reg, Value};
use prlx_isa::amdgpu::{Family, Register};
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::{Assembler, EXEC, Label, sgpr, sgprs, vgpr, vgprs};
use super::registers::{Place, Registers, SCALAR, Used, VECTOR, too_few};
use super::routine::{Arg, Instruction, Line};
use crate::ptx::{GRID_WARP, temporary_type};

/// What the names of a routine mean that are none of its own.
pub(super) struct Names<'n> {
    /// Prefix of names of inserted registers, with the `%`.
    pub(super) prefix: &'n str,
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

/// Compiles a routine.
///
/// # Errors
/// If an instruction is not supported, or registers run out.
pub(super) fn compile(
    asm: &mut Assembler,
    registers: &Registers,
    names: &Names<'_>,
    lines: &[Line<'_>],
    scc_is_live: bool,
) -> Result<Used, String> {
    let fused = fuse(lines);
    let mut compiler = Compiler {
        allocation: Allocation::of(lines, names, registers, asm.lanes)?,
        live: live(lines, names),
        asm,
        registers,
        names,
        pending: BTreeSet::new(),
        at: 0,
        scratch: 0,
    };
    compiler.run(lines, &fused, scc_is_live)?;
    Ok(compiler.allocation.peak)
}

/// Lines `shl x, x, 1` and `@p or x, x, 1`, one after the other: `x + x + p` is one instruction.
fn fuse(lines: &[Line<'_>]) -> FxHashSet<usize> {
    let pairs = lines.windows(2).enumerate();
    let fused = pairs.filter(|(_, pair)| {
        let [Line::Inst(shift), Line::Inst(or)] = pair else { return false };
        let [Arg::Name(to), Arg::Name(from), Arg::Int(1)] = &shift.args[..] else { return false };
        let same = [Arg::Name(*to), Arg::Name(*from), Arg::Int(1)];
        (shift.op, or.op) == ("shl.b32", "or.b32")
            && to == from
            && shift.guard.is_none()
            && or.guard.is_some()
            && or.args == same
    });
    fused.map(|(at, _)| at).collect()
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
fn mentions<'a>(inst: &'a Instruction<'a>) -> Vec<(&'a str, bool)> {
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
fn own<'a>(name: &'a str, names: &Names<'_>) -> Option<&'a str> {
    name.strip_prefix(names.prefix)
}

fn is_predicate(name: &str) -> bool {
    temporary_type(name) == Some(".pred")
}

/// By line, predicates of the routine that are read from there on before they are written.
fn live<'a>(lines: &'a [Line<'a>], names: &Names<'_>) -> Vec<FxHashSet<&'a str>> {
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
                    all.filter_map(|(name, written)| Some((own(name, names)?, written)))
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
struct Allocation<'a> {
    places: FxHashMap<&'a str, Place>,
    masks: FxHashMap<&'a str, Value>,
    peak: Used,
}

impl<'a> Allocation<'a> {
    /// Gives each temporary registers from its first mention to its last one.
    fn of(
        lines: &'a [Line<'a>],
        names: &Names<'_>,
        registers: &Registers,
        lanes: u8,
    ) -> Result<Allocation<'a>, String> {
        let mut ranges: Vec<(&str, usize, usize)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Line::Inst(inst) = line else { continue };
            for (name, _) in mentions(inst) {
                let Some(name) = own(name, names).filter(|name| !registers.state.contains_key(*name)) else {
                    continue;
                };
                match ranges.iter_mut().find(|range| range.0 == name) {
                    Some(range) => range.2 = at,
                    None => ranges.push((name, at, at)),
                }
            }
        }
        let (mut vectors, mut scalars) = (vec![None; 256], vec![None; 256]);
        let mut out = Allocation { places: FxHashMap::default(), masks: FxHashMap::default(), peak: Used::default() };
        let words = usize::from(lanes / 32);
        for (name, first, last) in ranges {
            let ty = temporary_type(name).ok_or_else(|| format!("a routine uses `{name}`, which it has not"))?;
            let (busy, from, end, count, bank) = match ty {
                ".pred" => (&mut scalars, registers.first_mask, usize::from(registers.sgprs), words, SCALAR),
                ".b64" => (&mut vectors, registers.first_vector, 256, 2, VECTOR),
                _ => (&mut vectors, registers.first_vector, 256, 1, VECTOR),
            };
            let free = |at: &usize, busy: &[Option<usize>]| {
                at + count <= end && busy[*at..*at + count].iter().all(|until| until.is_none_or(|u| u < first))
            };
            let from = usize::from(from).next_multiple_of(count);
            let place = (from..end).step_by(count).find(|at| free(at, busy)).ok_or_else(|| too_few(bank))?;
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
        out.peak = out.peak.max(Used { vector: registers.first_vector.into(), scalar: registers.first_mask.into() });
        Ok(out)
    }
}

struct Compiler<'c> {
    asm: &'c mut Assembler,
    registers: &'c Registers,
    names: &'c Names<'c>,
    allocation: Allocation<'c>,
    live: Vec<FxHashSet<&'c str>>,
    /// Lines of the labels that lanes may be on their way to, or have been.
    pending: BTreeSet<usize>,
    /// The line that is compiled.
    at: usize,
    /// How many scratch registers the instruction has used.
    scratch: u8,
}

impl<'c> Compiler<'c> {
    fn run(&mut self, lines: &'c [Line<'c>], fused: &FxHashSet<usize>, scc_is_live: bool) -> Result<(), String> {
        let simple = fused.len() * 2 == lines.len();
        let reads_scc = lines.iter().any(|line| match line {
            Line::Inst(inst) => mentions(inst).iter().any(|(name, _)| *name == "scc"),
            Line::Label(_) => false,
        });
        let keeps_scc = reads_scc || scc_is_live && !simple;
        let (scc, zero, one) = (sgpr(self.registers.scc), Value::Integer(0), Value::Integer(1));
        self.registers.enter(self.asm);
        if keeps_scc {
            self.asm.emit(Encoding::Sop2, "s_cselect_b32", &[scc, one, zero]);
        }
        self.mask1("s_mov", self.registers.exec, EXEC);
        self.mask1("s_mov", EXEC, self.registers.present);
        let mut labels: FxHashMap<&str, (usize, Label)> = FxHashMap::default();
        for (at, line) in lines.iter().enumerate() {
            if let Line::Label(name) = line {
                labels.insert(name, (at, self.asm.label()));
            }
        }
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            self.at = at;
            self.scratch = 0;
            match line {
                Line::Label(name) => {
                    let (number, label) = labels[name];
                    self.asm.place(label);
                    if self.pending.contains(&at) {
                        self.rejoin(number);
                    }
                }
                Line::Inst(inst) if inst.op == "bra" => {
                    let [Arg::Name(to)] = inst.args[..] else { return Err(unsupported(inst)) };
                    let (number, _) = *labels.get(to).ok_or_else(|| format!("a routine has no label {to}"))?;
                    self.pending.insert(number);
                    let next = self.pending.range(at..).next().ok_or_else(|| unsupported(inst))?;
                    let next = labels.values().find(|(line, _)| line == next).map(|(_, label)| *label);
                    let next = next.ok_or_else(|| unsupported(inst))?;
                    self.branch(inst.guard, number, next)?;
                }
                Line::Inst(inst) if fused.contains(&at) => {
                    let Some(Line::Inst(Instruction { guard: Some(guard), .. })) = lines.get(at + 1) else {
                        return Err(unsupported(inst));
                    };
                    self.append_bit(inst, *guard)?;
                    at += 1;
                }
                Line::Inst(inst) => self.guarded(inst)?,
            }
            at += 1;
        }
        self.mask1("s_mov", EXEC, self.registers.exec);
        if keeps_scc {
            self.asm.emit(Encoding::Sopc, "s_cmp_lg_u32", &[scc, zero]);
        }
        self.registers.leave(self.asm);
        Ok(())
    }

    /// Lanes that go to the label of that number go on.
    fn rejoin(&mut self, number: usize) {
        let [here, back, _] = self.registers.masks;
        self.mask1("s_mov", here, EXEC);
        self.mask1("s_mov", EXEC, self.registers.present);
        let number = self.constant(number as u32);
        self.asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[back, vgpr(self.registers.label), number]);
        self.mask2("s_or", EXEC, here, back);
    }

    /// Sends lanes to the label of that number. If none goes on, the wave skips to `next`.
    fn branch(&mut self, guard: Option<(&str, bool)>, number: usize, next: Label) -> Result<(), String> {
        let to = vgpr(self.registers.label);
        let Some((name, negate)) = guard else {
            self.set(to, number as u32);
            self.mask1("s_mov", EXEC, Value::Integer(0));
            self.asm.jump("s_branch", next);
            return Ok(());
        };
        let [leave, stay, _] = self.registers.masks;
        let condition = self.predicate(name)?;
        let (yes, no) = if negate { ("s_andn2", "s_and") } else { ("s_and", "s_andn2") };
        self.mask2(yes, leave, EXEC, condition);
        self.mask2(no, stay, EXEC, condition);
        self.mask1("s_mov", EXEC, leave);
        self.set(to, number as u32);
        self.mask1("s_mov", EXEC, stay);
        self.asm.jump("s_cbranch_execz", next);
        Ok(())
    }

    /// `x + x + p`.
    fn append_bit(&mut self, shift: &Instruction<'_>, (name, negate): (&str, bool)) -> Result<(), String> {
        let word = self.place(&shift.args[0])?.whole();
        let [carry, bit, _] = self.registers.masks;
        let mut mask = self.predicate(name)?;
        if negate {
            self.mask2("s_andn2", bit, EXEC, mask);
            mask = bit;
        }
        self.asm.emit(Encoding::Vop3, "v_addc_co_u32", &[word, carry, word, word, mask]);
        Ok(())
    }

    /// An instruction for the lanes whose guard holds.
    fn guarded(&mut self, inst: &Instruction<'_>) -> Result<(), String> {
        let Some((name, negate)) = inst.guard else { return self.instruction(inst) };
        let here = self.registers.masks[2];
        let condition = self.predicate(name)?;
        self.mask1("s_mov", here, EXEC);
        self.mask2(if negate { "s_andn2" } else { "s_and" }, EXEC, EXEC, condition);
        let result = self.instruction(inst);
        self.mask1("s_mov", EXEC, here);
        result
    }

    fn instruction(&mut self, inst: &Instruction<'_>) -> Result<(), String> {
        let parts: Vec<&str> = inst.op.split('.').collect();
        let wide = matches!(parts.last(), Some(&("u64" | "b64" | "s64")));
        match (parts[0], &inst.args[..]) {
            ("mov", [Arg::Vector(to), from]) => self.split(to, from),
            ("mov", [to, Arg::Vector(from)]) => self.joined(to, from),
            ("mov", [Arg::Name(GRID_WARP), from]) => {
                let from = self.half(from, false)?;
                self.asm.emit(Encoding::Vop1, "v_readfirstlane_b32", &[sgpr(self.registers.warp), from]);
                Ok(())
            }
            ("mov" | "cvt", [to, from]) => self.moved(&parts, to, from),
            ("and" | "or" | "not", [to, rest @ ..]) if parts[1] == "pred" => self.logic(parts[0], to, rest),
            ("and" | "or" | "xor", [to, a, b]) => {
                let name = format!("v_{}_b32", parts[0]);
                self.halves(wide, to, a, b, |compiler, to, a, b| compiler.two(&name, to, a, b))
            }
            ("shl" | "shr", [to, a, by]) => self.shift(parts[0], wide, to, a, by),
            ("shf", [to, low, high, Arg::Int(by)]) if inst.op == "shf.l.wrap.b32" => {
                let right = Value::Integer(((32 - by) & 31) as i32);
                let (to, low, high) = (self.place(to)?.whole(), self.half(low, false)?, self.half(high, false)?);
                self.asm.emit(Encoding::Vop3, "v_alignbit_b32", &[to, high, low, right]);
                Ok(())
            }
            ("add" | "sub", [to, a, b]) => self.sum(parts[0] == "sub", wide, to, a, b),
            ("mul", [to, a, b]) if parts[1] == "lo" => self.two_of("v_mul_lo_u32", to, a, b),
            ("mul", [to, a, b]) if parts[1] == "wide" => self.multiply(to, a, b, None),
            ("mad", [to, a, b, c]) if parts[1] == "wide" => self.multiply(to, a, b, Some(c)),
            ("mad", [to, a, b, c]) if wide => self.multiply_wide(to, a, b, c),
            ("mad", [to, a, b, c]) => {
                let product = self.take_scratch(1)?;
                let (a, b) = (self.half(a, false)?, self.half(b, false)?);
                self.two("v_mul_lo_u32", product, a, b);
                let (to, c) = (self.place(to)?.whole(), self.half(c, false)?);
                self.two("v_add_u32", to, product, c);
                Ok(())
            }
            ("min" | "max", [to, a, b]) if wide => self.extreme(parts[0], to, a, b),
            ("min" | "max", [to, a, b]) => self.two_of(&format!("v_{}_u32", parts[0]), to, a, b),
            ("setp", [to, a, b, rest @ ..]) => self.compare(&parts, wide, to, [a, b], rest.first()),
            ("selp", [to, a, b, Arg::Name(condition)]) => self.select(wide, to, a, b, condition),
            ("ld", [to, Arg::Address(base, offset)]) => self.load(&parts, to, base, *offset),
            ("st", [Arg::Address(base, offset), from]) => self.store(&parts, base, *offset, from),
            ("atom" | "red", [rest @ ..]) => self.atomic(&parts, rest).ok_or_else(|| unsupported(inst))?,
            _ => Err(unsupported(inst)),
        }
    }

    // Registers and constants.

    /// The registers of a result.
    fn place(&self, arg: &Arg<'_>) -> Result<Place, String> {
        match arg {
            Arg::Name(name) => self.place_of(name),
            _ => Err(format!("a routine writes to {arg:?}")),
        }
    }

    fn place_of(&self, name: &str) -> Result<Place, String> {
        let found = own(name, self.names)
            .and_then(|own| self.registers.state.get(own).or_else(|| self.allocation.places.get(own)));
        found.copied().ok_or_else(|| format!("a routine writes to `{name}`"))
    }

    /// Scratch registers of this instruction.
    fn take_scratch(&mut self, count: u8) -> Result<Value, String> {
        let first = if count > 1 { self.scratch.next_multiple_of(2) } else { self.scratch };
        self.scratch = first + count;
        if self.scratch > 4 {
            return Err("a routine's instruction needs too many scratch registers".to_owned());
        }
        Ok(vgprs(self.registers.scratch + first, count))
    }

    fn set(&mut self, to: Value, bits: u32) {
        let from = if inline(bits) { Value::Integer(bits.cast_signed()) } else { Value::Literal(bits) };
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from]);
    }

    /// A constant as an operand; large ones are in a scratch register.
    fn constant(&mut self, bits: u32) -> Value {
        if inline(bits) {
            return Value::Integer(bits.cast_signed());
        }
        // The last scratch register is kept for this: an instruction has one large constant.
        let scratch = vgpr(self.registers.scratch + 3);
        self.set(scratch, bits);
        scratch
    }

    /// The low 32 bits of an operand, or the high ones.
    fn half(&mut self, arg: &Arg<'_>, high: bool) -> Result<Value, String> {
        match arg {
            Arg::Int(n) => Ok(self.constant(if high { (n >> 32) as u32 } else { *n as u32 })),
            Arg::Name(name) => match self.place_of(name) {
                Ok(place) if high && !place.wide => Ok(Value::Integer(0)),
                Ok(place) => Ok(place.half(high)),
                Err(_) => self.outside(name),
            },
            _ => Err(format!("a routine reads {arg:?}")),
        }
    }

    /// A register of the function, or a special one.
    fn outside(&mut self, name: &str) -> Result<Value, String> {
        if let Some(special) = self.names.specials.get(name) {
            return self.special(*special);
        }
        let lane = name == "%laneid";
        let register = self.names.function.get(&(name.to_owned(), false));
        let from = match (lane, register) {
            (true, _) => {
                let (to, all, zero) = (self.take_scratch(1)?, Value::Integer(-1), Value::Integer(0));
                self.asm.emit(Encoding::Vop3, "v_mbcnt_lo_u32_b32", &[to, all, zero]);
                if self.asm.lanes == 64 {
                    self.asm.emit(Encoding::Vop3, "v_mbcnt_hi_u32_b32", &[to, all, to]);
                }
                return Ok(to);
            }
            (_, None) if name == GRID_WARP => {
                let to = self.take_scratch(1)?;
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, sgpr(self.registers.warp)]);
                return Ok(to);
            }
            // One magazine for all: which part of the device runs the wave is not asked.
            (_, None) if name == "%smid" => return Ok(Value::Integer(0)),
            (_, Some(Register::Word(reg))) => *reg,
            _ => return Err(format!("a routine reads `{name}`")),
        };
        let exec = |high: bool| match self.registers.exec {
            Value::Registers { first, .. } => sgpr(first + u8::from(high)),
            other => other,
        };
        let value = match from {
            Reg::V(n) => return Ok(vgpr(n)),
            Reg::A(n) => {
                let to = self.take_scratch(1)?;
                let from = Value::Registers { bank: prlx_isa::amdgpu::inst::Bank::Accumulation, first: n, count: 1 };
                self.asm.emit(Encoding::Vop3p, "v_accvgpr_read_b32", &[to, from]);
                return Ok(to);
            }
            Reg::S(n) => sgpr(n),
            Reg::Ttmp(n) => Value::Registers { bank: prlx_isa::amdgpu::inst::Bank::Trap, first: n, count: 1 },
            Reg::VccLo => Value::Named("vcc_lo", &[]),
            Reg::VccHi => Value::Named("vcc_hi", &[]),
            Reg::M0 => Value::Named("m0", &[]),
            Reg::ExecLo => exec(false),
            Reg::ExecHi => exec(true),
            Reg::Scc | Reg::Mode | Reg::FlatScratchLo | Reg::FlatScratchHi | Reg::XnackMaskLo | Reg::XnackMaskHi => {
                return Err(format!("a routine reads `{name}`"));
            }
        };
        // An instruction may read one scalar register, and predicates are some.
        let to = self.take_scratch(1)?;
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, value]);
        Ok(to)
    }

    fn special(&mut self, special: Special) -> Result<Value, String> {
        let to = self.take_scratch(1)?;
        match special {
            Special::Bits(from, 0, 32) => self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from]),
            Special::Bits(from, low, count) => {
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, from]);
                let [low, count] = [low, count].map(|n| Value::Integer(n.into()));
                self.asm.emit(Encoding::Vop3, "v_bfe_u32", &[to, to, low, count]);
            }
            Special::Parameter(offset) => {
                self.load_parameter(to, i64::from(offset), "global_load_dword")?;
            }
        }
        Ok(to)
    }

    /// The lanes for which a predicate holds, and perhaps lanes outside EXEC.
    fn predicate(&mut self, name: &str) -> Result<Value, String> {
        if let Some(mask) = own(name, self.names).and_then(|own| self.allocation.masks.get(own)) {
            return Ok(*mask);
        }
        let register = self.names.function.get(&(name.to_owned(), true));
        let count = self.asm.lanes / 32;
        let tested = match register {
            Some(Register::Mask(Reg::ExecLo)) => return Ok(self.registers.exec),
            Some(Register::Mask(Reg::VccLo)) => return Ok(Value::Named("vcc", &[])),
            Some(Register::Mask(Reg::S(n))) => return Ok(sgprs(*n, count)),
            Some(Register::Mask(Reg::Ttmp(n))) => {
                return Ok(Value::Registers { bank: prlx_isa::amdgpu::inst::Bank::Trap, first: *n, count });
            }
            Some(Register::Mask(Reg::VccHi)) => return Ok(Value::Named("vcc_hi", &[])),
            Some(Register::Mask(Reg::M0)) => return Ok(Value::Named("m0", &[])),
            Some(Register::Word(Reg::Scc)) => None,
            Some(Register::AnyVcc) => Some(Value::Named("vcc", &[])),
            Some(Register::AnyExec) => Some(self.registers.exec),
            _ => return Err(format!("a routine reads the predicate `{name}`")),
        };
        let (zero, all) = (Value::Integer(0), Value::Integer(-1));
        let (of, name) = match tested {
            None => (sgpr(self.registers.scc), "s_cmp_lg_u32"),
            Some(of) => (of, if count == 2 { "s_cmp_lg_u64" } else { "s_cmp_lg_u32" }),
        };
        let mask = self.registers.masks[1];
        self.asm.emit(Encoding::Sopc, name, &[of, zero]);
        let select = if count == 2 { "s_cselect_b64" } else { "s_cselect_b32" };
        self.asm.emit(Encoding::Sop2, select, &[mask, all, zero]);
        Ok(mask)
    }

    /// Writes a predicate for the lanes in EXEC. `value` has no other lanes' bits.
    fn define(&mut self, to: &Arg<'_>, value: Value) -> Result<(), String> {
        let Arg::Name(name) = to else { return Err(format!("a routine writes to {to:?}")) };
        let name = own(name, self.names).unwrap_or(name);
        let mask = *self.allocation.masks.get(name).ok_or_else(|| format!("a routine writes to `{name}`"))?;
        // Other lanes have a value of their own, if one of them reads it at the label that it goes to.
        if self.pending.iter().any(|label| *label > self.at && self.live[*label].contains(name)) {
            self.mask2("s_andn2", mask, mask, EXEC);
            self.mask2("s_or", mask, mask, value);
        } else {
            self.mask1("s_mov", mask, value);
        }
        Ok(())
    }

    // Instructions.

    /// An operation on masks of one operand, by its stem.
    fn mask1(&mut self, stem: &str, to: Value, a: Value) {
        let name = format!("{stem}_b{}", self.asm.lanes);
        self.asm.emit(Encoding::Sop1, &name, &[to, a]);
    }

    fn mask2(&mut self, stem: &str, to: Value, a: Value, b: Value) {
        let name = format!("{stem}_b{}", self.asm.lanes);
        self.asm.emit(Encoding::Sop2, &name, &[to, a, b]);
    }

    fn two(&mut self, name: &str, to: Value, a: Value, b: Value) {
        self.asm.emit(Encoding::Vop3, name, &[to, a, b]);
    }

    fn two_of(&mut self, name: &str, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>) -> Result<(), String> {
        let (a, b) = (self.half(a, false)?, self.half(b, false)?);
        let to = self.place(to)?.whole();
        self.two(name, to, a, b);
        Ok(())
    }

    /// The same for the low half and, if `wide`, for the high half.
    fn halves(
        &mut self,
        wide: bool,
        to: &Arg<'_>,
        a: &Arg<'_>,
        b: &Arg<'_>,
        each: impl Fn(&mut Self, Value, Value, Value),
    ) -> Result<(), String> {
        let place = self.place(to)?;
        for high in [false, true].into_iter().take(1 + usize::from(wide)) {
            let (a, b) = (self.half(a, high)?, self.half(b, high)?);
            each(self, place.half(high), a, b);
        }
        Ok(())
    }

    fn logic(&mut self, op: &str, to: &Arg<'_>, from: &[Arg<'_>]) -> Result<(), String> {
        let [value, second, _] = self.registers.masks;
        let name = |arg: &Arg<'_>| match arg {
            Arg::Name(name) => Ok((*name).to_owned()),
            other => Err(format!("a routine reads the predicate {other:?}")),
        };
        match (op, from) {
            ("not", [a]) => {
                let a = self.predicate(&name(a)?)?;
                self.mask2("s_andn2", value, EXEC, a);
            }
            (_, [a, b]) => {
                let a = self.predicate(&name(a)?)?;
                self.mask2("s_and", value, EXEC, a);
                let b = self.predicate(&name(b)?)?;
                self.mask2("s_and", second, EXEC, b);
                self.mask2(&format!("s_{op}"), value, value, second);
            }
            _ => return Err(format!("a routine has {op}.pred of {from:?}")),
        }
        self.define(to, value)
    }

    fn moved(&mut self, parts: &[&str], to: &Arg<'_>, from: &Arg<'_>) -> Result<(), String> {
        let place = self.place(to)?;
        // cvt.to.from; mov.type.
        let bits = match parts.last() {
            Some(&("u8" | "b8")) => Some(0xff),
            Some(&("u16" | "b16")) => Some(0xffff),
            _ => None,
        };
        let low = self.half(from, false)?;
        match bits {
            Some(bits) => {
                let bits = self.constant(bits);
                self.two("v_and_b32", place.half(false), low, bits);
            }
            None => self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), low]),
        }
        if place.wide {
            let narrow = parts[0] == "cvt" || bits.is_some();
            let high = if narrow { Value::Integer(0) } else { self.half(from, true)? };
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(true), high]);
        }
        Ok(())
    }

    /// `mov.b64 {low, high}, from`.
    fn split(&mut self, to: &[&str], from: &Arg<'_>) -> Result<(), String> {
        for (name, high) in to.iter().zip([false, true]) {
            let value = self.half(from, high)?;
            let to = self.place_of(name)?.whole();
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[to, value]);
        }
        Ok(())
    }

    /// `mov.b64 to, {low, high}`.
    fn joined(&mut self, to: &Arg<'_>, from: &[&str]) -> Result<(), String> {
        let place = self.place(to)?;
        for (name, high) in from.iter().zip([false, true]) {
            let value = self.half(&Arg::Name(name), false)?;
            self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(high), value]);
        }
        Ok(())
    }

    fn shift(&mut self, op: &str, wide: bool, to: &Arg<'_>, a: &Arg<'_>, by: &Arg<'_>) -> Result<(), String> {
        let place = self.place(to)?;
        let by = self.half(by, false)?;
        let name = match (op, wide) {
            ("shl", false) => "v_lshlrev_b32",
            ("shr", false) => "v_lshrrev_b32",
            ("shl", true) => "v_lshlrev_b64",
            _ => "v_lshrrev_b64",
        };
        let a = match (wide, a) {
            (false, a) => self.half(a, false)?,
            (true, Arg::Name(name)) => self.place_of(name)?.whole(),
            (true, other) => return Err(format!("a routine shifts {other:?}")),
        };
        self.two(name, place.whole(), by, a);
        Ok(())
    }

    fn sum(&mut self, subtract: bool, wide: bool, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>) -> Result<(), String> {
        if !wide {
            return self.two_of(if subtract { "v_sub_u32" } else { "v_add_u32" }, to, a, b);
        }
        let place = self.place(to)?;
        let carry = self.registers.masks[0];
        let (first, second) = match subtract {
            true => ("v_sub_co_u32", "v_subb_co_u32"),
            false => ("v_add_co_u32", "v_addc_co_u32"),
        };
        let (low_a, low_b) = (self.half(a, false)?, self.half(b, false)?);
        self.asm.emit(Encoding::Vop3, first, &[place.half(false), carry, low_a, low_b]);
        let (high_a, high_b) = (self.half(a, true)?, self.half(b, true)?);
        self.asm.emit(Encoding::Vop3, second, &[place.half(true), carry, high_a, high_b, carry]);
        Ok(())
    }

    /// `a * b + c` in 64 bits, of factors of 32.
    fn multiply(&mut self, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>, c: Option<&Arg<'_>>) -> Result<(), String> {
        let product = self.take_scratch(2)?;
        let (a, b) = (self.half(a, false)?, self.half(b, false)?);
        let c = match c {
            None => Value::Integer(0),
            Some(Arg::Name(name)) => self.place_of(name)?.whole(),
            Some(other) => return Err(format!("a routine adds {other:?}")),
        };
        self.asm.emit(Encoding::Vop3, "v_mad_u64_u32", &[product, self.registers.masks[0], a, b, c]);
        self.put_pair(to, product)
    }

    /// `a * b + c` of 64 bits each; `b` is a constant below 2^32.
    fn multiply_wide(&mut self, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>, c: &Arg<'_>) -> Result<(), String> {
        let (Arg::Name(a), Arg::Int(factor @ 0..=0xffff_ffff), Arg::Name(c)) = (a, b, c) else {
            return Err(format!("a routine multiplies {a:?} by {b:?}"));
        };
        let (a, c) = (self.place_of(a)?, self.place_of(c)?);
        let product = self.take_scratch(2)?;
        let high = self.take_scratch(1)?;
        let factor = self.constant(*factor as u32);
        self.asm.emit(
            Encoding::Vop3,
            "v_mad_u64_u32",
            &[product, self.registers.masks[0], a.half(false), factor, c.whole()],
        );
        self.two("v_mul_lo_u32", high, a.half(true), factor);
        let Value::Registers { first, .. } = product else { return Ok(()) };
        self.two("v_add_u32", vgpr(first + 1), vgpr(first + 1), high);
        self.put_pair(to, product)
    }

    fn put_pair(&mut self, to: &Arg<'_>, from: Value) -> Result<(), String> {
        let place = self.place(to)?;
        let Value::Registers { first, .. } = from else { return Ok(()) };
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(false), vgpr(first)]);
        self.asm.emit(Encoding::Vop1, "v_mov_b32", &[place.half(true), vgpr(first + 1)]);
        Ok(())
    }

    /// Smaller or larger one of two 64-bit numbers.
    fn extreme(&mut self, op: &str, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>) -> Result<(), String> {
        let mask = self.registers.masks[0];
        let relation = if op == "min" { "lt" } else { "gt" };
        let (left, right) = (self.pair(a)?, self.pair(b)?);
        self.asm.emit(Encoding::Vop3, &format!("v_cmp_{relation}_u64"), &[mask, left, right]);
        self.halves(true, to, a, b, |compiler, to, a, b| {
            compiler.asm.emit(Encoding::Vop3, "v_cndmask_b32", &[to, b, a, mask]);
        })
    }

    /// A 64-bit operand: a register, or a constant in scratch registers.
    fn pair(&mut self, arg: &Arg<'_>) -> Result<Value, String> {
        match arg {
            Arg::Name(name) => Ok(self.place_of(name)?.whole()),
            Arg::Int(n @ -16..=64) => Ok(Value::Integer(*n as i32)),
            Arg::Int(n) => {
                let pair = self.take_scratch(2)?;
                let Value::Registers { first, .. } = pair else { return Ok(pair) };
                self.set(vgpr(first), *n as u32);
                self.set(vgpr(first + 1), (n >> 32) as u32);
                Ok(pair)
            }
            other => Err(format!("a routine reads {other:?}")),
        }
    }

    fn compare(
        &mut self,
        parts: &[&str],
        wide: bool,
        to: &Arg<'_>,
        [a, b]: [&Arg<'_>; 2],
        or: Option<&Arg<'_>>,
    ) -> Result<(), String> {
        let (mask, other, _) = (self.registers.masks[0], self.registers.masks[1], ());
        let name = format!("v_cmp_{}_u{}", parts[1], if wide { 64 } else { 32 });
        let (a, b) = match wide {
            true => (self.pair(a)?, self.pair(b)?),
            false => (self.half(a, false)?, self.half(b, false)?),
        };
        self.asm.emit(Encoding::Vop3, &name, &[mask, a, b]);
        match or {
            None => {}
            Some(Arg::Name(name)) => {
                let more = self.predicate(name)?;
                self.mask2("s_and", other, EXEC, more);
                self.mask2("s_or", mask, mask, other);
            }
            Some(Arg::Not(name)) => {
                let more = self.predicate(name)?;
                self.mask2("s_andn2", other, EXEC, more);
                self.mask2("s_or", mask, mask, other);
            }
            Some(other) => return Err(format!("a routine reads the predicate {other:?}")),
        }
        self.define(to, mask)
    }

    fn select(&mut self, wide: bool, to: &Arg<'_>, a: &Arg<'_>, b: &Arg<'_>, condition: &str) -> Result<(), String> {
        let mask = self.predicate(condition)?;
        self.halves(wide, to, a, b, |compiler, to, a, b| {
            // Two constants outside the inline range would share a register.
            compiler.asm.emit(Encoding::Vop3, "v_cndmask_b32", &[to, b, a, mask]);
        })
    }

    // Memory.

    /// Fields of an access that reaches the memory which all of the device sees.
    fn coherent(&self, returns: bool) -> Vec<(Field, u32)> {
        use prlx_isa::amdgpu::Target::{Gfx90a, Gfx942, Gfx950, Gfx1030, Gfx1100, Gfx1201};
        match self.asm.target {
            Gfx90a => vec![(Field::Glc, u32::from(returns))],
            Gfx942 | Gfx950 => vec![(Field::Sc0, u32::from(returns)), (Field::Sc1, 1)],
            Gfx1030 => vec![(Field::Glc, u32::from(returns)), (Field::Dlc, u32::from(returns))],
            Gfx1100 => vec![(Field::Glc, u32::from(returns))],
            // Scope of the device; bit 0 of an atomic operation's temporal hint asks for the old value.
            Gfx1201 => vec![(Field::Scope, 2), (Field::Th, u32::from(returns))],
        }
    }

    /// No scalar base, and an offset.
    fn place_fields(&self, offset: i64) -> Result<Vec<(Field, u32)>, String> {
        let none = match self.asm.target.family() {
            Family::Gfx9 => 127,
            Family::Gfx10 => 125,
            Family::Gfx11 | Family::Gfx12 => 124,
        };
        Ok(vec![(Field::Saddr, none), (Field::Offset, small_offset(offset)?)])
    }

    fn load(&mut self, parts: &[&str], to: &Arg<'_>, base: &str, offset: i64) -> Result<(), String> {
        let ty = parts.last().copied().unwrap_or_default();
        let space = parts.get(1).copied().unwrap_or_default();
        let targets = match to {
            Arg::Vector(names) => names.clone(),
            Arg::Name(name) => vec![*name],
            _ => return Err(format!("a routine loads {to:?}")),
        };
        let size = if ty.ends_with("64") { 8 } else { 4 };
        for (i, name) in targets.iter().enumerate() {
            let offset = offset + size * i as i64;
            let to = self.place_of(name)?.whole();
            let opcode = if size == 8 { "global_load_dwordx2" } else { "global_load_dword" };
            if space == "param" {
                self.load_parameter(to, offset, opcode)?;
                continue;
            }
            let mut fields = self.place_fields(offset)?;
            if parts.contains(&"relaxed") {
                // Past the caches of a part of the device. A load's hint has other values than an atomic's.
                let all = self.coherent(true).into_iter().filter(|(field, _)| *field != Field::Th);
                fields.extend(all);
            }
            let address = self.place_of(base)?.whole();
            self.asm.emit_with(Encoding::Global, opcode, &[to, address], &fields);
        }
        self.wait();
        Ok(())
    }

    /// A load from the hidden parameter.
    fn load_parameter(&mut self, to: Value, offset: i64, opcode: &str) -> Result<(), String> {
        let zero = self.take_scratch(1)?;
        self.set(zero, 0);
        let fields = [(Field::Saddr, self.registers.parameters.into()), (Field::Offset, small_offset(offset)?)];
        // With a scalar base, the vector address is an offset of 32 bits.
        self.asm.emit_with(Encoding::Global, opcode, &[to, zero], &fields);
        self.wait();
        Ok(())
    }

    fn store(&mut self, parts: &[&str], base: &str, offset: i64, from: &Arg<'_>) -> Result<(), String> {
        let address = self.place_of(base)?.whole();
        let mut fields = self.place_fields(offset)?;
        if parts.contains(&"relaxed") {
            fields.extend(self.coherent(false));
        }
        let (opcode, data) = match parts.last() {
            Some(&"u64") => ("global_store_dwordx2", self.pair(from)?),
            Some(&"u8") => ("global_store_byte", self.half(from, false)?),
            _ => ("global_store_dword", self.half(from, false)?),
        };
        let data = match data {
            Value::Integer(n) => {
                let pair = opcode.ends_with("x2");
                let to = self.take_scratch(1 + u8::from(pair))?;
                let Value::Registers { first, .. } = to else { return Ok(()) };
                self.set(vgpr(first), n.cast_unsigned());
                if pair {
                    self.set(vgpr(first + 1), if n < 0 { u32::MAX } else { 0 });
                }
                to
            }
            data => data,
        };
        self.asm.emit_with(Encoding::Global, opcode, &[address, data], &fields);
        Ok(())
    }

    /// `atom.global.add.u64 old, [address], value`, `red.global.…` without the old value, and
    /// `atom.global.cas.b64 old, [address], 0, value`. `None`: another one.
    fn atomic(&mut self, parts: &[&str], args: &[Arg<'_>]) -> Option<Result<(), String>> {
        let returns = parts[0] == "atom";
        let (old, args) = if returns { (args.first(), args.get(1..)?) } else { (None, args) };
        let (Arg::Address(base, offset), values) = args.split_first()? else { return None };
        Some(self.atomic_of(parts, old, (base, *offset), values))
    }

    fn atomic_of(
        &mut self,
        parts: &[&str],
        old: Option<&Arg<'_>>,
        (base, offset): (&str, i64),
        values: &[Arg<'_>],
    ) -> Result<(), String> {
        let address = self.place_of(base)?.whole();
        let mut fields = self.place_fields(offset)?;
        fields.extend(self.coherent(old.is_some()));
        let (opcode, data) = match (parts[2], parts[3], values) {
            ("add", "u64", [value]) => {
                let value = self.pair(value)?;
                let value = match value {
                    Value::Integer(n) => {
                        let pair = self.take_scratch(2)?;
                        let Value::Registers { first, .. } = pair else { return Ok(()) };
                        self.set(vgpr(first), n.cast_unsigned());
                        self.set(vgpr(first + 1), if n < 0 { u32::MAX } else { 0 });
                        pair
                    }
                    value => value,
                };
                ("global_atomic_add_x2", value)
            }
            ("xor", "b32", [value]) => ("global_atomic_xor", self.half(value, false)?),
            ("cas", "b64", [Arg::Int(0), Arg::Name(value)]) => {
                let value = self.place_of(value)?;
                let data = self.take_scratch(4)?;
                let Value::Registers { first, .. } = data else { return Ok(()) };
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(first), value.half(false)]);
                self.asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(first + 1), value.half(true)]);
                self.set(vgpr(first + 2), 0);
                self.set(vgpr(first + 3), 0);
                ("global_atomic_cmpswap_x2", data)
            }
            _ => return Err(format!("a routine has {} of {values:?}", parts.join("."))),
        };
        match old {
            Some(old) => {
                let old = self.place(old)?.whole();
                self.asm.emit_with(Encoding::Global, opcode, &[old, address, data], &fields);
                self.wait();
            }
            None => self.asm.emit_with(Encoding::Global, opcode, &[address, data], &fields),
        }
        Ok(())
    }

    /// Waits until loads have arrived.
    fn wait(&mut self) {
        let all = match self.asm.target.family() {
            Family::Gfx12 => return self.asm.emit(Encoding::Sopp, "s_wait_loadcnt", &[Value::Immediate(0)]),
            // vmcnt(0), and nothing of the other counters: LLVM, `AMDGPUBaseInfo`, `encodeWaitcnt`.
            Family::Gfx11 => 0x03f7,
            Family::Gfx10 => 0x3f70,
            Family::Gfx9 => 0x0f70,
        };
        self.asm.emit(Encoding::Sopp, "s_waitcnt", &[Value::Immediate(all)]);
    }
}

/// Whether an instruction can hold a constant without a literal.
fn inline(bits: u32) -> bool {
    (-16..=64).contains(&bits.cast_signed())
}

/// An offset that all targets have room for.
fn small_offset(offset: i64) -> Result<u32, String> {
    u32::try_from(offset).ok().filter(|offset| *offset < 2048).ok_or(format!("a routine's offset {offset} is too large"))
}

fn unsupported(inst: &Instruction<'_>) -> String {
    format!("AMD code has no `{}` for routines", inst.op)
}
