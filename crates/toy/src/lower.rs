//! Inserts a plan into toy code: each kernel `k` gets a copy `k.prlx` with the recorder routines in it.
//!
//! In the view, a lane that a branch over `exec` sends around a region waits behind it for its wave, and
//! insertions in the region are not for it. The copy keeps the lanes that are where the wave is in a mask.
//! Before such a branch the lanes that leave are taken out of it, with the number of the block where they
//! wait, and there they come back.
//!
//! # Invariants
//! - The original object is the begin of the new one, byte by byte.
//! - Instructions are copied as they are, but for the names of labels.
//! - Inserted code writes only registers that the kernel does not name, and does what its routine says:
//!   `verify.rs` executes it.

use std::collections::HashMap;
use std::fmt::Write;

use prlx_instrument::inserted_code::Work;
use prlx_instrument::routines::{Routines, Text, lines};
use prlx_instrument::{Error, ErrorKind, LoweredObject, ObjectTarget};
use prlx_isa::InstructionSet;
use prlx_isa::view::{Block, Function, Inst, InstId, Module, Operand, Span};
use prlx_plan::{At, Insertion, Plan};
use prlx_trace::device::{HiddenParameter, INSTRUMENTED, LaunchSize};

use crate::TOY;
use crate::code::{Arg, Op};
use crate::compile::{Compiler, HIDDEN, Registers};
use crate::reader::Toy;
use crate::semantics::native;
use crate::verify::{Piece, verify};

impl ObjectTarget for Toy {
    fn instruction_set(&self) -> InstructionSet {
        TOY
    }

    fn lower(&self, bytes: &[u8], module: &Module, plan: &Plan) -> Result<LoweredObject, Error> {
        let routines = Routines::new(module, plan);
        let mut out = LoweredObject { bytes: bytes.to_vec(), refused: Vec::new() };
        for (f, function) in module.functions.iter().enumerate() {
            let Some(of_plan) = plan.functions.get(f).filter(|of_plan| of_plan.skipped.is_none()) else {
                continue;
            };
            let mut copy = Copy::new(module, function, &routines, &of_plan.insertions, f);
            match copy.kernel() {
                Ok(()) => {
                    let wrong = |what| Error::new(ErrorKind::Verify, Span::default(), what);
                    verify(&copy.text, &copy.pieces, &copy.registers, &copy.state).map_err(wrong)?;
                    out.bytes.extend(copy.text.bytes());
                }
                Err(why) => out.refused.push((function.name.clone(), why)),
            }
        }
        match self.instruction_set().read(&out.bytes) {
            Ok(_) => Ok(out),
            Err(e) => Err(Error::new(ErrorKind::Plan, Span::default(), format!("a copy is wrong: {e}"))),
        }
    }
}

/// The copy of a kernel.
pub struct Copy<'a> {
    module: &'a Module,
    function: &'a Function,
    routines: &'a Routines<'a>,
    insertions: &'a [Insertion],
    pub registers: Registers,
    /// Names of what is kept between pieces, with sizes in bytes.
    pub state: HashMap<String, u64>,
    f: usize,
    pub text: String,
    pub pieces: Vec<Piece>,
}

/// The block where lanes wait that an instruction sends away.
fn waits_in(inst: &Inst) -> Option<u32> {
    match (native(inst)?.op, inst.operands.first()) {
        (Op::Skip, Some(Operand::Label(to))) => Some(to.0),
        (Op::Loop, _) => Some(inst.block.0 + 1),
        _ => None,
    }
}

