//! One function of the view: registers, instructions and basic blocks.

use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::addresses::{Addresses, Destination, inside};
use super::code::{Code, ends, is_call, length, small};
use super::evaluated::{self, Operands};
use super::forms::Forms;
use super::markers::{SourceMarker, Word};
use super::names;
use super::pieces::{Piece, are_vectors, is_guarded, is_transparent, is_vote, pieces};
use super::semantics;
use super::skips::{is_on_exec, of_waves};
use crate::amdgpu::inst::{Inst, Reg};
use crate::amdgpu::{Native, Register};
use crate::view::{
    self, Base, Block, BlockId, Class, Derived, Eval, Expr, Function, FunctionKind, Guard, Operand, RegInfo,
    Role, Space, Span, SymbolId, Type,
};

/// Opcode of the instruction of the view behind a call that ends its function: the callee does not return.
pub const UNREACHABLE: &str = "unreachable";

/// What the instructions of a function refer to beyond it.
pub(super) struct Outside<'m> {
    /// Function symbols by address of the entry.
    pub(super) functions: &'m FxHashMap<u64, SymbolId>,
    /// Symbols of other objects, by place among the relocations.
    pub(super) external: &'m FxHashMap<usize, SymbolId>,
    /// Registers that a call can write, by address of the function; of an unknown one under `None`.
    pub(super) written: &'m dyn Fn(Option<u64>) -> Vec<Reg>,
    /// What registers hold at the entry; `None` for a function that others call.
    pub(super) at_entry: Option<Vec<AtEntry>>,
    /// Parameters of the kernel: symbol, offset and size, by offset.
    pub(super) parameters: Vec<(SymbolId, u32, u64)>,
    /// Markers of the function, in address order.
    pub(super) markers: &'m [SourceMarker<'m>],
}

/// What a register holds when the kernel begins.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AtEntry {
    /// The register, which is there only if code reads it.
    pub(super) reg: Reg,
    /// Special registers, lowest first, and at which bit each begins.
    pub(super) parts: Vec<(&'static str, u32)>,
}

