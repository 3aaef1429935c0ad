//! The code that a plan adds to an object: groups of functions that call each other, each copied in the first
//! way that fits.

use std::cell::LazyCell;

use prlx_isa::InstructionSet;
use prlx_isa::amdgpu::inst::{Encoding, Reg, Value};
use prlx_isa::amdgpu::object::{AddedCode, AddedFunction, CodeObject, Field, Kernel};
use prlx_isa::amdgpu::{INSTRUCTION_SET, Native, Target};
use prlx_isa::view::{self, Class, FunctionKind, Module};
use prlx_plan::{Plan, RegisterChoice};
use prlx_trace::device::INSTRUMENTED;
use prlx_trace::kernel::Level;
use rustc_hash::{FxHashMap, FxHashSet};

use super::assembler::{Assembler, Label};
use super::copy::{Group, kernel, tracks};
use super::function::counter;
use super::kernels;
use super::misfit::{Bank, Misfit};
use super::numbers::{Set, Used};
use super::piece::Piece;
use super::registers::{self, Registers, Vectors};
use super::spill::Store;
use super::waits;
use crate::error::{Error, ErrorKind};
use crate::object_target::{LoweredObject, ObjectTarget};
use crate::ptx::Routines;
use crate::tokens::span;
use crate::verify::amdgpu::{InsertedPieces, samples, verify};

/// Lowers plans to AMD machine code.
#[derive(Debug)]
pub struct AmdGpu;

impl ObjectTarget for AmdGpu {
    fn instruction_set(&self) -> InstructionSet {
        INSTRUCTION_SET
    }

    fn lower(&self, bytes: &[u8], module: &Module, plan: &Plan) -> Result<LoweredObject, Error> {
        let unread = |e: prlx_isa::image::Error| Error::new(ErrorKind::Unsupported, span(0, 0), e.what);
        let samples = LazyCell::new(|| samples(module.warp_lanes));
        lower(&CodeObject::read(bytes).map_err(unread)?, module, plan, &|code| verify(&samples, code))
    }
}

/// The object with the plan's kernels added. `check` looks at the code of each group of functions.
///
/// # Errors
/// If the level is not supported, the object is damaged, or `check` fails.
pub(crate) fn lower(
    object: &CodeObject<'_>,
    module: &Module,
    plan: &Plan,
    check: &dyn Fn(&InsertedPieces<'_>) -> Result<(), String>,
) -> Result<LoweredObject, Error> {
    let routines = &Routines::new(module, plan);
    let mut added = Added {
        object,
        module,
        plan,
        routines,
        code: AddedCode::default(),
        refused: Vec::new(),
        tracks: tracks(plan),
        check,
    };
    for group in groups(module) {
        let wrong = |what| Error::new(ErrorKind::Verify, span(0, 0), what);
        added.group(&group).map_err(wrong)?;
    }
    let Added { code, refused, .. } = added;
    let bytes =
        object.with_code(&code).map_err(|e| Error::new(ErrorKind::Unsupported, span(0, 0), e.what))?;
    Ok(LoweredObject { bytes, refused })
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
    routines: &'a Routines<'a>,
    code: AddedCode,
    /// Kernels that are not instrumented, with the reason.
    refused: Vec<(String, String)>,
    /// Whether insertions need to know which lanes are where the wave is.
    tracks: bool,
    /// What looks at finished code.
    check: &'a dyn Fn(&InsertedPieces<'_>) -> Result<(), String>,
}

