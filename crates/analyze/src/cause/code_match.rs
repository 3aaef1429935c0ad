//! Matches the instructions of two builds of a kernel.
//!
//! Instructions that are written alike, on lines that read alike, are matched first, as the longest common
//! sequence. Between two such pairs, instructions with the same opcode are matched next, then those that do
//! the same kind of work. A pair of the last two kinds is a *changed* one.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use prlx_trace::dataflow::{Action, DataFlow, Instruction, Operand, Operation};

use super::source_changes::{SourceChanges, SourceFiles};
use crate::edit_script;

/// Which instruction of one side is which of the other.
#[derive(Debug, Default)]
pub struct CodeMatch {
    /// By side and instruction: its partner on the other side.
    partner: [Vec<Option<u32>>; 2],
    /// By side and register: the instructions that write it.
    writers: [Vec<Vec<u32>>; 2],
    /// By side and register: its name.
    names: [Vec<String>; 2],
    /// Whether nearly all instructions have a partner, so that paths can be compared step by step.
    pub similar: bool,
    /// Whether both sides are the same code.
    pub same: bool,
    /// The lines of the source that differ.
    pub changes: SourceChanges,
}

/// How much of an instruction a key has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Opcode, constants and the text of the source line.
    All,
    /// Opcode and the text of the source line, of equally many instructions.
    Here,
    /// Opcode and the text of the source line.
    Line,
    /// The opcode alone.
    Opcode,
    /// What it does, and its type.
    Work,
}

