//! Copies functions, with the routines of a plan inserted.
//!
//! In the neutral view, a lane that a branch on EXEC sends around a region waits behind it for its wave, and
//! insertions in the region are not for it. The copy therefore keeps the lanes that are where the wave is
//! ([`Registers::present`]): before each such branch the lanes that leave are taken out, with the number of the
//! place where they wait, and there they come back.

use std::fmt;

use prlx_isa::amdgpu::inst::table::Class as MachineClass;
use prlx_isa::amdgpu::inst::{Encoding, Inst, Reg, Value};
use prlx_isa::amdgpu::object::{AddedCode, AddedFunction, CodeObject, Kernel, PRELOAD_PROLOGUE};
use prlx_isa::amdgpu::{Native, Register, RegisterMap, Target};
use prlx_isa::view::{self, Class, Function, FunctionKind, InstId, Module, Operand, Role, Type};
use prlx_plan::{Action, At, FunctionPlan, Insertion, Plan};
use prlx_trace::device::INSTRUMENTED;
use prlx_trace::kernel::Level;
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::{Assembler, Destination, EXEC, Label, sgpr, vgpr};
use super::compile::{Names, Special, compile, scalars_read};
use super::kernels;
use super::registers::{self, Registers, SCALAR, Used, VECTOR};
use super::routine;
use crate::error::{Error, ErrorKind};
use crate::ptx::{Routines, fits};
use crate::tokens::span;

/// The object with the plan's kernels added. Kernels that cannot be instrumented come back with the reason.
///
/// # Errors
/// If the level is not supported, or the object is damaged.
pub(crate) fn lower(
    object: &CodeObject<'_>,
    module: &Module,
    plan: &Plan,
) -> Result<(Vec<u8>, Vec<(String, String)>), Error> {
    fits(module, plan)?;
    if matches!(plan.request.level, Level::Events | Level::Probe | Level::Operands) {
        let what = format!("level {} can't be inserted into AMD code yet", plan.request.level.name());
        return Err(Error::new(ErrorKind::Unsupported, span(0, 0), what));
    }
    let mut added = Added { object, module, plan, code: AddedCode::default(), refused: Vec::new() };
    for group in groups(module) {
        added.group(&group);
    }
    let Added { code, refused, .. } = added;
    let bytes = object.with_code(&code).map_err(|e| Error::new(ErrorKind::Unsupported, span(0, 0), e.what))?;
    Ok((bytes, refused))
}

/// Functions that call each other, by their numbers.
fn groups(module: &Module) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..module.functions.len()).collect();
    for (from, function) in module.functions.iter().enumerate() {
        for callee in function.insts.iter().filter_map(|inst| module.callee(inst)) {
            let (a, b) = (of[from], of[callee.index()]);
            of.iter_mut().filter(|group| **group == a.max(b)).for_each(|group| *group = a.min(b));
        }
    }
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); of.len()];
    of.iter().enumerate().for_each(|(function, group)| out[*group].push(function));
    out.retain(|group| group.iter().any(|f| module.functions[*f].kind == FunctionKind::Kernel));
    out
}

/// The code that is added to an object.
struct Added<'a> {
    object: &'a CodeObject<'a>,
    module: &'a Module,
    plan: &'a Plan,
    code: AddedCode,
    /// Kernels that are not instrumented, with the reason.
    refused: Vec<(String, String)>,
}