impl<'a> Copy<'a> {
    pub fn new(
        module: &'a Module,
        function: &'a Function,
        routines: &'a Routines<'a>,
        insertions: &'a [Insertion],
        f: usize,
    ) -> Copy<'a> {
        let state = routines.state().chain(routines.counters(f)).chain(routines.visits(f)).collect();
        let registers = Registers::above(function);
        let (text, pieces) = (String::new(), Vec::new());
        Copy { module, function, routines, insertions, registers, state, f, text, pieces }
    }

    pub fn kernel(&mut self) -> Result<(), String> {
        self.head();
        self.lines("mov.mask {launched}, exec; mov.mask {present}, exec");
        self.routine(self.routines.warp_index(self.f), true)?;
        self.routine(self.routines.begin_visits(&[self.f]), true)?;
        self.insert(At::Entry)?;
        let waiting: Vec<u32> = self.function.insts.iter().filter_map(waits_in).collect();
        for (number, Block { insts, .. }) in (0..).zip(&self.function.blocks) {
            let _ = writeln!(self.text, "b{number}:");
            if waiting.contains(&number) {
                self.rejoin(number);
            }
            for at in insts.clone() {
                let inst = &self.function.insts[at as usize];
                self.insert(At::Before(InstId(at)))?;
                if let Some(block) = waits_in(inst) {
                    self.depart(block);
                }
                self.original(inst);
                self.insert(At::After(InstId(at)))?;
            }
        }
        Ok(())
    }

    /// `kernel k.prlx(…)`, with the hidden parameter.
    fn head(&mut self) {
        let head = self.function.params_span.of(&self.module.text);
        let (params, rest) = head.rsplit_once(')').unwrap_or((head, ""));
        let comma = if self.function.params.is_empty() { "" } else { ", " };
        let bytes = HiddenParameter::SIZE + LaunchSize::SIZE;
        let name = &self.function.name;
        let name = format!("{name}{INSTRUMENTED}");
        let _ = writeln!(self.text, "\nkernel {name}{params}{comma}{HIDDEN}:{bytes}){rest}");
    }

    /// Inserted instructions, with names of registers in braces.
    fn lines(&mut self, lines: &str) {
        for line in lines.split("; ") {
            let _ = writeln!(self.text, "  {}", self.registers.filled(line));
        }
    }

    /// Lanes that wait in a block are with the wave again.
    fn rejoin(&mut self, block: u32) {
        let begin = self.text.len();
        self.lines("mov.mask {here}, exec; mov.mask exec, {launched}");
        self.lines(&format!("cmp.eq.u32 {{back}}, {{away}}, {block}"));
        self.lines("mov.mask exec, {here}; or.mask {present}, {present}, {back}");
        self.piece(Work::Rejoin(block), false, begin);
    }

    /// Lanes out of `exec` leave the wave: they wait in a block.
    fn depart(&mut self, block: u32) {
        let begin = self.text.len();
        self.lines("mov.mask {here}, exec; andn.mask exec, {present}, exec");
        self.lines(&format!("mov.u32 {{away}}, {block}"));
        self.lines("mov.mask exec, {here}; and.mask {present}, {present}, exec");
        self.piece(Work::Depart(block), false, begin);
    }

    /// The instruction of the original. Labels are numbers of blocks.
    fn original(&mut self, inst: &Inst) {
        let Some(native) = native(inst) else { return };
        let mut native = native.clone();
        if let (Some(Operand::Label(to)), Some(last)) = (inst.operands.first(), native.args.last_mut()) {
            *last = Arg::Name(format!("b{}", to.0), 0);
        }
        let loc = inst.loc.and_then(|loc| self.module.locs.get(loc.index()));
        let line = loc.map_or(String::new(), |loc| format!(" ; {}", loc.line));
        let _ = writeln!(self.text, "  {native}{line}");
    }

    /// The routines at a place.
    fn insert(&mut self, at: At) -> Result<(), String> {
        let here: Vec<&Insertion> = self.insertions.iter().filter(|insertion| insertion.at == at).collect();
        self.routines.texts(self.f, &here).into_iter().try_for_each(|text| self.routine(text, false))
    }

    /// The text from `begin` on is a piece that does this work.
    fn piece(&mut self, work: Work, begins: bool, begin: usize) {
        self.pieces.push(Piece { work, begins, text: begin..self.text.len() });
    }

    fn routine(&mut self, text: Text, begins: bool) -> Result<(), String> {
        let lines = lines(&text.lines).map_err(|e| e.message)?;
        if lines.is_empty() {
            return Ok(());
        }
        let begin = self.text.len();
        let compiler = Compiler::new(&mut self.registers, &text.declared, &self.state);
        self.text += &compiler.compile(&lines)?;
        self.piece(Work::Routine(text), begins, begin);
        Ok(())
    }
}
