//! One function of the view: registers, instructions and basic blocks.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::calls::Destination;
use super::code::{Code, ends, length};
use super::forms::Forms;
use super::pieces::{Piece, are_vectors, is_guarded, is_vote, mask_words, pieces};
use super::semantics;
use crate::amdgpu::inst::{Inst, Reg};
use crate::amdgpu::{Native, Register};
use crate::view::{
    self, Block, BlockId, Class, Function, FunctionKind, Guard, Operand, RegInfo, Role, Span, SymbolId,
};

/// What the instructions of a function refer to beyond it.
pub(super) struct Outside<'m> {
    /// Function symbols by address of the entry.
    pub(super) functions: &'m FxHashMap<u64, SymbolId>,
    /// Symbols of other objects, by place among the relocations.
    pub(super) external: &'m FxHashMap<usize, SymbolId>,
    /// Registers that a call can write, by address of the function; of an unknown one under `None`.
    pub(super) written: &'m dyn Fn(Option<u64>) -> Vec<Reg>,
}

/// Positions that branches of the function go to, in ascending order.
pub(super) fn labels(code: &Code<'_>) -> Vec<usize> {
    let targets = (0..code.insts.len()).filter_map(|at| {
        let (_, inst) = code.insts.get(at)?;
        if inst.name() == "s_call_b64" { None } else { code.at(code.target(at)?) }
    });
    let mut all: Vec<usize> = targets.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Positions where basic blocks begin.
pub(super) fn begins(code: &Code<'_>) -> FxHashSet<usize> {
    let mut all: FxHashSet<usize> = labels(code).into_iter().collect();
    all.insert(0);
    let after = code.insts.iter().zip(1..).filter(|((_, inst), _)| semantics::ends_block(inst));
    all.extend(after.map(|(_, next)| next).filter(|next| *next < code.insts.len()));
    all
}

/// Reads a function. Its text is appended to `text`.
pub(super) fn function(
    code: &Code<'_>,
    number: usize,
    forms: &Forms,
    destinations: &FxHashMap<usize, Destination>,
    outside: &Outside<'_>,
    text: &mut String,
) -> Function {
    let kind = if code.kernel.is_some() { FunctionKind::Kernel } else { FunctionKind::Device };
    let mut reader = Reader {
        forms,
        outside,
        destinations,
        out: Function { name: code.name.to_owned(), kind, ..Function::default() },
        registers: FxHashMap::default(),
        lanes: u32::from(code.insts.first().map_or(64, |(_, inst)| inst.lanes())),
    };
    let labels = labels(code);
    let begins = begins(code);
    let mut blocks: Vec<usize> = begins.into_iter().collect();
    blocks.sort_unstable();
    let block_at = |at: usize| blocks.binary_search(&at).ok().map(|block| BlockId(small(block)));
    reader.reg(Register::Mask(Reg::ExecLo));
    reader.reg(Register::Word(Reg::Scc));
    let start = small(text.len());
    let _ = writeln!(text, "{}:", code.name);
    let body = small(text.len());
    let mut current = BlockId(0);
    for (at, (address, inst)) in code.insts.iter().enumerate() {
        if let Some(block) = block_at(at) {
            current = block;
            let first = small(reader.out.insts.len());
            reader.out.blocks.push(Block { insts: first..first, ..Block::default() });
        }
        if labels.binary_search(&at).is_ok() {
            let _ = writeln!(text, ".L{number}_{}:", current.0);
        }
        let target = code.target(at);
        let label = target.and_then(|target| code.at(target)).and_then(block_at);
        let name = |_: i16| {
            label
                .map(|block| format!(".L{number}_{}", block.0))
                .or(target.map(|target| format!("{target:#x}")))
        };
        text.push('\t');
        let from = small(text.len());
        text.push_str(&inst.print_with(&name));
        let span = Span { start: from, end: small(text.len()) };
        text.push('\n');
        reader.instruction(at, *address, inst, span, label.filter(|_| inst.name() != "s_call_b64"));
        for inst in reader.out.insts.iter_mut().rev().take_while(|inst| inst.span == span) {
            inst.block = current;
        }
        if let Some(block) = reader.out.blocks.last_mut() {
            block.insts.end = small(reader.out.insts.len());
        }
    }
    reader.connect();
    let mut out = reader.out;
    out.body = Span { start: body, end: small(text.len()) };
    out.span = Span { start, ..out.body };
    out.params_span = Span { start: body, end: body };
    let scope = out.body;
    out.regs.iter_mut().for_each(|reg| reg.scope = scope);
    out.unknown_control = unknown_control(&out, code);
    out
}

/// A length as an index of the view. Objects have fewer than 2³² bytes of code.
pub(super) fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

struct Reader<'r> {
    forms: &'r Forms,
    outside: &'r Outside<'r>,
    destinations: &'r FxHashMap<usize, Destination>,
    out: Function,
    registers: FxHashMap<Register, view::Reg>,
    lanes: u32,
}