impl Added<'_> {
    /// Adds a group of functions, or says why its kernels are not instrumented.
    fn group(&mut self, group: &[usize]) {
        let kernels = group.iter().filter(|f| self.module.functions[**f].kind == FunctionKind::Kernel);
        let names: Vec<&str> = kernels.map(|f| self.module.functions[*f].name.as_str()).collect();
        if let Err(why) = self.try_group(group) {
            let refused = names.into_iter().map(|name| (name.to_owned(), why.clone()));
            self.refused.extend(refused);
        }
    }

    /// Adds a group of functions in the first way in which it fits.
    fn try_group(&mut self, members: &[usize]) -> Result<(), String> {
        let mut how = How::default();
        loop {
            match self.with(members, how) {
                Err(Misfit::Unreached) if !how.far => how.far = true,
                Err(Misfit::Registers(SCALAR)) if !how.borrows && members.len() == 1 => how.borrows = true,
                Err(misfit) => return Err(misfit.to_string()),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn with(&mut self, group: &[usize], how: How) -> Result<(), Misfit> {
        let recorded = |f: &usize| self.plan.functions.get(*f).is_some_and(|plan| plan.skipped.is_none());
        let copied: Vec<usize> = group.iter().copied().filter(recorded).collect();
        let lanes = if self.module.warp_lanes == 32 { 32 } else { 64 };
        let mut asm = Assembler::new(self.object.target.target, lanes);
        let routines = Routines::new(self.module, self.plan);
        let mut used = used(self.module, group)?;
        let mut at_begin = 0;
        for kernel in copied.iter().filter_map(|f| self.kernel(*f)) {
            let initial = kernels::at_begin(&kernels::descriptor(self.object, kernel)?);
            at_begin = at_begin.max(initial.scalar);
            used = used.max(initial);
        }
        let counters = |f: &usize| {
            let function = *f;
            routines.counters(function).map(move |(name, size)| (counter(&name, function), size))
        };
        let state = routines.state().chain(copied.iter().flat_map(counters));
        let borrow = match (how.borrows, copied.as_slice()) {
            (true, [f]) => Some(self.borrowed(&routines, *f, asm.target, at_begin)?),
            _ => None,
        };
        let registers = Registers::above(used, asm.target, lanes, state, borrow)?;
        if copied.len() > 1 && is_recursive(self.module, group) {
            return Err(Misfit::Other("its functions call each other in a circle".to_owned()));
        }
        let entries: FxHashMap<usize, Label> = copied.iter().map(|f| (*f, asm.label())).collect();
        let mut group = Group {
            added: self,
            asm,
            routines,
            registers,
            entries,
            peak: Used::default(),
            places: 0,
            far: how.far,
        };
        let mut descriptors = Vec::new();
        let mut ends = Vec::new();
        for f in &copied {
            // Hardware fetches kernels from multiples of 256 bytes.
            while !group.asm.len().is_multiple_of(64) {
                group.asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(0)]);
            }
            let descriptor = group.function(*f)?;
            descriptors.extend(descriptor.map(|d| (*f, d)));
            ends.push(group.asm.len());
        }
        let Group { asm, entries, peak, .. } = group;
        if asm.has_unreached() {
            return Err(Misfit::Unreached);
        }
        let offset = self.code.text.len().next_multiple_of(256) as u64;
        let place = |f: &usize| asm.place_of(entries[f]).map_or(offset, |at| offset + 4 * at as u64);
        let (mut functions, mut kernels) = (Vec::new(), Vec::new());
        for (f, end) in copied.iter().zip(ends) {
            let name = format!("{}{INSTRUMENTED}", self.module.functions[*f].name);
            functions.push(AddedFunction { name, offset: place(f), size: offset + 4 * end as u64 - place(f) });
        }
        for (f, mut descriptor) in descriptors {
            kernels::set_registers(&mut descriptor, peak)?;
            let name = format!("{}{INSTRUMENTED}", self.module.functions[f].name);
            kernels.push((name, descriptor, place(&f)));
        }
        let text = asm.finish(self.object.added_address() + offset)?;
        self.code.text.resize(usize::try_from(offset).unwrap_or(usize::MAX), 0);
        self.code.text.extend(text);
        self.code.functions.extend(functions);
        self.code.kernels.extend(kernels);
        Ok(())
    }
}

impl<'a> Added<'a> {
    /// The first of the scalar registers to borrow for a function: the highest ones that hold nothing when it
    /// begins, and that no routine reads.
    fn borrowed(
        &self,
        routines: &Routines<'_>,
        f: usize,
        target: Target,
        at_begin: u32,
    ) -> Result<u32, Misfit> {
        let lanes = self.module.warp_lanes;
        let names = names(&self.module.functions[f], lanes);
        let mut read = FxHashSet::default();
        for insertion in self.plan.functions.get(f).map_or(&[][..], |plan| &plan.insertions) {
            let text = routines.text(f, insertion);
            let lines = routine::lines(&text).map_err(|e| Misfit::Other(e.message))?;
            read.extend(scalars_read(&lines, &names).into_iter().map(u32::from));
        }
        let count = registers::scalars(lanes as u8);
        let first = registers::scalar_end(target) - count;
        let free = |from: &u32| !(*from..from + count).any(|register| read.contains(&register));
        let from = at_begin.next_multiple_of(2)..=first;
        from.rev().filter(|first| first % 2 == 0).find(free).ok_or(Misfit::Registers(SCALAR))
    }