impl CodeMatch {
    /// Matches the code of two launches.
    pub fn new(sides: [&DataFlow; 2], files: [&SourceFiles; 2]) -> CodeMatch {
        let [a, b] = sides.map(|s| &s.instructions[..]);
        let mut out = CodeMatch {
            partner: [vec![None; a.len()], vec![None; b.len()]],
            writers: sides.map(writers),
            names: sides.map(|side| side.registers.iter().map(|r| r.name.clone()).collect()),
            ..CodeMatch::default()
        };
        let keys = [a, b].map(|code| code.iter().map(|i| key(i, Detail::All)).collect::<Vec<u64>>());
        // The text also says which registers are used.
        let equal = |(x, y): (&Instruction, &Instruction)| x.place.instruction == y.place.instruction;
        out.same = keys[0] == keys[1] && a.iter().zip(b).all(equal);
        out.changes = SourceChanges::new(sides, files);
        out.align(&keys, [0..a.len(), 0..b.len()]);
        // Instructions on one line that differ in a constant are partners where they are. Copies of a loop's
        // body have the same constants at other copies.
        for detail in [Detail::Here, Detail::All, Detail::Line, Detail::Opcode, Detail::Work] {
            out.fill([a, b], detail);
        }
        let matched = out.partner[0].iter().flatten().count();
        out.similar = matched * 10 >= a.len().max(b.len()) * 9;
        out
    }
    fn pair(&mut self, a: usize, b: usize) {
        self.partner[0][a] = Some(b as u32);
        self.partner[1][b] = Some(a as u32);
    }
    fn align(&mut self, keys: &[Vec<u64>; 2], range: [std::ops::Range<usize>; 2]) {
        let [ra, rb] = range;
        let Some(edits) = edit_script::edits(&keys[0][ra.clone()], &keys[1][rb.clone()]) else { return };
        let (mut i, mut j) = (0, 0);
        for edit in edits {
            while i < edit.a.start && j < edit.b.start {
                self.pair(ra.start + i, rb.start + j);
                (i, j) = (i + 1, j + 1);
            }
            (i, j) = (edit.a.end, edit.b.end);
        }
        while ra.start + i < ra.end && rb.start + j < rb.end {
            self.pair(ra.start + i, rb.start + j);
            (i, j) = (i + 1, j + 1);
        }
    }
    /// Matches what has no partner yet inside each gap between two pairs, in order, by a coarser key.
    fn fill(&mut self, code: [&[Instruction]; 2], detail: Detail) {
        let mut gaps: HashMap<(i64, u64), [Vec<usize>; 2]> = HashMap::new();
        for (side, code) in code.into_iter().enumerate() {
            let mut last = -1;
            for (i, instruction) in code.iter().enumerate() {
                match self.partner[side][i] {
                    Some(partner) => last = if side == 0 { i as i64 } else { i64::from(partner) },
                    None => {
                        // Equal instructions on equal lines may have moved far; others stay in their gap.
                        let gap = if detail == Detail::All { 0 } else { last };
                        gaps.entry((gap, key(instruction, detail))).or_default()[side].push(i);
                    }
                }
            }
        }
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for [a, b] in gaps.into_values() {
            // Of unequal numbers it is open which belong to which, but for the coarsest reading.
            if a.len() == b.len() || detail == Detail::Line {
                pairs.extend(a.into_iter().zip(b));
            }
        }
        pairs.sort_unstable();
        for (a, b) in pairs {
            self.pair(a, b);
        }
    }
    /// The partner of an instruction of a side.
    pub fn of(&self, side: usize, instruction: u32) -> Option<u32> {
        self.partner[side].get(instruction as usize).copied().flatten()
    }
    /// Whether two operands are not the same variable: their registers are written by instructions of which
    /// none is the other's partner. Says nothing (`false`) of code that is not similar.
    ///
    /// A hardware register has several live ranges. Which of them a read gets depends on the path, so those
    /// of one hardware register count as one variable.
    pub fn another(&self, a: &Operand, b: &Operand) -> bool {
        let register = |o: &Operand| match o {
            Operand::Not(r) => Some(*r),
            o => o.register(),
        };
        let (Some(a), Some(b)) = (register(a), register(b)) else { return false };
        // A writer without a partner could be anything.
        let open = |side: usize, r: u32| {
            let list = self.writers(side, r);
            list.is_empty() || list.iter().any(|&w| self.of(side, w).is_none())
        };
        self.similar && !open(0, a) && !open(1, b) && !self.one_variable(a, b)
    }
    /// Whether registers of both sides are the same variable.
    fn one_variable(&self, a: u32, b: u32) -> bool {
        self.paired(a, b) || self.same_register(a, b)
    }
    /// Whether registers of both sides are the same variable, in a hardware register with several live
    /// ranges.
    pub fn live_ranges_of_one(&self, a: u32, b: u32) -> bool {
        let several = |side: usize, r: u32| {
            let names = &self.names[side];
            names.get(r as usize).is_some_and(|name| names.iter().filter(|other| *other == name).count() > 1)
        };
        several(0, a) && several(1, b) && self.one_variable(a, b)
    }
    fn writers(&self, side: usize, register: u32) -> &[u32] {
        self.writers[side].get(register as usize).map_or(&[], |w| w)
    }
    /// Whether a writer of one register is the partner of a writer of the other one.
    fn paired(&self, a: u32, b: u32) -> bool {
        let of_b = self.writers(1, b);
        self.writers(0, a).iter().any(|&w| self.of(0, w).is_some_and(|w| of_b.contains(&w)))
    }
    /// Whether registers of both sides are live ranges of one hardware register: the partners of their
    /// writers write that, too.
    fn same_register(&self, a: u32, b: u32) -> bool {
        let name = |side: usize, r: u32| self.names[side].get(r as usize);
        let written_there = |side: usize, r: u32| {
            let partners: Vec<u32> = self.writers(side, r).iter().filter_map(|&w| self.of(side, w)).collect();
            let mut others = self.writers[1 - side].iter().zip(&self.names[1 - side]);
            others.any(|(w, other)| Some(other) == name(side, r) && w.iter().any(|w| partners.contains(w)))
        };
        name(0, a) == name(1, b) && written_there(0, a) && written_there(1, b)
    }
    /// Whether two instructions are partners.
    pub fn matches(&self, a: u32, b: u32) -> bool {
        self.of(0, a) == Some(b)
    }
}

/// By register: the instructions that write it.
fn writers(flow: &DataFlow) -> Vec<Vec<u32>> {
    let mut out = vec![Vec::new(); flow.registers.len()];
    for (i, instruction) in flow.instructions.iter().enumerate() {
        for &r in &instruction.results {
            if let Some(list) = out.get_mut(r as usize) {
                list.push(i as u32);
            }
        }
    }
    out
}