impl Reader<'_> {
    /// The register of the view, which the function has from now on.
    fn reg(&mut self, register: Register) -> view::Reg {
        let next = view::Reg(small(self.out.regs.len()));
        let lanes = self.lanes;
        *self.registers.entry(register).or_insert_with(|| {
            let (name, ty) = (register.name(lanes), register.ty());
            self.out.regs.push(RegInfo { name, ty, ..RegInfo::default() });
            next
        })
    }

    fn words(&mut self, regs: &[Reg]) -> Option<Operand> {
        let there: Vec<Reg> =
            regs.iter().copied().filter(|reg| self.forms.has_words(std::slice::from_ref(reg))).collect();
        let mut all: Vec<Operand> =
            there.into_iter().map(|reg| Operand::Reg(self.reg(Register::Word(reg)))).collect();
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Operand::Vector(all)),
        }
    }

    fn mask(&mut self, low: Reg) -> Operand {
        Operand::Reg(self.reg(Register::Mask(low)))
    }

    fn instruction(&mut self, at: usize, address: u64, inst: &Inst, span: Span, label: Option<BlockId>) {
        if is_vote(inst) {
            self.vote(span);
        }
        let mut operands: Vec<(Operand, Role)> = Vec::new();
        // Other forms of results follow the operands of the text.
        let mut further: Vec<(Operand, Role)> = Vec::new();
        for (piece, role) in pieces(inst) {
            let written = matches!(role, Role::Def | Role::UseDef);
            match piece {
                Piece::Constant(constant) => operands.push((constant, role)),
                Piece::Target => operands.extend(label.map(|block| (Operand::Label(block), Role::Target))),
                Piece::Words(regs) => {
                    operands.extend(self.words(&regs).map(|o| (o, role)));
                    if written && !are_vectors(&regs) {
                        for (low, whole) in self.forms.masks_in(&regs) {
                            let role = if whole { role } else { Role::UseDef };
                            further.push((self.mask(low), role));
                        }
                    }
                }
                Piece::Mask(low) if !written => operands.push((self.mask(low), role)),
                Piece::Mask(low) => {
                    self.write_mask(&mask_words(low, inst.lanes()), role, &mut operands, &mut further)
                }
                Piece::Either(regs) => self.write_mask(&regs, role, &mut operands, &mut further),
            }
        }
        operands.extend(further);
        let destination = self.destinations.get(&at).copied();
        let mut semantics = semantics::of(inst, destination.as_ref());
        semantics.native = view::Native::new(Arc::new(Native { inst: *inst, address }));
        match destination {
            Some(destination) if semantics.class == Class::Call => self.call(destination, &mut operands),
            _ => {}
        }
        let guard = self.guard(inst);
        let (operands, roles) = operands.into_iter().unzip();
        self.out.insts.push(view::Inst {
            span,
            class: semantics.class,
            guard,
            space: semantics.space,
            semantics: Arc::new(semantics),
            operands,
            roles,
            ..view::Inst::default()
        });
    }

    /// What a branch on VCC asks, which no bit of one lane says.
    fn vote(&mut self, span: Span) {
        let operands = vec![Operand::Reg(self.reg(Register::AnyVcc)), self.mask(Reg::VccLo)];
        let semantics =
            view::Semantics { opcode: "vccnz".to_owned(), class: Class::Warp, ..view::Semantics::default() };
        self.out.insts.push(view::Inst {
            span,
            class: Class::Warp,
            operands,
            roles: vec![Role::Def, Role::Use],
            semantics: Arc::new(semantics),
            ..view::Inst::default()
        });
    }

    /// A mask in the forms that it has: as a mask if there is one, else as words. The other form follows.
    fn write_mask(
        &mut self,
        regs: &[Reg],
        role: Role,
        operands: &mut Vec<(Operand, Role)>,
        further: &mut Vec<(Operand, Role)>,
    ) {
        let mask = self.forms.mask(regs).map(|low| self.mask(low));
        let words = if self.forms.has_words(regs) { self.words(regs) } else { None };
        match (mask, words) {
            (Some(mask), words) => {
                operands.push((mask, role));
                further.extend(words.map(|words| (words, role)));
            }
            (None, Some(words)) => operands.push((words, role)),
            (None, None) if role == Role::Def => operands.push((Operand::Sink, role)),
            (None, None) => {}
        }
    }

    fn guard(&mut self, inst: &Inst) -> Option<Guard> {
        let (register, negate) = match inst.name() {
            "s_cbranch_execz" => (Register::Mask(Reg::ExecLo), true),
            "s_cbranch_execnz" => (Register::Mask(Reg::ExecLo), false),
            "s_cbranch_vccz" => (Register::AnyVcc, true),
            "s_cbranch_vccnz" => (Register::AnyVcc, false),
            "s_cbranch_scc0" => (Register::Word(Reg::Scc), true),
            "s_cbranch_scc1" => (Register::Word(Reg::Scc), false),
            _ if is_guarded(inst) => (Register::Mask(Reg::ExecLo), false),
            _ => return None,
        };
        Some(Guard { reg: self.reg(register), negate })
    }

    /// The called function, and the registers that it can write.
    fn call(&mut self, destination: Destination, operands: &mut Vec<(Operand, Role)>) {
        let (symbol, entry) = match destination {
            Destination::Address(entry) => (self.outside.functions.get(&entry).copied(), Some(entry)),
            Destination::External(place) => (self.outside.external.get(&place).copied(), None),
            Destination::Caller | Destination::Unknown => (None, None),
        };
        match symbol {
            // What the registers of the address hold is in the symbol.
            Some(symbol) => {
                operands.retain(|(_, role)| *role != Role::Use);
                operands.push((Operand::Symbol(symbol, 0), Role::Target));
            }
            None => operands.iter_mut().filter(|o| o.1 == Role::Use).for_each(|o| o.1 = Role::Target),
        }
        let mut list = Vec::new();
        let written = (self.outside.written)(entry.filter(|_| symbol.is_some()));
        for reg in &written {
            list.extend(self.words(std::slice::from_ref(reg)));
        }
        for (low, _) in self.forms.masks_in(&written) {
            list.push(self.mask(low));
        }
        operands.push((Operand::List(list), Role::Def));
    }

    /// Connects the basic blocks.
    fn connect(&mut self) {
        let blocks = &mut self.out.blocks;
        let count = blocks.len();
        for i in 0..count {
            let next = (i + 1 < count).then(|| BlockId(small(i + 1)));
            let Some(block) = blocks.get_mut(i) else { continue };
            let last = block.insts.clone().last().and_then(|last| self.out.insts.get(last as usize));
            let Some(last) = last else { continue };
            block.succs.extend(last.operands.iter().filter_map(|operand| match operand {
                Operand::Label(block) => Some(*block),
                _ => None,
            }));
            let leaves = matches!(last.class, Class::Branch | Class::Return | Class::Exit);
            if !leaves || last.guard.is_some() {
                block.succs.extend(next);
            }
        }
        for i in 0..count {
            for to in blocks.get(i).map_or(Vec::new(), |block| block.succs.clone()) {
                let from = BlockId(small(i));
                if let Some(block) = blocks.get_mut(to.index())
                    && block.preds.last() != Some(&from)
                {
                    block.preds.push(from);
                }
            }
        }
    }
}