    /// What the object says of a function of the view, if it is a kernel.
    fn kernel(&self, f: usize) -> Option<&'a Kernel> {
        let function = self.module.functions.get(f).filter(|f| f.kind == FunctionKind::Kernel)?;
        self.object.kernels.iter().find(|kernel| kernel.name == function.name)
    }
}

/// How a group is copied.
#[derive(Clone, Copy, Default)]
struct How {
    /// Branches of the original are by address, as some are too long.
    far: bool,
    /// Inserted code borrows scalar registers.
    borrows: bool,
}

/// Why a group is not copied.
enum Misfit {
    /// A branch does not reach its target.
    Unreached,
    /// Too few registers of a bank are free.
    Registers(&'static str),
    Other(String),
}

impl From<String> for Misfit {
    fn from(what: String) -> Misfit {
        let bank = [SCALAR, VECTOR].into_iter().find(|bank| what == registers::too_few(bank));
        bank.map_or(Misfit::Other(what), Misfit::Registers)
    }
}

impl From<&str> for Misfit {
    fn from(what: &str) -> Misfit {
        Misfit::Other(what.to_owned())
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misfit::Unreached => f.write_str("a branch inside of inserted code is too long"),
            Misfit::Registers(bank) => f.write_str(&registers::too_few(bank)),
            Misfit::Other(what) => f.write_str(what),
        }
    }
}

/// The registers of a function by name, and whether it is a predicate.
fn names(function: &Function, lanes: u32) -> FxHashMap<(String, bool), Register> {
    let map = RegisterMap::of(function, lanes);
    map.iter().map(|(register, _)| ((register.name(lanes), register.ty() == Type::Pred), register)).collect()
}

/// The register of a counter that belongs to an activation of a function.
fn counter(name: &str, function: usize) -> String {
    format!("{name}@{function}")
}

/// Registers that functions name.
fn used(module: &Module, group: &[usize]) -> Result<Used, String> {
    let mut used = Used::default();
    for inst in group.iter().flat_map(|f| &module.functions[*f].insts) {
        let Some(native) = inst.semantics.native.get::<Native>() else { continue };
        let unknown = || format!("it is not known which registers `{}` uses", native.inst.print());
        let registers = native.inst.registers().ok_or_else(unknown)?;
        for reg in registers.reads.iter().chain(&registers.writes) {
            match reg {
                Reg::V(n) => used.vector = used.vector.max(u32::from(*n) + 1),
                Reg::S(n) => used.scalar = used.scalar.max(u32::from(*n) + 1),
                _ => {}
            }
        }
    }
    Ok(used)
}

/// Whether a function of a group may call itself.
fn is_recursive(module: &Module, group: &[usize]) -> bool {
    let callees = |f: usize| module.functions[f].insts.iter().filter_map(|i| Some(module.callee(i)?.index()));
    // Functions that call nothing, or only such ones, are taken away.
    let mut left: FxHashSet<usize> = group.iter().copied().collect();
    loop {
        let leaf = left.iter().copied().find(|f| !callees(*f).any(|callee| left.contains(&callee)));
        match leaf {
            Some(leaf) => left.remove(&leaf),
            None => return !left.is_empty(),
        };
    }
}

/// A group of functions under construction.
struct Group<'g, 'a> {
    added: &'g Added<'a>,
    asm: Assembler,
    routines: Routines<'a>,
    registers: Registers,
    entries: FxHashMap<usize, Label>,
    peak: Used,
    /// Number of places so far at which lanes wait for their wave.
    places: u32,
    /// Whether branches of the original are by address, as some are too long.
    far: bool,
}