impl Added<'_> {
    /// Adds a group of functions, or says why its kernels are not instrumented. If not all of them fit, each
    /// kernel gets copies of its own of what it calls, and only then vector registers are spilled: other
    /// kernels should not be slower for it.
    ///
    /// # Errors
    /// If inserted code does not do what it must.
    fn group(&mut self, group: &[usize]) -> Result<(), String> {
        let is_kernel = |f: &&usize| self.module.functions[**f].kind == FunctionKind::Kernel;
        let kernels: Vec<usize> = group.iter().filter(is_kernel).copied().collect();
        let why = match self.try_group(group, None, kernels.len() == 1) {
            Ok(()) => return Ok(()),
            Err(Misfit::Wrong(what)) => return Err(what),
            Err(why) => why,
        };
        for kernel in kernels.iter().copied() {
            let result = match kernels.len() {
                1 => Err(why.clone()),
                _ => self.try_group(&called_by(self.module, kernel), Some(kernel), true),
            };
            match result {
                Ok(()) => {}
                Err(Misfit::Wrong(what)) => return Err(what),
                Err(why) => {
                    self.refused.push((self.module.functions[kernel].name.clone(), why.to_string()));
                }
            }
        }
        Ok(())
    }

    /// The name of the copy of a function, if the copies are `of` a kernel alone.
    fn name(&self, f: usize, of: Option<usize>) -> String {
        let name = |f: usize| self.module.functions[f].name.as_str();
        match of.filter(|kernel| *kernel != f) {
            Some(kernel) => format!("{}.{}{INSTRUMENTED}", name(kernel), name(f)),
            None => format!("{}{INSTRUMENTED}", name(f)),
        }
    }

    /// Adds a group of functions in the first way in which it fits.
    fn try_group(&mut self, members: &[usize], of: Option<usize>, may_spill: bool) -> Result<(), Misfit> {
        let mut how = How { of, ..How::default() };
        let choice = self.plan.request.registers;
        how.spills = choice != RegisterChoice::Free;
        how.borrows = choice == RegisterChoice::Scarce;
        loop {
            match self.with(members, how) {
                Err(Misfit::Unreached) if !how.far => how.far = true,
                Err(Misfit::Registers(Bank::Scalar)) if !how.borrows => how.borrows = true,
                Err(Misfit::Registers(Bank::Vector)) if may_spill && !how.spills => how.spills = true,
                result => return result,
            }
        }
    }

    fn with(&mut self, group: &[usize], how: How) -> Result<(), Misfit> {
        let recorded = |f: &usize| self.plan.functions.get(*f).is_some_and(|plan| plan.skipped.is_none());
        let copied: Vec<usize> = group.iter().copied().filter(recorded).collect();
        let lanes = if self.module.warp_lanes == 32 { 32 } else { 64 };
        let mut asm = Assembler::new(self.object.target.target, lanes);
        let routines = self.routines;
        let Named { mut used, named, matrix } = used(self.module, group)?;
        let in_scratch = how.spills && Store::is_scratch(asm.target);
        let (mut initial, mut scratch) = (Used::default(), 0);
        for kernel in copied.iter().filter_map(|f| kernel(self.object, self.module, *f)) {
            let descriptor = kernels::descriptor(self.object, kernel, in_scratch)?;
            initial = initial.max(kernels::at_begin(&descriptor));
            scratch = scratch.max(kernel.descriptor.get(Field::PrivateSegment).unwrap_or(0));
        }
        used = used.max(initial);
        let counters = |f: &usize| {
            let function = *f;
            routines.counters(function).map(move |(name, size)| (counter(&name, function), size))
        };
        let visits = copied.iter().flat_map(|f| routines.visits(*f));
        let kept = match self.plan.request.level {
            Level::Probe => routines.kept_specials(&copied),
            _ => Vec::new(),
        };
        let specials = kept.iter().map(|(_, name)| ((*name).to_owned(), 4));
        let state = routines.state().chain(copied.iter().flat_map(counters)).chain(visits).chain(specials);
        let counts = self.plan.request.level == Level::Events;
        let scalars = registers::scalars(lanes, counts);
        let borrow = if how.borrows { Some(borrowed(asm.target, scalars, initial.scalar)?) } else { None };
        let slots = how.spills.then(|| Store::behind(asm.target, used.accumulation, scratch));
        let named = match self.plan.request.registers {
            RegisterChoice::Free => named.or(Set::below(initial)),
            _ => Set::ALL,
        };
        let vectors = match slots {
            Some(store) => Vectors::Spilled { free: named.others(), store, matrix },
            None => Vectors::Free,
        };
        let mut registers = Registers::above(used, asm.target, lanes, state, borrow, counts, &vectors)?;
        if copied.len() > 1 && is_recursive(self.module, group) {
            return Err("its functions call each other in a circle".into());
        }
        registers.exact_floats = exact_floats(self.object, self.module, group);
        let entries: FxHashMap<usize, Label> = copied.iter().map(|f| (*f, asm.label())).collect();
        let far_entries = copied.iter().map(|f| (*f, asm.label())).collect();
        let mut group = Group {
            object: self.object,
            module: self.module,
            plan: self.plan,
            asm,
            routines,
            registers,
            entries,
            far_entries,
            peak: Used::default(),
            places: 0,
            far: how.far,
            tracks: self.tracks,
            kept,
            named: (how.spills || how.borrows).then(|| self.named(group)),
            used: Set::below(used),
            pieces: Vec::new(),
        };
        let mut descriptors = Vec::new();
        let mut ends = Vec::new();
        for f in &copied {
            // Hardware fetches kernels from multiples of 256 bytes.
            while !group.asm.len().is_multiple_of(64) {
                group.asm.emit(Encoding::Sopp, "s_nop", &[Value::Immediate(0)]);
            }
            group.asm.placed.clear();
            let from = group.asm.len();
            let descriptor = group.function(*f)?;
            let placed = waits::insert(&mut group.asm, from, descriptor.is_some())?;
            group.locate_pieces(&placed);
            descriptors.extend(descriptor.map(|d| (*f, d)));
            ends.push(group.asm.len());
        }
        let Group { asm, entries, peak, pieces, .. } = group;
        if asm.has_unreached() {
            return Err(Misfit::Unreached);
        }
        let offset = self.code.text.len().next_multiple_of(256) as u64;
        let place = |f: &usize| asm.place_of(entries[f]).map_or(offset, |at| offset + 4 * at as u64);
        let (mut functions, mut kernels) = (Vec::new(), Vec::new());
        for (f, end) in copied.iter().zip(ends) {
            functions.push(AddedFunction {
                name: self.name(*f, how.of),
                offset: place(f),
                size: offset + 4 * end as u64 - place(f),
            });
        }
        for (f, mut descriptor) in descriptors {
            kernels::set_registers(&mut descriptor, peak, slots)?;
            kernels.push((self.name(f, how.of), descriptor, place(&f)));
        }
        let text = self.finished(asm, &pieces, offset)?;
        self.code.text.resize(usize::try_from(offset).unwrap_or(usize::MAX), 0);
        self.code.text.extend(text);
        self.code.functions.extend(functions);
        self.code.kernels.extend(kernels);
        Ok(())
    }
}