/// An opcode without modifiers that change no result: `.rn` is how `add`, `sub` and `mul` of floating-point
/// numbers round anyway (PTX ISA, add), and it keeps them from being fused; `.nc` and cache operators
/// choose a way.
fn plain(opcode: &str) -> String {
    let arithmetic = ["add.rn.", "sub.rn.", "mul.rn."].iter().any(|op| opcode.starts_with(op));
    let load = opcode.starts_with("ld.");
    let kept =
        |part: &&str| !(arithmetic && *part == "rn" || load && ["nc", "ca", "cg", "cs", "lu"].contains(part));
    opcode.split('.').filter(kept).collect::<Vec<_>>().join(".")
}

/// Whether two instructions do the same with their operands: the opcode and all constants agree.
pub fn alike(a: &Instruction, b: &Instruction) -> bool {
    let shape = |i: &Instruction| {
        let mut hash = DefaultHasher::new();
        shape(i, &mut hash);
        hash.finish()
    };
    plain(&a.opcode) == plain(&b.opcode) && shape(a) == shape(b)
}

fn shape(i: &Instruction, hash: &mut DefaultHasher) {
    let addresses = i.addresses.iter().map(|a| (&a.base, a.offset));
    for (operand, offset) in i.operands.iter().map(|o| (o, 0)).chain(addresses) {
        match operand {
            Operand::Register(_) => 0u8.hash(hash),
            Operand::OtherLane(_, lanes) => (5u8, lanes).hash(hash),
            Operand::Not(_) => 1u8.hash(hash),
            Operand::Constant(bits) => (2u8, bits).hash(hash),
            Operand::Special(name) => (3u8, name).hash(hash),
            Operand::Symbol(name, at) => (4u8, suffix(name), at).hash(hash),
        }
        offset.hash(hash);
    }
    i.guard.map(|g| g.1).hash(hash);
    i.results.len().hash(hash);
}

/// The name of a parameter without the kernel's: compilers write `kernel_param_3`.
fn suffix(name: &str) -> &str {
    name.rfind("_param_").map_or(name, |at| &name[at..])
}

fn key(i: &Instruction, detail: Detail) -> u64 {
    let mut hash = DefaultHasher::new();
    if detail == Detail::Work {
        (i.action, i.ty.bits(), i.space.name(), i.results.len()).hash(&mut hash);
        return hash.finish();
    }
    plain(&i.opcode).hash(&mut hash);
    if detail == Detail::Opcode {
        return hash.finish();
    }
    match i.place.source.first() {
        Some(line) => match &line.text {
            Some(text) => text.split_whitespace().collect::<Vec<_>>().hash(&mut hash),
            None => line.line.hash(&mut hash),
        },
        None => 0u32.hash(&mut hash),
    }
    if detail == Detail::All {
        shape(i, &mut hash);
    }
    // What only names a path has many copies: it is matched by its place alone.
    matches!(i.action, Action::Branch | Action::Call).hash(&mut hash);
    hash.finish()
}

/// Whether the first two operands may be exchanged.
pub fn commutes(i: &Instruction) -> bool {
    use Operation::{Add, Multiply, MultiplyAdd, Symmetric};
    matches!(i.operation, Add | Multiply | MultiplyAdd | Symmetric)
}

/// What differs if only one side lets the assembler fuse an addition with a multiplication.
pub fn contracted([a, b]: [&Instruction; 2]) -> Option<String> {
    let rounds = |i: &Instruction| i.opcode.split('.').any(|word| word == "rn");
    let adds = |i: &Instruction| matches!(i.opcode.split('.').next(), Some("add" | "sub"));
    if !adds(a) || !adds(b) || rounds(a) == rounds(b) {
        return None;
    }
    let (fused, twice) = if rounds(b) { ("A", "B") } else { ("B", "A") };
    Some(format!(
        "{fused} fuses the addition with a multiplication and rounds once; {twice} rounds the product and the sum"
    ))
}