impl Group<'_, '_> {
    /// Copies a function. A kernel's descriptor comes back.
    fn function(&mut self, f: usize) -> Result<Option<prlx_isa::amdgpu::object::Descriptor>, String> {
        let (object, module) = (self.added.object, self.added.module);
        let function = &module.functions[f];
        let empty = FunctionPlan::default();
        let of_plan = self.added.plan.functions.get(f).unwrap_or(&empty);
        let kernel = self.added.kernel(f);
        let lanes = u32::from(self.asm.lanes);
        let mut copy = Copy {
            function,
            names: names(function, lanes),
            registers: with_counters(&self.registers, f),
            insertions: by_place(&of_plan.insertions),
            labels: function.insts.iter().map(|_| self.asm.label()).collect(),
            waits: FxHashMap::default(),
            exec: RegisterMap::of(function, lanes).get(Register::Mask(Reg::ExecLo)),
            f,
        };
        if tracks(self.added.plan) {
            copy.waits = self.waits(function, copy.exec);
        }
        let clauses = copy.broken_clauses();
        let entry = self.entries[&f];
        let mut descriptor = None;
        let mut from = 0;
        let mut specials = FxHashMap::default();
        self.asm.place(entry);
        if let Some(kernel) = kernel {
            let mut now = kernels::descriptor(object, kernel)?;
            if kernel.descriptor.preload().is_some() {
                from = self.preload_prologue(&copy)?;
            }
            specials = kernels::specials(&now);
            kernels::begin(&mut self.asm, &copy.registers, &now, kernels::hidden_offset(object, kernel));
            copy.registers.keep(&mut self.asm);
            let text = self.routines.warp_index(f);
            let text = format!("{text}\nmov.uniform.u32 {}, %prlx_warp;", crate::ptx::GRID_WARP);
            self.routine(&copy, &text, false, &specials)?;
            kernels::restore(&mut self.asm, &kernel.descriptor, &now);
            now.set_entry_offset(0);
            descriptor = Some(now);
        }
        self.insert(&copy, At::Entry, false, &specials)?;
        for at in from..function.insts.len() {
            let id = InstId(at as u32);
            self.asm.place(copy.labels[at]);
            let live = copy.scc_is_live(at);
            if let Some(number) = copy.waits.get(&at).copied() {
                self.rejoin(&copy, number, live);
            }
            self.insert(&copy, At::Before(id), live, &specials)?;
            let inst = &function.insts[at];
            if let Some(native) = inst.semantics.native.get::<Native>() {
                if let Some(number) = copy.leaves(at).and_then(|to| copy.waits.get(&to).copied()) {
                    self.depart(&copy, number, live);
                }
                let broken = clauses.contains(&at);
                self.machine(&copy, inst, native, broken, live)?;
            }
            self.insert(&copy, At::After(id), copy.scc_is_live(at + 1), &specials)?;
        }
        Ok(descriptor)
    }

    /// Copies the bytes that hardware skips if it has preloaded the arguments. Returns the first instruction
    /// behind them.
    fn preload_prologue(&mut self, copy: &Copy<'_>) -> Result<usize, String> {
        let begin = self.asm.len();
        let skipped = PRELOAD_PROLOGUE as usize / 4;
        for (at, inst) in copy.function.insts.iter().enumerate() {
            let Some(native) = inst.semantics.native.get::<Native>() else { continue };
            if self.asm.len() - begin == skipped {
                return Ok(at);
            }
            if native.inst.is_pc_relative() {
                // Its only branch goes to the code behind it.
                let target = copy.target(at).ok_or("the code that loads arguments is not understood")?;
                self.asm.branch(&native.inst, target);
            } else {
                self.asm.raw(native.inst.words());
            }
            if self.asm.len() - begin > skipped {
                break;
            }
        }
        Err("the code that loads arguments is not understood".to_owned())
    }

    /// Places where lanes wait for their wave, with a number for each.
    fn waits(&mut self, function: &Function, exec: Option<view::Reg>) -> FxHashMap<usize, u32> {
        let mut out = FxHashMap::default();
        for at in 0..function.insts.len() {
            if let Some(to) = waits_at(function, exec, at) {
                out.entry(to).or_insert_with(|| {
                    self.places += 1;
                    self.places
                });
            }
        }
        out
    }