/// Why it is not known where control goes, if it is not.
fn unknown_control(function: &Function, code: &Code<'_>) -> Option<String> {
    let mut reached = vec![false; function.blocks.len()];
    let mut work = vec![BlockId(0)];
    while let Some(block) = work.pop() {
        if let Some(seen) = reached.get_mut(block.index())
            && !std::mem::replace(seen, true)
        {
            work.extend(function.blocks.get(block.index()).map_or(&[][..], |block| &block.succs));
        }
    }
    let native = |inst: &view::Inst| inst.semantics.native.get::<Native>().copied();
    let reachable = function.insts.iter().filter(|inst| reached.get(inst.block.index()) == Some(&true));
    for inst in reachable {
        let Some(Native { inst: native, address }) = native(inst) else { continue };
        let why = match inst.class {
            Class::Branch if !inst.operands.iter().any(|o| matches!(o, Operand::Label(_))) => {
                "it goes to an address outside the function, or that is not known"
            }
            _ if semantics::may_branch(&native) => "it may go anywhere",
            _ => continue,
        };
        return Some(format!("`{}` at {address:#x}: {why}", native.print()));
    }
    let runs_on = reached.last() == Some(&true) && code.insts.last().is_some_and(|(_, inst)| !ends(inst));
    runs_on.then(|| {
        let end = code.insts.last().map_or(0, |(address, inst)| address + length(inst));
        format!("control runs on behind its last instruction, at {end:#x}")
    })
}