impl Added<'_> {
    /// The code of a group, which begins at this offset of all added code. It was looked at.
    fn finished(&self, asm: Assembler, pieces: &[Piece], offset: u64) -> Result<Vec<u8>, Misfit> {
        let (target, lanes, module) = (asm.target, asm.lanes, self.module);
        let text = asm.finish(self.object.added_address() + offset)?;
        let words: Vec<u32> = text.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let code = InsertedPieces { target, lanes, module, words: &words, pieces };
        (self.check)(&code).map_err(Misfit::Wrong)?;
        Ok(text)
    }

    /// By function, the registers that it and all that it calls name; `None` if one calls through a pointer.
    fn named(&self, group: &[usize]) -> FxHashMap<usize, Option<Set>> {
        let named = |f: &usize| {
            let all = called_by(self.module, *f);
            let named = used(self.module, &all).ok().filter(|_| !calls_through_pointers(self.module, &all));
            (*f, named.map(|named| named.named))
        };
        group.iter().map(named).collect()
    }
}

/// Whether kernels of these functions round to nearest and keep denormals, and none changes MODE.
fn exact_floats(object: &CodeObject<'_>, module: &Module, group: &[usize]) -> bool {
    let writes = |inst: &view::Inst| {
        let native = inst.semantics.native.get::<Native>();
        native.is_some_and(|n| n.inst.registers().is_none_or(|r| r.writes.contains(&Reg::Mode)))
    };
    let exact = |kernel: &Kernel| {
        let field = |field| kernel.descriptor.get(field).unwrap_or(0);
        // 0: to nearest. 3: denormals of sources and of results are kept.
        [Field::Round32, Field::Round16And64].map(field) == [0, 0]
            && [Field::Denorm32, Field::Denorm16And64].map(field) == [3, 3]
    };
    let kernels = group.iter().filter_map(|f| kernel(object, module, *f));
    !group.iter().flat_map(|f| &module.functions[*f].insts).any(writes) && kernels.into_iter().all(exact)
}