    /// Appends the insertions at a place.
    fn insert(
        &mut self,
        copy: &Copy<'_>,
        at: At,
        live: bool,
        specials: &FxHashMap<&'static str, Special>,
    ) -> Result<(), String> {
        for insertion in copy.insertions.get(&at).map_or(&[][..], Vec::as_slice) {
            let text = self.routines.text(copy.f, insertion);
            self.routine(copy, &text, live, specials)?;
        }
        Ok(())
    }

    fn routine(
        &mut self,
        copy: &Copy<'_>,
        text: &str,
        live: bool,
        specials: &FxHashMap<&'static str, Special>,
    ) -> Result<(), String> {
        let lines = routine::lines(text).map_err(|e| e.message)?;
        if lines.is_empty() {
            return Ok(());
        }
        let names = Names { prefix: "%prlx_", function: &copy.names, specials };
        let peak = compile(&mut self.asm, &copy.registers, &names, &lines, live)?;
        self.peak = self.peak.max(peak);
        Ok(())
    }

    /// Code that uses the fixed registers and may change SCC.
    fn inserted(&mut self, live: bool, code: impl FnOnce(&mut Assembler)) {
        let (scc, zero, one) = (sgpr(self.registers.scc), Value::Integer(0), Value::Integer(1));
        self.registers.enter(&mut self.asm);
        if live {
            self.asm.emit(Encoding::Sop2, "s_cselect_b32", &[scc, one, zero]);
        }
        code(&mut self.asm);
        if live {
            self.asm.emit(Encoding::Sopc, "s_cmp_lg_u32", &[scc, zero]);
        }
        self.registers.leave(&mut self.asm);
    }

    /// Computes an address into a register of the function or, if there is none, into one of its own.
    fn address(&mut self, into: Option<u8>, to: Destination, live: bool) -> Result<u8, String> {
        let pair = into.unwrap_or(self.registers.jump);
        if self.registers.borrowed.is_none() {
            self.inserted(live, |asm| asm.address(pair, to));
        } else if into.is_some() && !live {
            self.asm.address(pair, to);
        } else {
            return Err(registers::too_few(SCALAR));
        }
        Ok(pair)
    }

