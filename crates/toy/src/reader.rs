//! Reads an object of the toy instruction set, which is text, into the neutral view.
//!
//! ```text
//! toy
//! source steps.c
//! kernel steps(in:u64, out:u64, n:u32) shared 512
//!   mov.u32 v0, %tid.x ; 3
//! again:
//!   end ; 9
//! ```
//!
//! A number behind `;` is the line of the source file. A parameter has a type, or a size in bytes.
//!
//! The view is that of one lane: a mask of lanes is a predicate, `exec` is the guard of vector operations,
//! and a branch over `exec` is one that a lane takes by its own bit. The reader puts instructions at the
//! entry that say that `exec` has the lane, and which registers have no defined value.
//!
//! # Invariants
//! - The span of an instruction is its text in the object.
//! - Lanes that leave their wave meet it again: `skip` goes forward and `loop` back, and no other branch
//!   leaves the code between a `skip` and its label.
//!
//! # Limitations
//! There are no functions but kernels, and no variables.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use prlx_isa::ObjectReader;
use prlx_isa::image::Error;
use prlx_isa::view::{
    Base, Block, BlockId, Class, Eval, File, FuncId, Function, FunctionKind, Guard, Inst, Loc, LocId, Module,
    Operand, Reg, RegInfo, Role, Semantics, Space, Span, Symbol, SymbolId, Type,
};

use crate::code::{Arg, Instruction, Op};
use crate::semantics::{eval, native, roles, semantics};

/// Lanes of a wave.
pub const LANES: u32 = 64;

/// The reader of toy code.
#[derive(Debug)]
pub struct Toy;

impl ObjectReader for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn code_name(&self) -> &'static str {
        "toy code"
    }

    fn read(&self, bytes: &[u8]) -> Result<Module, Error> {
        let text = std::str::from_utf8(bytes).map_err(|_| wrong(0, "toy code is text"))?;
        read(text)
    }

    fn argument_bytes(&self, bytes: &[u8], kernel: &str) -> Result<u64, Error> {
        let module = self.read(bytes)?;
        let function = module.function(kernel).ok_or_else(|| wrong(0, format!("there is no `{kernel}`")))?;
        let end = |(id, at): (&SymbolId, &u32)| u64::from(*at) + module.symbols[id.index()].size;
        Ok(function.params.iter().zip(&function.param_offsets).map(end).max().unwrap_or(0))
    }
}

fn wrong(at: usize, what: impl Into<String>) -> Error {
    Error { at: at as u64, what: what.into() }
}

/// A line of the object without its number: where it begins, what it says, and the line of the source.
struct Line<'t> {
    at: usize,
    text: &'t str,
    line: Option<u32>,
}

fn lines(text: &str) -> Result<Vec<Line<'_>>, Error> {
    let mut out = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let (code, number) = match whole.split_once(';') {
            Some((code, number)) => (code, Some(number.trim())),
            None => (whole, None),
        };
        let line = number.map(str::parse).transpose();
        let line = line.map_err(|_| wrong(at, "behind `;` is the number of a line"))?;
        let begin = at + code.len() - code.trim_start().len();
        if !code.trim().is_empty() {
            out.push(Line { at: begin, text: code.trim(), line });
        }
        at += whole.len();
    }
    Ok(out)
}

fn read(text: &str) -> Result<Module, Error> {
    let mut module = Module {
        text: Arc::from(text),
        digest: prlx_isa::digest(text.as_bytes()),
        target: "toy".to_owned(),
        warp_lanes: LANES,
        ..Module::default()
    };
    let lines = lines(text)?;
    let is_kernel = |line: &Line<'_>| line.text.starts_with("kernel ");
    let begins: Vec<usize> = (0..lines.len()).filter(|i| is_kernel(&lines[*i])).collect();
    let head = &lines[..begins.first().copied().unwrap_or(lines.len())];
    if head.first().is_none_or(|line| line.text != "toy") {
        return Err(wrong(0, "toy code begins with `toy`"));
    }
    for line in &head[1..] {
        let path = line.text.strip_prefix("source ");
        let path = path.ok_or_else(|| wrong(line.at, "a kernel or the name of a source file is wanted"))?;
        module.files.push(File { number: 1, path: path.to_owned() });
    }
    let ends = begins.iter().copied().skip(1).chain([lines.len()]);
    for (begin, end) in begins.iter().copied().zip(ends) {
        let function = Reader::kernel(&lines[begin], &mut module)?;
        let mut reader = Reader { module: &mut module, function, registers: HashMap::new() };
        reader.body(&lines[begin + 1..end])?;
        let function = reader.function;
        module.functions.push(function);
    }
    Ok(module)
}