/// The first of the scalar registers to borrow: the highest ones, which hold nothing when a kernel begins.
fn borrowed(target: Target, scalars: u32, at_begin: u32) -> Result<u32, Misfit> {
    let first = (registers::scalar_end(target) - scalars) & !1;
    if first < at_begin { Err(Misfit::Registers(Bank::Scalar)) } else { Ok(first) }
}

/// How a group is copied.
#[derive(Clone, Copy, Default)]
struct How {
    /// Branches of the original are by address, as some are too long.
    far: bool,
    /// Inserted code borrows scalar registers.
    borrows: bool,
    /// Inserted code uses vector registers of the functions.
    spills: bool,
    /// The copies are this kernel's alone.
    of: Option<usize>,
}

/// Registers of functions.
struct Named {
    used: Used,
    /// Those that they name.
    named: Set,
    /// Whether they have matrix products.
    matrix: bool,
}

/// Whether one of these functions calls through a pointer.
fn calls_through_pointers(module: &Module, functions: &[usize]) -> bool {
    let mut insts = functions.iter().flat_map(|f| &module.functions[*f].insts);
    insts.any(|inst| inst.class == Class::Call && module.callee(inst).is_none())
}

/// Registers that functions name. If they call through pointers, those of all device functions are among
/// them.
fn used(module: &Module, group: &[usize]) -> Result<Named, String> {
    let mut out = Named { used: Used::default(), named: Set::default(), matrix: false };
    let insts = || group.iter().flat_map(|f| &module.functions[*f].insts);
    let unknown = insts().any(|inst| inst.class == Class::Call && module.callee(inst).is_none());
    let others = module.functions.iter().filter(|f| unknown && f.kind == FunctionKind::Device);
    for inst in insts().chain(others.flat_map(|f| &f.insts)) {
        let Some(native) = inst.semantics.native.get::<Native>() else { continue };
        let (text, at) = (native.inst.print(), native.address);
        let unknown = || format!("it is not known which registers `{text}` at {at:#x} uses");
        let registers = native.inst.registers().ok_or_else(unknown)?;
        out.matrix |= inst.class == Class::Matrix;
        for reg in registers.reads.iter().chain(&registers.writes) {
            out.named.insert(*reg);
            let used = &mut out.used;
            match reg {
                Reg::V(n) => used.vector = used.vector.max(u32::from(*n) + 1),
                Reg::S(n) => used.scalar = used.scalar.max(u32::from(*n) + 1),
                Reg::A(n) => used.accumulation = used.accumulation.max(u32::from(*n) + 1),
                _ => {}
            }
        }
    }
    Ok(out)
}

/// A kernel, and all functions that it calls, in order.
fn called_by(module: &Module, kernel: usize) -> Vec<usize> {
    let mut all = vec![kernel];
    let mut done = 0;
    while let Some(f) = all.get(done).copied() {
        done += 1;
        for callee in module.functions[f].insts.iter().filter_map(|inst| module.callee(inst)) {
            if !all.contains(&callee.index()) {
                all.push(callee.index());
            }
        }
    }
    all.sort_unstable();
    all
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