    /// Before a branch on EXEC: lanes that it skips leave the wave.
    fn depart(&mut self, copy: &Copy<'_>, number: u32, live: bool) {
        let Registers { present, away, masks: [leave, here, _], .. } = copy.registers;
        self.inserted(live, |asm| {
            let (two, one) = (asm.mask("s_andn2"), asm.mask("s_mov"));
            asm.emit(Encoding::Sop2, &two, &[leave, present, EXEC]);
            asm.emit(Encoding::Sop1, &one, &[here, EXEC]);
            asm.emit(Encoding::Sop1, &one, &[EXEC, leave]);
            asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(away), Value::Literal(number)]);
            asm.emit(Encoding::Sop1, &one, &[EXEC, here]);
            asm.emit(Encoding::Sop2, &two, &[present, present, leave]);
        });
    }

    /// Lanes that wait here are with the wave again.
    fn rejoin(&mut self, copy: &Copy<'_>, number: u32, live: bool) {
        let Registers { launched, present, away, scratch, masks: [back, here, _], .. } = copy.registers;
        self.inserted(live, |asm| {
            let (or, one) = (asm.mask("s_or"), asm.mask("s_mov"));
            asm.emit(Encoding::Sop1, &one, &[here, EXEC]);
            asm.emit(Encoding::Sop1, &one, &[EXEC, launched]);
            asm.emit(Encoding::Vop1, "v_mov_b32", &[vgpr(scratch), Value::Literal(number)]);
            asm.emit(Encoding::Vop3, "v_cmp_eq_u32", &[back, vgpr(away), vgpr(scratch)]);
            asm.emit(Encoding::Sop2, &or, &[present, present, back]);
            asm.emit(Encoding::Sop1, &one, &[EXEC, here]);
        });
    }

    /// Copies an instruction.
    fn machine(
        &mut self,
        copy: &Copy<'_>,
        inst: &view::Inst,
        native: &Native,
        broken: bool,
        live: bool,
    ) -> Result<(), String> {
        let machine = &native.inst;
        let place = native.address + 4 * machine.words().len() as u64;
        let name = machine.name();
        let at = || format!("`{}` at {:#x}", machine.print(), native.address);
        if broken {
            self.asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(0)]);
            return Ok(());
        }
        let callee = self.added.module.callee(inst).and_then(|f| self.entries.get(&f.index()).copied());
        if let ("s_swappc_b64" | "s_setpc_b64", Some(entry)) = (name, callee) {
            return self.to_address(machine, Destination::Label(entry), live);
        }
        match (name, machine.branch_offset()) {
            ("s_getpc_b64", _) => {
                let into = machine.operands().first().and_then(|o| match o.value {
                    Value::Registers { bank: prlx_isa::amdgpu::inst::Bank::Scalar, first, .. } => Some(first),
                    _ => None,
                });
                let into = into.ok_or_else(|| format!("{} writes another register than a pair", at()))?;
                self.address(Some(into), Destination::Address(place), live)?;
            }
            ("s_setpc_b64", _) => match copy.label_of(inst) {
                Some(to) => self.to_address(machine, Destination::Label(to), live)?,
                None => self.asm.raw(machine.words()),
            },
            ("s_call_b64", Some(_)) => match callee {
                Some(entry) => self.asm.branch(machine, entry),
                None => return Err(format!("{} calls code that is not copied", at())),
            },
            (_, Some(_)) => {
                let to = copy.label_of(inst).ok_or_else(|| format!("{} leaves the function", at()))?;
                match self.far {
                    false => self.asm.branch(machine, to),
                    true => self.far_branch(name, to, live)?,
                }
            }
            (_, None) if name.ends_with("_pc_rel") => {
                // A hint, which would name other code.
                if machine.class() != Some(MachineClass::ScalarMemory) || !name.contains("prefetch") {
                    return Err(format!("{} depends on its place", at()));
                }
            }
            _ => self.asm.raw(machine.words()),
        }
        Ok(())
    }

    /// A branch to any distance.
    fn far_branch(&mut self, name: &str, to: Label, live: bool) -> Result<(), String> {
        let behind = self.asm.label();
        if name != "s_branch" {
            let conditions = ["scc0", "scc1", "vccz", "vccnz", "execz", "execnz"];
            let condition = conditions.iter().position(|c| name.strip_prefix("s_cbranch_") == Some(c));
            let condition = condition.ok_or_else(|| format!("`{name}` is too far from its target"))?;
            self.asm.jump(&format!("s_cbranch_{}", conditions[condition ^ 1]), behind);
        }
        let pair = self.address(None, Destination::Label(to), live)?;
        self.asm.emit(Encoding::Sop1, "s_setpc_b64", &[super::assembler::sgprs(pair, 2)]);
        self.asm.place(behind);
        Ok(())
    }

    /// A jump or call through registers, to an address that code computes just before.
    fn to_address(&mut self, machine: &Inst, to: Destination, live: bool) -> Result<(), String> {
        let pair = self.address(None, to, live)?;
        let source = super::assembler::sgprs(pair, 2);
        let mut operands: Vec<Value> = machine.operands().iter().map(|o| o.value).collect();
        match operands.last_mut() {
            Some(last) => *last = source,
            None => return Err("a jump has no operand".to_owned()),
        }
        self.asm.emit(Encoding::Sop1, machine.name(), &operands);
        Ok(())
    }
}

/// Whether insertions need to know which lanes are where the wave is: if there are any but at begins and ends.
fn tracks(plan: &Plan) -> bool {
    plan.functions.iter().flat_map(|f| &f.insertions).any(|i| {
        !matches!(i.action, Action::Begin | Action::End { .. } | Action::Save | Action::Restore | Action::Reserve { bits: 0 })
    })
}

