//! Compiles a recorder routine to machine code.
//!
//! A register of the routine is one of each lane: a vector register, or for a predicate a mask in scalar
//! registers. Lanes that branch are taken out of EXEC. They keep the number of the label that they go to, and
//! the code at the label puts them back. As branches go forward, one pass over the lines in their order runs
//! every lane.
//!
//! # Invariants
//! - Behind a routine, EXEC and SCC are what they were, and no register has changed but those of
//!   [`Registers`] and registers that hold nothing. VCC, M0 and MODE are never written.
//! - A routine runs for the lanes that are where the wave is ([`Registers::present`]), whatever EXEC is.
//! - Its loads have arrived when it ends.
//!
//! # Limitations
//! - The code has not run on hardware. [`waits`](super::waits) inserts the waits that hardware wants between
//!   instructions.

use std::collections::BTreeSet;

use prlx_isa::amdgpu::Register;
use prlx_isa::amdgpu::inst::{Encoding, Value};
use rustc_hash::{FxHashMap, FxHashSet};

use super::allocation::{Allocation, Names, live};
use super::assembler::{Assembler, EXEC, Label, sgpr, vgpr};
use super::misfit::Misfit;
use super::numbers::Used;
use super::registers::Registers;
use super::spill::Swap;
use crate::ptx::GRID_WARP;
use crate::routines::{Arg, Instruction, Line, instructions, mentions};

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
) -> Result<Used, Misfit> {
    let fused = fuse(lines);
    let mut allocation = Allocation::of(lines, registers, names, asm.lanes)?;
    let mut swap = registers.swap.clone();
    if let Some(swap) = &mut swap {
        allocation.peak.slots = swap.saves(&allocation.taker)?;
    }
    let mut compiler = Compiler {
        allocation,
        swap,
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
        let same = [Arg::Name(to), Arg::Name(from), Arg::Int(1)];
        (shift.op, or.op) == ("shl.b32", "or.b32")
            && to == from
            && shift.guard.is_none()
            && or.guard.is_some()
            && or.args == same
    });
    fused.map(|(at, _)| at).collect()
}

/// A routine that is compiled.
pub(super) struct Compiler<'c> {
    pub(super) asm: &'c mut Assembler,
    pub(super) registers: &'c Registers,
    pub(super) names: &'c Names<'c>,
    pub(super) allocation: Allocation<'c>,
    swap: Option<Swap>,
    pub(super) live: Vec<FxHashSet<&'c str>>,
    /// Lines of the labels that lanes may be on their way to, or have been.
    pub(super) pending: BTreeSet<usize>,
    /// The line that is compiled.
    pub(super) at: usize,
    /// How many scratch registers the instruction has used.
    pub(super) scratch: u8,
}