/// Reads one kernel.
struct Reader<'m> {
    module: &'m mut Module,
    function: Function,
    registers: HashMap<String, Reg>,
}

impl Reader<'_> {
    /// `kernel name(parameter:type, …) shared bytes`
    fn kernel(line: &Line<'_>, module: &mut Module) -> Result<Function, Error> {
        let bad = || wrong(line.at, "a kernel is `kernel name(parameter:type, …) shared bytes`");
        let (name, rest) = line.text["kernel ".len()..].split_once('(').ok_or_else(bad)?;
        let (params, shared) = rest.split_once(')').ok_or_else(bad)?;
        let owner = Some(FuncId(module.functions.len() as u32));
        let mut symbol = |symbol: Symbol| {
            module.symbols.push(Symbol { owner, ..symbol });
            SymbolId(module.symbols.len() as u32 - 1)
        };
        let mut function =
            Function { name: name.to_owned(), kind: FunctionKind::Kernel, ..Function::default() };
        let mut offset = 0u32;
        for param in params.split(',').map(str::trim).filter(|param| !param.is_empty()) {
            let (name, ty) = param.split_once(':').ok_or_else(bad)?;
            let (ty, size) = match Type::from_name(ty) {
                Some(ty) => (ty, ty.bytes()),
                None => (Type::B8, ty.parse().map_err(|_| bad())?),
            };
            let align = if ty == Type::B8 { 8 } else { size };
            let of = Symbol { name: name.to_owned(), space: Space::Param, ty, ..Symbol::default() };
            function.params.push(symbol(Symbol { size: size.into(), align, ..of }));
            offset = offset.checked_next_multiple_of(align).ok_or_else(bad)?;
            function.param_offsets.push(offset);
            offset = offset.checked_add(size).ok_or_else(bad)?;
        }
        if let Some(bytes) = shared.trim().strip_prefix("shared ") {
            let bytes = bytes.parse().map_err(|_| bad())?;
            function.limits.push(("shared".to_owned(), vec![bytes]));
        }
        let end = (line.at + line.text.len()) as u32;
        function.span = Span { start: line.at as u32, end };
        function.params_span = Span { start: (line.at + "kernel ".len() + name.len()) as u32, end };
        function.body = Span { start: end, end };
        Ok(function)
    }

    fn body(&mut self, lines: &[Line<'_>]) -> Result<(), Error> {
        let mut labels: HashMap<&str, usize> = HashMap::new();
        let mut code: Vec<(&Line<'_>, Instruction)> = Vec::new();
        for line in lines {
            match line.text.strip_suffix(':') {
                Some(label) => {
                    labels.insert(label, code.len() + ENTRY);
                }
                None => code.push((line, Instruction::parse(line.text).map_err(|e| wrong(line.at, e))?)),
            }
            self.function.span.end = (line.at + line.text.len()) as u32;
        }
        self.function.body.end = self.function.span.end;
        if code.last().is_none_or(|(_, inst)| inst.op != Op::End) {
            return Err(wrong(self.function.span.start as usize, "a kernel ends with `end`"));
        }
        let blocks = blocks(&code, &labels);
        let block_of = |at: usize| BlockId(blocks.partition_point(|block| block.start <= at) as u32 - 1);
        self.entry();
        for (line, inst) in &code {
            let target = inst.args.last().and_then(|arg| match (inst.op, arg) {
                (Op::Branch | Op::Skip | Op::Loop, Arg::Name(name, _)) => labels.get(name.as_str()),
                _ => None,
            });
            let target = target.filter(|at| **at < code.len() + ENTRY);
            let loc = self.loc(line.line);
            let read = self.inst(inst, target.map(|at| block_of(*at))).map_err(|e| wrong(line.at, e))?;
            let span = Span { start: line.at as u32, end: (line.at + line.text.len()) as u32 };
            self.function.insts.push(Inst { span, loc, ..read });
        }
        self.undefined();
        self.link(blocks);
        self.check_meeting()
    }

    /// What registers hold when the kernel begins: the lane is in `exec`, and others have no defined value.
    fn entry(&mut self) {
        let semantics = Semantics { opcode: "entry".to_owned(), class: Class::Move, ..Semantics::default() };
        let semantics = Arc::new(semantics);
        let at = self.function.body.start;
        let entry =
            Inst { span: Span { start: at, end: at }, class: Class::Move, semantics, ..Inst::default() };
        let operands = vec![Operand::Reg(self.exec()), Operand::Int(1)];
        let roles = vec![Role::Def, Role::Use];
        let eval = Some((Eval::Mov, Type::Pred));
        self.function.insts.push(Inst { operands, roles, eval, ..entry.clone() });
        let operands = vec![Operand::List(Vec::new())];
        self.function.insts.push(Inst { operands, roles: vec![Role::Def], ..entry });
    }

    /// All registers but `exec` are those without a defined value at the entry.
    fn undefined(&mut self) {
        let all = (1..self.function.regs.len() as u32).map(|r| Operand::Reg(Reg(r)));
        self.function.insts[1].operands = vec![Operand::List(all.collect())];
    }

    fn exec(&mut self) -> Reg {
        self.reg("exec".to_owned(), Type::Pred)
    }

    fn reg(&mut self, name: String, ty: Type) -> Reg {
        let regs = &mut self.function.regs;
        let scope = self.function.body;
        *self.registers.entry(name.clone()).or_insert_with(|| {
            regs.push(RegInfo { name, ty, scope });
            Reg(regs.len() as u32 - 1)
        })
    }

    fn register(&mut self, bank: char, number: u32) -> Reg {
        let ty = match bank {
            'd' => Type::B64,
            'm' | 'c' => Type::Pred,
            _ => Type::B32,
        };
        self.reg(format!("{bank}{number}"), ty)
    }

    fn loc(&mut self, line: Option<u32>) -> Option<LocId> {
        let loc = Loc { line: line?, ..Loc::default() };
        let at = self.module.locs.iter().position(|known| *known == loc);
        Some(LocId(at.unwrap_or_else(|| {
            self.module.locs.push(loc);
            self.module.locs.len() - 1
        }) as u32))
    }

    fn operand(&mut self, arg: &Arg) -> Result<Operand, String> {
        Ok(match arg {
            Arg::Reg(bank, number) => Operand::Reg(self.register(*bank, *number)),
            Arg::Exec => Operand::Reg(self.exec()),
            Arg::Not(number) => Operand::Not(self.register('c', *number)),
            Arg::Int(value) => Operand::Int(*value),
            Arg::Special(name) => Operand::Special(name.clone()),
            Arg::Address(bank, number, offset) => {
                Operand::Address(Base::Reg(self.register(*bank, *number)), *offset)
            }
            Arg::Name(name, offset) => {
                let own = |id: &&SymbolId| self.module.symbols[id.index()].name == *name;
                let param = self.function.params.iter().find(own);
                let param = param.ok_or_else(|| format!("the kernel has no parameter `{name}`"))?;
                Operand::Address(Base::Symbol(*param), *offset)
            }
        })
    }

    /// The view of an instruction, without its place.
    fn inst(&mut self, inst: &Instruction, target: Option<BlockId>) -> Result<Inst, String> {
        let semantics = semantics(inst);
        let exec = self.exec();
        let branches = matches!(inst.op, Op::Branch | Op::Skip | Op::Loop);
        let mut operands = Vec::new();
        if branches {
            operands.push(Operand::Label(target.ok_or("it has no label of this kernel")?));
        } else {
            for arg in &inst.args {
                operands.push(self.operand(arg)?);
            }
        }
        if matches!(inst.op, Op::Save | Op::First) {
            operands.push(Operand::Reg(exec));
        }
        let guard = match (inst.op, inst.args.as_slice()) {
            (Op::Branch, [Arg::Reg('c', n), _]) => Some(Guard { reg: self.register('c', *n), negate: false }),
            (Op::Branch, [Arg::Not(n), _]) => Some(Guard { reg: self.register('c', *n), negate: true }),
            (Op::Skip, _) => Some(Guard { reg: exec, negate: true }),
            (Op::Loop, _) => Some(Guard { reg: exec, negate: false }),
            _ if inst.is_vector() => Some(Guard { reg: exec, negate: false }),
            _ => None,
        };
        let wide = match operands.get(1) {
            Some(Operand::Reg(r)) => Some(self.function.regs[r.index()].ty == Type::B64),
            _ => None,
        };
        Ok(Inst {
            class: semantics.class,
            space: semantics.space,
            semantics: Arc::new(semantics),
            eval: eval(inst, wide),
            guard,
            operands,
            roles: roles(inst),
            ..Inst::default()
        })
    }

    /// Fills in the basic blocks with their edges.
    fn link(&mut self, blocks: Vec<Range<usize>>) {
        let Function { insts, blocks: out, .. } = &mut self.function;
        for (i, block) in blocks.iter().enumerate() {
            let next = BlockId(i as u32 + 1);
            let last = &insts[block.end - 1];
            let target =
                last.operands.iter().find_map(|o| if let Operand::Label(b) = o { Some(*b) } else { None });
            let falls = last.class != Class::Exit && (target.is_none() || last.guard.is_some());
            let succs = target.into_iter().chain(falls.then_some(next)).collect();
            insts[block.clone()].iter_mut().for_each(|inst| inst.block = BlockId(i as u32));
            out.push(Block { insts: block.start as u32..block.end as u32, succs, preds: Vec::new() });
        }
        for i in 0..out.len() {
            for to in out[i].succs.clone() {
                out[to.index()].preds.push(BlockId(i as u32));
            }
        }
    }

    /// Checks that lanes which leave their wave meet it again.
    fn check_meeting(&self) -> Result<(), Error> {
        let insts = &self.function.insts;
        let target = |inst: &Inst| match inst.operands.first() {
            Some(Operand::Label(to)) => Some(to.index()),
            _ => None,
        };
        for inst in insts {
            let (Some(to), here) = (target(inst), inst.block.index()) else { continue };
            // Code between a `skip` and its label ends nowhere else.
            let region = here + 1..to;
            let leaves = |i: &&Inst| {
                let elsewhere = target(i).is_some_and(|at| !(here + 1..=to).contains(&at));
                region.contains(&i.block.index()) && (elsewhere || i.class == Class::Exit)
            };
            let what = match native(inst).map(|inst| inst.op) {
                Some(Op::Loop) if to > here => "`loop` goes back",
                Some(Op::Skip) if to <= here => "`skip` goes forward",
                Some(Op::Skip) if insts.iter().any(|i| leaves(&i)) => {
                    "code between `skip` and its label goes elsewhere"
                }
                _ => continue,
            };
            return Err(wrong(inst.span.start as usize, what));
        }
        Ok(())
    }
}

/// Instructions at the entry that the text does not have.
const ENTRY: usize = 2;

/// Ranges of instructions of the basic blocks.
fn blocks(code: &[(&Line<'_>, Instruction)], labels: &HashMap<&str, usize>) -> Vec<Range<usize>> {
    let end = code.len() + ENTRY;
    let ends = |inst: &Instruction| matches!(inst.op, Op::Branch | Op::Skip | Op::Loop | Op::End);
    let behind = code.iter().zip(ENTRY + 1..).filter(|((_, inst), _)| ends(inst)).map(|(_, at)| at);
    let mut begins: Vec<usize> = labels.values().copied().chain(behind).chain([0]).collect();
    begins.retain(|at| *at < end);
    begins.sort_unstable();
    begins.dedup();
    let ends = begins.iter().copied().skip(1).chain([end]);
    begins.iter().copied().zip(ends).map(|(from, to)| from..to).collect()
}