/// The registers of one function: its counters have no number in their names.
fn with_counters(registers: &Registers, function: usize) -> Registers {
    let mut out = registers.clone();
    let suffix = counter("", function);
    out.state = registers
        .state
        .iter()
        .filter_map(|(name, place)| match name.split_once('@') {
            Some((own, _)) => name.ends_with(&suffix).then(|| (own.to_owned(), *place)),
            None => Some((name.clone(), *place)),
        })
        .collect();
    out
}

fn by_place(insertions: &[Insertion]) -> FxHashMap<At, Vec<Insertion>> {
    let mut out: FxHashMap<At, Vec<Insertion>> = FxHashMap::default();
    for insertion in insertions {
        out.entry(insertion.at).or_default().push(insertion.clone());
    }
    out
}

/// Where lanes wait that a branch on EXEC skips; `None` for other instructions.
fn waits_at(function: &Function, exec: Option<view::Reg>, at: usize) -> Option<usize> {
    let inst = function.insts.get(at)?;
    let native = inst.semantics.native.get::<Native>()?;
    // Other branches on EXEC are decisions of the whole wave.
    inst.guard.filter(|guard| Some(guard.reg) == exec)?;
    match native.inst.name() {
        "s_cbranch_execz" => first_of(function, inst),
        "s_cbranch_execnz" => Some(at + 1),
        _ => None,
    }
}

/// The first instruction of the block that a branch goes to.
fn first_of(function: &Function, inst: &view::Inst) -> Option<usize> {
    let label = inst.operands.iter().zip(&inst.roles).find_map(|(operand, role)| match (operand, role) {
        (Operand::Label(block), Role::Target) => Some(*block),
        _ => None,
    });
    Some(function.blocks.get(label?.index())?.insts.start as usize)
}

/// A function that is copied.
struct Copy<'c> {
    function: &'c Function,
    names: FxHashMap<(String, bool), Register>,
    registers: Registers,
    insertions: FxHashMap<At, Vec<Insertion>>,
    /// By instruction: the place of its copy, and of what is inserted before it.
    labels: Vec<Label>,
    /// Instructions before which lanes wait for their wave, with the number of the place.
    waits: FxHashMap<usize, u32>,
    exec: Option<view::Reg>,
    f: usize,
}

impl Copy<'_> {
    /// Where the lanes wait that a branch on EXEC skips.
    fn leaves(&self, at: usize) -> Option<usize> {
        waits_at(self.function, self.exec, at)
    }

    fn label_of(&self, inst: &view::Inst) -> Option<Label> {
        self.labels.get(first_of(self.function, inst)?).copied()
    }

    fn target(&self, at: usize) -> Option<Label> {
        self.label_of(self.function.insts.get(at)?)
    }

    /// Whether SCC may be read before it is written, from an instruction on. Blocks behind this one are
    /// assumed to read it.
    fn scc_is_live(&self, from: usize) -> bool {
        for inst in self.function.insts.iter().skip(from) {
            let Some(native) = inst.semantics.native.get::<Native>() else { continue };
            let Some(registers) = native.inst.registers() else { return true };
            if registers.reads.contains(&Reg::Scc) {
                return true;
            }
            if registers.writes.contains(&Reg::Scc) || native.inst.class() == Some(MachineClass::End) {
                return false;
            }
            if matches!(inst.class, Class::Branch | Class::Call | Class::Return | Class::Exit) {
                return true;
            }
        }
        false
    }

    /// `s_clause` instructions whose clause would have insertions in it.
    fn broken_clauses(&self) -> FxHashSet<usize> {
        let mut out = FxHashSet::default();
        for (at, inst) in self.function.insts.iter().enumerate() {
            let native = inst.semantics.native.get::<Native>();
            let Some(native) = native.filter(|n| n.inst.name() == "s_clause") else { continue };
            let length = native.inst.words().first().map_or(0, |word| word & 0x3f) as usize + 1;
            let inside = at + 1..(at + 1 + length).min(self.function.insts.len());
            let has = |place| self.insertions.contains_key(&place);
            let broken = has(At::After(InstId(at as u32)))
                || inside.clone().any(|i| {
                    let id = InstId(i as u32);
                    has(At::Before(id)) || i + 1 < inside.end && has(At::After(id)) || self.waits.contains_key(&i)
                });
            if broken {
                out.insert(at);
            }
        }
        out
    }
}