impl<'c> Compiler<'c> {
    fn run(
        &mut self,
        lines: &'c [Line<'c>],
        fused: &FxHashSet<usize>,
        scc_is_live: bool,
    ) -> Result<(), String> {
        let simple = fused.len() * 2 == lines.len() && !instructions(lines).any(|inst| self.compares(inst));
        let reads_scc = instructions(lines).flat_map(mentions).any(|(name, _)| name == "scc");
        let keeps_scc = reads_scc || scc_is_live && !simple;
        self.registers.enter(self.asm, keeps_scc);
        if self.reads_registers(lines) {
            self.wait_for_all();
        }
        self.asm.mask1("s_mov", self.registers.exec, EXEC);
        self.asm.mask1("s_mov", EXEC, self.registers.present);
        if let Some(swap) = &self.swap {
            swap.begin(self.asm);
        }
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
                    let (number, _) =
                        *labels.get(to).ok_or_else(|| format!("a routine has no label {to}"))?;
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
        if let Some(swap) = &self.swap {
            self.asm.mask1("s_mov", EXEC, self.registers.present);
            swap.end(self.asm);
        }
        self.asm.mask1("s_mov", EXEC, self.registers.exec);
        self.registers.leave(self.asm, keeps_scc);
        Ok(())
    }

    /// Whether an instruction has a guard that takes a comparison, which changes SCC.
    fn compares(&self, inst: &Instruction<'_>) -> bool {
        let Some((name, _)) = inst.guard else { return false };
        let register = self.names.function.get(&(name.to_owned(), true));
        matches!(register, Some(Register::AnyVcc | Register::AnyExec))
    }

    /// Whether the routine reads registers of the function that a load may not have written yet.
    fn reads_registers(&self, lines: &[Line<'_>]) -> bool {
        let insts = instructions(lines);
        let mut read = insts.flat_map(mentions).map(|(name, _)| (name.to_owned(), false));
        read.any(|name| matches!(self.names.function.get(&name), Some(Register::Word(_))))
    }

    /// Lanes that go to the label of that number go on.
    fn rejoin(&mut self, number: usize) {
        let [here, back, _] = self.registers.masks;
        self.asm.mask1("s_mov", here, EXEC);
        self.asm.mask1("s_mov", EXEC, self.registers.present);
        let number = self.constant(number as u32);
        self.asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[back, vgpr(self.registers.label), number]);
        self.asm.mask2("s_or", EXEC, here, back);
    }

    /// Sends lanes to the label of that number. If none goes on, the wave skips to `next`.
    fn branch(&mut self, guard: Option<(&str, bool)>, number: usize, next: Label) -> Result<(), String> {
        let to = vgpr(self.registers.label);
        let Some((name, negate)) = guard else {
            self.set(to, number as u32);
            self.asm.mask1("s_mov", EXEC, Value::Integer(0));
            self.asm.jump("s_branch", next);
            return Ok(());
        };
        let [leave, stay, _] = self.registers.masks;
        let condition = self.predicate(name)?;
        let (yes, no) = if negate { ("s_andn2", "s_and") } else { ("s_and", "s_andn2") };
        self.asm.mask2(yes, leave, EXEC, condition);
        self.asm.mask2(no, stay, EXEC, condition);
        self.asm.mask1("s_mov", EXEC, leave);
        self.set(to, number as u32);
        self.asm.mask1("s_mov", EXEC, stay);
        self.asm.jump("s_cbranch_execz", next);
        Ok(())
    }

    /// `x + x + p`.
    fn append_bit(&mut self, shift: &Instruction<'_>, (name, negate): (&str, bool)) -> Result<(), String> {
        let word = self.place(&shift.args[0])?.whole();
        let [carry, bit, _] = self.registers.masks;
        let mut mask = self.predicate(name)?;
        if negate {
            self.asm.mask2("s_andn2", bit, EXEC, mask);
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
        self.asm.mask1("s_mov", here, EXEC);
        self.asm.mask2(if negate { "s_andn2" } else { "s_and" }, EXEC, EXEC, condition);
        let result = self.instruction(inst);
        self.asm.mask1("s_mov", EXEC, here);
        result
    }

    fn instruction(&mut self, inst: &Instruction<'_>) -> Result<(), String> {
        let parts: Vec<&str> = inst.op.split('.').collect();
        let wide = matches!(parts.last(), Some(&("u64" | "b64" | "s64")));
        if let Some(done) = self.program(&parts, wide, &inst.args) {
            return done;
        }
        match (parts[0], &inst.args[..]) {
            ("mov", [Arg::Vector(to), from]) => self.split(to, from),
            ("mov", [to, Arg::Vector(from)]) => self.joined(to, from),
            ("mov", [Arg::Name(GRID_WARP), from]) => {
                let from = self.half(from, false)?;
                self.asm.emit(Encoding::Vop1, "v_readfirstlane_b32", &[sgpr(self.registers.warp), from]);
                Ok(())
            }
            ("mov", [to, Arg::Name("%clock" | "%clock64")]) => self.clock(to),
            ("mov", [to, Arg::Name("%globaltimer")]) => self.timer(to),
            ("mov", [to, Arg::Name("%smid")]) => self.multiprocessor(to),
            ("mov" | "cvt", [to, from]) => self.moved(&parts, to, from),
            ("and" | "or" | "xor" | "not", [to, rest @ ..]) if parts[1] == "pred" => {
                self.logic(parts[0], to, rest)
            }
            ("and" | "or" | "xor", [to, a, b]) => {
                let name = format!("v_{}_b32", parts[0]);
                self.halves(wide, to, a, b, |compiler, to, a, b| compiler.two(&name, to, a, b))
            }
            ("shl" | "shr", [to, a, by]) => self.shift(parts[0], wide, to, a, by),
            ("shf", [to, low, high, Arg::Int(by)]) if inst.op == "shf.l.wrap.b32" => {
                let right = Value::Integer(((32 - by) & 31) as i32);
                let (to, low, high) =
                    (self.place(to)?.whole(), self.half(low, false)?, self.half(high, false)?);
                self.asm.emit(Encoding::Vop3, "v_alignbit_b32", &[to, high, low, right]);
                Ok(())
            }
            ("add" | "sub", [to, a, b]) => self.sum(parts[0] == "sub", wide, to, a, b),
            ("mul", [to, a, b]) if parts[1] == "lo" => self.two_of("v_mul_lo_u32", to, a, b),
            ("mul", [to, a, b]) if parts[1] == "wide" => self.multiply(to, a, b, None),
            ("mad", [to, a, b, c]) if parts[1] == "wide" => self.multiply(to, a, b, Some(c)),
            ("mad", [to, a, b, c]) if wide => self.multiply_wide(to, a, b, c),
            ("mad", [to, a, b, c]) => {
                let product = vgpr(self.take_scratch(1)?);
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
            ("st", [Arg::Address(base, offset), Arg::Vector(words)]) => {
                self.store_row(&parts, base, *offset, words)
            }
            ("st", [Arg::Address(base, offset), from]) => self.store(&parts, base, *offset, from),
            ("atom" | "red", rest) => self.atomic(&parts, rest).ok_or_else(|| unsupported(inst))?,
            (_, args) => self.exchange(&parts, args).ok_or_else(|| unsupported(inst))?,
        }
    }
}

fn unsupported(inst: &Instruction<'_>) -> String {
    format!("AMD code has no `{}` for routines", inst.op)
}

#[cfg(test)]
mod tests {
    use prlx_isa::amdgpu::Target;
    use prlx_isa::amdgpu::inst::{Inst, Reg, Value};
    use rustc_hash::FxHashMap;

    use super::super::allocation::Names;
    use super::super::assembler::{Assembler, sgpr};
    use super::super::numbers::Used;
    use super::super::registers::{Registers, Vectors};
    use super::compile;
    use crate::routines;

    /// A routine as instructions, and the register that it keeps SCC in.
    fn compiled(target: Target, lanes: u8, text: &str, scc_is_live: bool) -> (Vec<Inst>, u8) {
        let mut asm = Assembler::new(target, lanes);
        let none = std::iter::empty();
        let used = Used { vector: 8, scalar: 8, ..Used::default() };
        let registers = Registers::above(used, target, lanes, none, None, false, &Vectors::Free).unwrap();
        let (function, specials) = (FxHashMap::default(), FxHashMap::default());
        let names = Names { function: &function, specials: &specials, declared: &[] };
        let lines = routines::lines(text).unwrap();
        compile(&mut asm, &registers, &names, &lines, scc_is_live).unwrap();
        (asm.placed.iter().map(|placed| placed.inst).collect(), registers.scc)
    }

    /// What changes SCC and must not lose it.
    const CHANGES: &str = "mov.u32 %prlx_a, 5;\nsetp.eq.u32 %prlx_q, %prlx_a, 5;\n@%prlx_q bra $end;\n\
                           redux.sync.xor.b32 %prlx_b, %prlx_a, %prlx_mask;\n$end:";

    #[test]
    fn scc_is_kept_where_it_is_live() {
        for (target, lanes) in [
            (Target::Gfx90a, 64),
            (Target::Gfx942, 64),
            (Target::Gfx950, 64),
            (Target::Gfx1030, 32),
            (Target::Gfx1100, 64),
            (Target::Gfx1201, 32),
        ] {
            let (code, kept) = compiled(target, lanes, CHANGES, true);
            let changes = |inst: &Inst| inst.registers().unwrap().writes.contains(&Reg::Scc);
            let first = code.iter().position(changes).unwrap();
            let save = code.iter().position(|inst| inst.name() == "s_cselect_b32").unwrap();
            assert!(save < first, "{target}: SCC is lost before it is kept");
            let writes_kept = |inst: &Inst| inst.registers().unwrap().writes.contains(&Reg::S(kept));
            assert_eq!(code.iter().filter(|inst| writes_kept(inst)).count(), 1, "{target}");
            let last = code.iter().rposition(changes).unwrap();
            let operands: Vec<Value> = code[last].operands().iter().map(|o| o.value).collect();
            assert_eq!(code[last].name(), "s_cmp_lg_u32", "{target}");
            assert_eq!(operands, [sgpr(kept), Value::Integer(0)], "{target}");
            // Nothing branches past the instruction that brings SCC back.
            assert!(code[last..].iter().all(|inst| inst.branch_offset().is_none()), "{target}");
            let (code, kept) = compiled(target, lanes, CHANGES, false);
            let reads = |inst: &Inst| inst.registers().unwrap().reads.contains(&Reg::S(kept));
            assert!(!code.iter().any(reads), "{target}: SCC is kept for nothing");
        }
    }
}