/// Positions that branches of the function go to, in ascending order; `jumps` are those by address.
fn labels(code: &Code<'_>, jumps: &[usize]) -> Vec<usize> {
    let targets = (0..code.insts.len()).filter_map(|at| {
        let (_, inst) = code.insts.get(at)?;
        if inst.name() == "s_call_b64" { None } else { code.at(code.target(at)?) }
    });
    let mut all: Vec<usize> = targets.chain(jumps.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Positions in the function that it jumps to by address, as branches over long distances do.
pub(super) fn jumps(code: &Code<'_>, addresses: &Addresses) -> Vec<usize> {
    let is_jump = |at: &usize| code.insts.get(*at).is_some_and(|(_, inst)| inst.name() == "s_setpc_b64");
    let all = addresses.destinations.iter().filter(|(at, _)| is_jump(at));
    all.filter_map(|(_, destination)| inside(code, *destination)).collect()
}

/// Positions where basic blocks begin, in ascending order.
pub(super) fn begins(code: &Code<'_>, jumps: &[usize]) -> Vec<usize> {
    let mut all = labels(code, jumps);
    all.push(0);
    let after = code.insts.iter().zip(1..).filter(|((_, inst), _)| semantics::ends_block(inst));
    all.extend(after.map(|(_, next)| next).filter(|next| *next < code.insts.len()));
    all.sort_unstable();
    all.dedup();
    all
}

/// Reads a function. Its text is appended to `text`.
pub(super) fn function(
    code: &Code<'_>,
    number: usize,
    forms: &Forms,
    addresses: &Addresses,
    outside: &Outside<'_>,
    text: &mut String,
) -> Function {
    let kind = if code.kernel.is_some() { FunctionKind::Kernel } else { FunctionKind::Device };
    let mut reader = Reader {
        forms,
        outside,
        addresses,
        out: Function { name: code.name.to_owned(), kind, ..Function::default() },
        registers: FxHashMap::default(),
        undefined: None,
        votes: false,
        lanes: u32::from(code.insts.first().map_or(64, |(_, inst)| inst.lanes())),
        count: code.insts.len(),
    };
    let jumps = jumps(code, addresses);
    let labels = labels(code, &jumps);
    let blocks = begins(code, &jumps);
    let of_waves = of_waves(code, &blocks, addresses);
    // If code branches to the entry, what registers hold there at first is a block of its own.
    let own_block = usize::from(labels.first() == Some(&0));
    let block_at = |at: usize| blocks.binary_search(&at).ok().map(|block| BlockId(small(block + own_block)));
    reader.reg(Register::Mask(Reg::ExecLo));
    reader.reg(Register::Word(Reg::Scc));
    let start = small(text.len());
    let _ = writeln!(text, "{}:", code.name);
    let body = small(text.len());
    let mut current = BlockId(0);
    reader.at_entry(&outside.at_entry, text);
    let first = small(reader.out.insts.len());
    reader.out.blocks.push(Block { insts: 0..first, ..Block::default() });
    for (at, (address, inst)) in code.insts.iter().enumerate() {
        if let Some(block) = block_at(at) {
            current = block;
            let first = small(reader.out.insts.len());
            if reader.out.blocks.len() <= block.index() {
                reader.out.blocks.push(Block { insts: first..first, ..Block::default() });
            }
        }
        if labels.binary_search(&at).is_ok() {
            let _ = writeln!(text, ".L{number}_{}:", current.0);
        }
        let by_address = addresses.destinations.get(&at).filter(|_| inst.name() == "s_setpc_b64");
        let jump = by_address.and_then(|destination| inside(code, *destination)).and_then(block_at);
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
        reader.votes = is_vote(inst) || of_waves.contains(&at);
        reader.instruction(at, *address, inst, span, jump.or(label.filter(|_| inst.name() != "s_call_b64")));
        for inst in reader.out.insts.iter_mut().rev().take_while(|inst| inst.span == span) {
            inst.block = current;
        }
        if let Some(block) = reader.out.blocks.last_mut() {
            block.insts.end = small(reader.out.insts.len());
        }
    }
    reader.connect();
    reader.markers();
    let undefined = reader.undefined.take();
    let mut out = reader.out;
    if let Some(at) = undefined {
        define_rest(&mut out, at);
    }
    out.body = Span { start: body, end: small(text.len()) };
    out.span = Span { start, ..out.body };
    out.params_span = Span { start: body, end: body };
    let scope = out.body;
    out.regs.iter_mut().for_each(|reg| reg.scope = scope);
    out.unknown_control = unknown_control(&out, code).or_else(|| unknown_registers(&mut out));
    out
}

struct Reader<'r> {
    forms: &'r Forms,
    outside: &'r Outside<'r>,
    addresses: &'r Addresses,
    out: Function,
    registers: FxHashMap<Register, view::Reg>,
    /// The instruction that stands for registers without a defined value at the entry.
    undefined: Option<usize>,
    /// Whether the instruction is a branch on all lanes of VCC or EXEC, which a vote stands before.
    votes: bool,
    lanes: u32,
    /// Number of machine instructions of the function.
    count: usize,
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

    /// Appends instructions for what registers hold at the entry, and their text.
    fn at_entry(&mut self, kernel: &Option<Vec<AtEntry>>, text: &mut String) {
        let exec = Operand::Reg(self.reg(Register::Mask(Reg::ExecLo)));
        let Some(all) = kernel else {
            // A lane may be inactive where the function is called.
            let was = Operand::Special("exec".to_owned());
            return self.entry_inst(exec, vec![was], None, "exec = exec of the caller", text);
        };
        self.entry_inst(exec, vec![Operand::Int(1)], Some((Eval::Mov, Type::Pred)), "exec = 1", text);
        for AtEntry { reg, parts } in all {
            if !self.forms.has_words(&[*reg]) {
                continue;
            }
            let to = Operand::Reg(self.reg(Register::Word(*reg)));
            let name = Register::Word(*reg).name(self.lanes);
            // From the highest part down: what is above is moved up by the distance.
            let mut above: Option<u32> = None;
            for (special, from) in parts.iter().rev() {
                let part = Operand::Special((*special).to_owned());
                match above {
                    None => {
                        let line = format!("{name} = {special}");
                        self.entry_inst(to.clone(), vec![part], Some((Eval::Mov, Type::U32)), &line, text);
                    }
                    Some(bit) => {
                        let by = 1i64 << (bit - from);
                        let inputs = vec![to.clone(), Operand::Int(by), part];
                        let line = format!("{name} = {name} * {by} + {special}");
                        self.entry_inst(to.clone(), inputs, Some((Eval::Mad, Type::U32)), &line, text);
                    }
                }
                above = Some(*from);
            }
        }
        self.undefined = Some(self.out.insts.len());
        let line = "other registers have no defined value";
        self.entry_inst(Operand::List(Vec::new()), Vec::new(), None, line, text);
    }

    fn entry_inst(
        &mut self,
        to: Operand,
        inputs: Vec<Operand>,
        eval: Option<(Eval, Type)>,
        line: &str,
        text: &mut String,
    ) {
        text.push_str("\t; ");
        let start = small(text.len());
        text.push_str(line);
        let span = Span { start, end: small(text.len()) };
        text.push('\n');
        let roles = [Role::Def].into_iter().chain(inputs.iter().map(|_| Role::Use)).collect();
        let semantics =
            view::Semantics { opcode: "entry".to_owned(), class: Class::Move, ..view::Semantics::default() };
        self.out.insts.push(view::Inst {
            span,
            class: Class::Move,
            operands: [to].into_iter().chain(inputs).collect(),
            roles,
            eval,
            semantics: Arc::new(semantics),
            ..view::Inst::default()
        });
    }

    fn words(&mut self, regs: &[Reg]) -> Option<Operand> {
        // A word that nothing reads keeps its place.
        let word = |reg: &Reg| match self.forms.has_words(std::slice::from_ref(reg)) {
            true => Operand::Reg(self.reg(Register::Word(*reg))),
            false => Operand::Sink,
        };
        let mut all: Vec<Operand> = regs.iter().map(word).collect();
        match all.len() {
            0 | 1 => all.pop(),
            _ => Some(Operand::Vector(all)),
        }
    }

    fn mask(&mut self, low: Reg) -> Operand {
        Operand::Reg(self.reg(Register::Mask(low)))
    }

    fn instruction(&mut self, at: usize, address: u64, inst: &Inst, span: Span, label: Option<BlockId>) {
        if self.votes {
            self.vote(inst, span);
        }
        let mut operands: Vec<(Operand, Role)> = Vec::new();
        // Other forms of results follow the operands of the text.
        let mut further: Vec<(Operand, Role)> = Vec::new();
        let all = pieces(inst);
        let on_masks = is_transparent(inst) && self.is_on_masks(inst, &all);
        let masks_first = !is_transparent(inst) || on_masks;
        for (piece, role) in all {
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
                    let regs = low.mask_words(inst.lanes());
                    self.either(&regs, role, true, &mut operands, &mut further);
                }
                Piece::Either(regs) => self.either(&regs, role, masks_first, &mut operands, &mut further),
            }
        }
        let destination = self.addresses.destinations.get(&at).copied();
        let mut semantics = semantics::of(inst, destination == Some(Destination::Caller));
        // A jump to another function is a call, after which the function returns.
        let leaves = match destination {
            Some(Destination::Address(entry)) => self.outside.functions.contains_key(&entry),
            Some(Destination::External(_)) => true,
            _ => false,
        };
        if inst.name() == "s_setpc_b64" && label.is_none() && leaves {
            semantics.class = Class::Call;
        }
        operands.extend(semantics::clock(inst).map(|name| (Operand::Special(name.to_owned()), Role::Use)));
        if semantics.class == Class::Compare {
            // The results come first, wherever the text has them.
            operands.sort_by_key(|(_, role)| *role != Role::Def);
        }
        semantics.results = self.results(inst, on_masks, semantics.effect, &operands);
        let eval = evaluated::simple(&semantics.results, &operands);
        operands.extend(further);
        semantics.native = view::Native::new(Arc::new(Native { inst: *inst, address }));
        if let (Some(label), "s_setpc_b64") = (label, inst.name()) {
            operands.push((Operand::Label(label), Role::Target));
        }
        match destination {
            Some(destination) if semantics.class == Class::Call => self.call(destination, &mut operands),
            _ => {}
        }
        let mut eval = eval;
        let argument = self.addresses.arguments.get(&at).and_then(|offset| self.parameter(*offset));
        if let Some(address) = argument {
            operands.retain(|(_, role)| *role != Role::Addr);
            let place = operands.iter().position(|(_, role)| *role != Role::Def).unwrap_or(operands.len());
            operands.insert(place.min(1), (address, Role::Addr));
            semantics.space = Space::Param;
            eval = semantics.result.map(|ty| (Eval::LoadParam, ty));
        }
        let tail = semantics.class == Class::Call && inst.name() == "s_setpc_b64";
        let last = semantics.class == Class::Call && !tail && at + 1 == self.count;
        let guard = self.guard(inst);
        let returns = operands.iter().any(|(_, role)| matches!(role, Role::Def | Role::UseDef));
        semantics.names = names::names(inst, &semantics, returns);
        let (operands, roles) = operands.into_iter().unzip();
        self.out.insts.push(view::Inst {
            span,
            class: semantics.class,
            guard,
            space: semantics.space,
            semantics: Arc::new(semantics),
            operands,
            roles,
            eval,
            ..view::Inst::default()
        });
        if tail {
            self.end("return", Class::Return, span);
        }
        if last {
            self.end(UNREACHABLE, Class::Exit, span);
        }
    }

    /// Appends an instruction that says how control goes on behind the one before it.
    fn end(&mut self, opcode: &str, class: Class, span: Span) {
        let semantics = view::Semantics { opcode: opcode.to_owned(), class, ..view::Semantics::default() };
        let semantics = Arc::new(semantics);
        self.out.insts.push(view::Inst { span, class, semantics, ..view::Inst::default() });
    }

    /// What a decoder can evaluate again.
    fn results(
        &mut self,
        inst: &Inst,
        on_masks: bool,
        effect: view::Effect,
        all: &[(Operand, Role)],
    ) -> Vec<view::Derived> {
        let (scc, exec) = (self.reg(Register::Word(Reg::Scc)), self.reg(Register::Mask(Reg::ExecLo)));
        let operands = Operands { all, scc, exec };
        let compared = match effect {
            view::Effect::Compare(view::Comparison { relation, ty, .. }) => {
                evaluated::comparison(relation, ty, inst, operands)
            }
            _ => Vec::new(),
        };
        if compared.is_empty() { evaluated::results(inst, on_masks, operands) } else { compared }
    }

    /// What a branch on all lanes of VCC or EXEC asks, which no bit of one lane says.
    fn vote(&mut self, inst: &Inst, span: Span) {
        let (any, of) = match is_on_exec(inst) {
            true => (Register::AnyExec, Reg::ExecLo),
            false => (Register::AnyVcc, Reg::VccLo),
        };
        let operands = vec![Operand::Reg(self.reg(any)), self.mask(of)];
        let opcode = any.name(self.lanes);
        let semantics = view::Semantics { opcode, class: Class::Warp, ..view::Semantics::default() };
        self.out.insts.push(view::Inst {
            span,
            class: Class::Warp,
            operands,
            roles: vec![Role::Def, Role::Use],
            semantics: Arc::new(semantics),
            ..view::Inst::default()
        });
    }

    /// Whether a transparent operation is one of each lane's bit: it writes EXEC, or its result is a mask.
    fn is_on_masks(&self, inst: &Inst, all: &[(Piece, Role)]) -> bool {
        let result = all.iter().find_map(|(piece, role)| match (piece, role) {
            (Piece::Either(regs), Role::Def | Role::UseDef) => Some(regs),
            _ => None,
        });
        inst.name().contains("exec_") || result.is_some_and(|regs| self.forms.mask(regs).is_some())
    }

    /// Scalar registers in one of the forms that they have. The other form follows.
    fn either(
        &mut self,
        regs: &[Reg],
        role: Role,
        masks_first: bool,
        operands: &mut Vec<(Operand, Role)>,
        further: &mut Vec<(Operand, Role)>,
    ) {
        let mask = self.forms.mask(regs).map(|low| self.mask(low));
        let words = if self.forms.has_words(regs) { self.words(regs) } else { None };
        let (one, other) = if masks_first { (mask, words) } else { (words, mask) };
        match (one, other) {
            (Some(one), other) => {
                operands.push((one, role));
                // Both forms are equal, so one read says it.
                further.extend(other.filter(|_| role != Role::Use).map(|other| (other, role)));
            }
            (None, Some(other)) => operands.push((other, role)),
            (None, None) if role == Role::Def => operands.push((Operand::Sink, role)),
            (None, None) => {}
        }
    }

    fn guard(&mut self, inst: &Inst) -> Option<Guard> {
        let (register, negate) = match inst.name() {
            "s_cbranch_execz" if self.votes => (Register::AnyExec, true),
            "s_cbranch_execnz" if self.votes => (Register::AnyExec, false),
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

    /// Adds the markers, each before its own instruction. Lanes out of EXEC do not pass it.
    fn markers(&mut self) {
        let guard = Guard { reg: self.reg(Register::Mask(Reg::ExecLo)), negate: false };
        let mut rest = self.outside.markers.iter().peekable();
        for at in 0..self.out.insts.len() {
            let native = self.out.insts.get(at).and_then(|inst| inst.semantics.native.get::<Native>());
            let Some(address) = native.map(|native| native.address) else { continue };
            while let Some(marker) = rest.next_if(|marker| marker.address == address) {
                let payload = marker.words.iter().map(|word| match word {
                    Word::Number(n) => Operand::Int(*n),
                    Word::Register(reg) => Operand::Reg(self.reg(Register::Word(*reg))),
                });
                let payload = payload.collect();
                self.out.markers.push(view::Marker {
                    kind: marker.kind,
                    name: marker.name.to_owned(),
                    at: view::InstId(small(at)),
                    passed_by: view::PassedBy::All,
                    guard: Some(guard),
                    payload,
                    loc: None,
                });
            }
        }
    }

    /// The address of an argument at this offset.
    fn parameter(&self, offset: i64) -> Option<Operand> {
        let offset = u32::try_from(offset).ok()?;
        let all = &self.outside.parameters;
        let before = all.partition_point(|(_, from, _)| *from <= offset).checked_sub(1)?;
        let (symbol, from, size) = *all.get(before)?;
        let plus = offset - from;
        (u64::from(plus) < size).then_some(Operand::Address(Base::Symbol(symbol), plus.into()))
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

/// Says at instruction `at` that all registers which nothing before it writes are 0: a program whose
/// behaviour is defined does not depend on them.
fn define_rest(function: &mut Function, at: usize) {
    let before = function.insts.get(..at).unwrap_or_default();
    let defined: Vec<view::Reg> = before.iter().flat_map(view::Inst::defs).collect();
    let rest = (0..function.regs.len()).map(|reg| view::Reg(small(reg))).filter(|reg| !defined.contains(reg));
    let all: Vec<Operand> = rest.map(Operand::Reg).collect();
    let zero = |element| Derived { operand: 0, element, value: Expr::Int(0) };
    let results = (0..all.len()).map(zero).collect();
    if let Some(inst) = function.insts.get_mut(at) {
        let old = &*inst.semantics;
        inst.semantics = Arc::new(view::Semantics { results, ..old.clone() });
        inst.operands = vec![Operand::Vector(all)];
    }
}

/// Instructions whose registers are unknown: how many a function may have.
const MOST_UNKNOWN: usize = 64;

/// Says of instructions whose registers are not known that they may change all. If there are too many, this
/// returns why the function is not understood.
fn unknown_registers(function: &mut Function) -> Option<String> {
    let native = |inst: &view::Inst| inst.semantics.native.get::<Native>().copied();
    let is_unknown = |inst: &view::Inst| native(inst).is_some_and(|n| n.inst.registers().is_none());
    let count = function.insts.iter().filter(|inst| is_unknown(inst)).count();
    if count > MOST_UNKNOWN {
        let first = function.insts.iter().filter(|inst| is_unknown(inst)).find_map(native)?;
        let (text, address) = (first.inst.print(), first.address);
        return Some(format!("`{text}` at {address:#x} and {} more change unknown registers", count - 1));
    }
    let all: Vec<Operand> = (0..function.regs.len()).map(|reg| Operand::Reg(view::Reg(small(reg)))).collect();
    for inst in function.insts.iter_mut().filter(|inst| is_unknown(inst)) {
        inst.operands.push(Operand::List(all.clone()));
        inst.roles.push(Role::UseDef);
    }
    None
}

/// Whether control may go on behind the last instruction of a function. A call there is one that does not
/// return: compilers end functions so.
fn runs_on_behind(inst: &Inst) -> bool {
    !ends(inst) && !semantics::is_trap(inst) && !is_call(inst)
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
    let begins = |inst: &view::Inst| {
        let block = function.blocks.get(inst.block.index());
        let first = block.and_then(|b| function.insts.get(b.insts.start as usize));
        first.is_some_and(|first| first.span == inst.span)
    };
    let reachable = function.insts.iter().filter(|inst| reached.get(inst.block.index()) == Some(&true));
    for inst in reachable {
        let Some(Native { inst: native, address }) = native(inst) else { continue };
        let why = match inst.class {
            Class::Branch if !inst.operands.iter().any(|o| matches!(o, Operand::Label(_))) => {
                "it goes to an address outside the function, or that is not known"
            }
            _ if semantics::may_branch(&native) => "it may go anywhere",
            _ if native.indexed() == 0 => continue,
            _ if semantics::ends_block(&native) || is_call(&native) || begins(inst) => {
                "`s_set_gpr_idx_on` is in effect where control branches"
            }
            _ => continue,
        };
        return Some(format!("`{}` at {address:#x}: {why}", native.print()));
    }
    let runs_on =
        reached.last() == Some(&true) && code.insts.last().is_some_and(|(_, inst)| runs_on_behind(inst));
    runs_on.then(|| {
        let end = code.insts.last().map_or(0, |(address, inst)| address + length(inst));
        format!("control runs on behind its last instruction, at {end:#x}")
    })
}
