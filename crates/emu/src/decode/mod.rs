//! Decoding: one kernel and all that it can reach become [`Code`], once.
//!
//! Names are resolved to planes and addresses, operations to function pointers. An instruction that the device can't do is
//! refused here, with all others of the kernel, before anything runs; what only other kernels of the module use does not
//! matter.
//!
//! Holds: blocks keep their order in the source, which is what "lowest step first" needs to meet again at joins.
//!
//! Misses: registers are not shared between values that never live at once.

mod bind;
mod control;
mod copies;
mod inst;
mod matrix;
mod wgmma;

use std::sync::Arc;

use prlx_driver::{Error, ErrorKind};
use prlx_isa::ptx::Op as Ptx;
use prlx_isa::view::{
    BlockId, Class, FuncId, Function, FunctionKind, InstId, Module, Operand, Space, SymbolId,
};
use prlx_plan::{Action, At, Plan, SpanBegin};

use crate::calibration::Calibration;
use crate::code::{Code, Entry, Hook, Op, Saved, Slot, Value};
use bind::{Binder, Count, bits, kind};
use prlx_lanes::Simd;

/// What decoding needs to know.
pub struct Request<'a> {
    /// The module.
    pub module: &'a Module,
    /// Its text.
    pub source: &'a str,
    /// By symbol: address of global and constant variables.
    pub addresses: &'a [Option<u64>],
    /// The kernel's name.
    pub kernel: &'a str,
    /// Actions to run as hooks.
    pub plan: Option<&'a Plan>,
    /// Bytes of stack for a lane when calls recurse.
    pub stack: u32,
    /// The host.
    pub simd: Simd,
    /// Corrections of approximate operations.
    pub calibrations: &'a [Arc<Calibration>],
}

/// Bytes kept free at address 0 of the lane's local memory, so that no variable is null.
const NULL: u32 = 16;

/// Bytes of the shared memory that is reserved for the system, where code asks where that is.
pub const RESERVED: u32 = 1024;

/// Bytes of local memory of a thread, at most.
const MAX_LOCAL: u32 = 512 << 10;

/// Where to go, still as a block.
pub(crate) enum Fix {
    /// A jump: the step, and the block.
    Bra(usize, BlockId),
    /// A jump by a table: the step, the table, and its blocks.
    Brx(usize, usize, Vec<BlockId>),
}

/// Decodes a kernel.
///
/// # Errors
/// When there is no such kernel, or it has instructions that the device can't do.
pub fn decode(r: &Request<'_>) -> Result<Code, Error> {
    let module = r.module;
    let found = module.functions.iter().position(|f| f.kind == FunctionKind::Kernel && f.name == r.kernel);
    let Some(kernel) = found.map(|i| FuncId(i as u32)) else {
        let names: Vec<&str> = module
            .functions
            .iter()
            .filter(|f| f.kind == FunctionKind::Kernel)
            .map(|f| f.name.as_str())
            .collect();
        let help = if names.is_empty() {
            "the module has no kernels".into()
        } else {
            format!("there is: {}", names.join(", "))
        };
        return Err(
            Error::new(ErrorKind::NotFound, format!("the module has no kernel `{}`", r.kernel)).help(help)
        );
    };
    let (b, missing) = attempt(r, kernel);
    if !missing.is_empty() {
        return Err(refuse(&b, r, &missing));
    }
    match limits(&b) {
        Some(why) => Err(Error::new(ErrorKind::Unsupported, why)),
        None => Ok(b.code),
    }
}

/// Decodes a function and all that it can reach, as far as that goes; with what can't be done.
pub fn attempt<'a>(r: &Request<'a>, root: FuncId) -> (Binder<'a>, Vec<Missing>) {
    let module = r.module;
    let mut b = Binder::new(module, r.addresses);
    b.code.name = module.functions[root.index()].name.clone();
    b.code.kernel = root;
    b.code.calibrations = r.calibrations.to_vec();
    b.code.constants = constants(module, r.addresses);
    b.code.entries = vec![Entry { start: u32::MAX, ..Entry::default() }; module.functions.len()];
    let calls = reach(module, root);
    let reached: Vec<FuncId> =
        (0..module.functions.len() as u32).map(FuncId).filter(|f| calls[f.index()].is_some()).collect();
    let recursive = |f: FuncId| cycles(&calls, f);
    memory(&mut b, module, root, &reached, &calls, r.stack);
    let mut missing = Vec::new();
    for &f in &reached {
        let before = b.count;
        b.func = f;
        registers(&mut b, r, f);
        let after = b.count;
        if recursive(f) {
            save(&mut b, f, before, after);
        }
    }
    b.registers = b.count;
    for &f in &reached {
        function(&mut b, r, f, &mut missing);
    }
    // All registers lie before everything else.
    let Count { w32, w64, pred } = b.registers;
    b.code.variable = [w32, w64, pred].map(|n| vec![(0, n as u16)]);
    let Count { w32, w64, pred } = b.count;
    b.code.planes = (w32 as u16, w64 as u16, pred as u16);
    b.code.recursive = reached.iter().any(|&f| recursive(f));
    (b, missing)
}

/// Where a module's constants lie: from the first to the last, for they are allocated one after the other.
fn constants(module: &Module, addresses: &[Option<u64>]) -> (u64, u64) {
    let all = module.symbols.iter().zip(addresses).filter(|(s, _)| s.space == Space::Const);
    let ranges: Vec<_> = all.filter_map(|(s, at)| at.map(|at| (at, at.saturating_add(s.size)))).collect();
    let from = ranges.iter().map(|r| r.0).min().unwrap_or(0);
    (from, ranges.iter().map(|r| r.1).max().unwrap_or(0) - from)
}

/// Why code that can be done is too large all the same.
pub fn limits(b: &Binder<'_>) -> Option<String> {
    let name = &b.code.name;
    let Count { w32, w64, pred } = b.count;
    if w32.max(w64) > u32::from(u16::MAX) || pred >= u32::from(u16::MAX >> 1) {
        let n = w32 + w64 + pred;
        return Some(format!("`{name}` and what it calls use {n} registers, more than the CPU device has"));
    }
    if b.code.steps.len() as u64 >= 1 << crate::warp::STEP_BITS {
        return Some(format!("`{name}` and what it calls are longer than the CPU device can run"));
    }
    let local = b.code.local_bytes;
    (local > MAX_LOCAL)
        .then(|| format!("`{name}` needs {local} bytes of local memory a thread; there are {MAX_LOCAL}"))
}

/// By function: the functions that it may call; `None` for those that the kernel can't reach.
fn reach(module: &Module, kernel: FuncId) -> Vec<Option<Vec<FuncId>>> {
    let body = |s: &SymbolId| module.symbols.get(s.index()).and_then(|s| s.function);
    let mut out: Vec<Option<Vec<FuncId>>> = vec![None; module.functions.len()];
    let mut taken: Vec<FuncId> =
        module.symbols.iter().flat_map(|s| s.relocs.iter().filter_map(|r| body(&r.1))).collect();
    let mut indirect = Vec::new();
    let mut work = vec![kernel];
    let mut next = 0;
    while next < work.len() || (!indirect.is_empty() && taken.iter().any(|t| !work.contains(t))) {
        if next == work.len() {
            let more: Vec<FuncId> = taken.iter().copied().filter(|t| !work.contains(t)).collect();
            work.extend(more);
            work.dedup();
            continue;
        }
        let f = work[next];
        next += 1;
        if out.get(f.index()).is_none_or(Option::is_some) {
            continue;
        }
        let mut edges = Vec::new();
        for inst in &module.functions[f.index()].insts {
            let is_call = inst.class == Class::Call;
            let mut direct = false;
            for o in &inst.operands {
                symbols(o, &mut |s| {
                    if let Some(g) = body(&s) {
                        if is_call && !direct {
                            edges.push(g);
                            direct = true;
                        } else {
                            taken.push(g);
                        }
                    } else if module.symbols.get(s.index()).is_some_and(|s| s.is_function) {
                        direct = true;
                    }
                });
            }
            if is_call && !direct {
                indirect.push(f);
            }
        }
        work.extend(edges.iter().copied());
        out[f.index()] = Some(edges);
    }
    for f in indirect {
        if let Some(edges) = &mut out[f.index()] {
            edges.extend(taken.iter().copied());
        }
    }
    out
}

fn symbols(o: &Operand, f: &mut impl FnMut(SymbolId)) {
    match o {
        Operand::Symbol(s, _) | Operand::Address(prlx_isa::view::Base::Symbol(s), _) => f(*s),
        Operand::Vector(v) | Operand::List(v) => v.iter().for_each(|o| symbols(o, f)),
        Operand::Pair(a, b) => {
            symbols(a, f);
            symbols(b, f);
        }
        Operand::Tensor(a, v) => {
            symbols(a, f);
            v.iter().for_each(|o| symbols(o, f));
        }
        _ => {}
    }
}

/// Whether `f` can be reached from itself.
fn cycles(calls: &[Option<Vec<FuncId>>], f: FuncId) -> bool {
    let mut seen = vec![false; calls.len()];
    let mut work: Vec<FuncId> = calls[f.index()].clone().unwrap_or_default();
    while let Some(g) = work.pop() {
        if g == f {
            return true;
        }
        if !std::mem::replace(&mut seen[g.index()], true) {
            work.extend(calls[g.index()].iter().flatten());
        }
    }
    false
}

/// Lays out shared memory, calls' parameters and stack frames.
fn memory(
    b: &mut Binder<'_>,
    module: &Module,
    kernel: FuncId,
    reached: &[FuncId],
    calls: &[Option<Vec<FuncId>>],
    stack: u32,
) {
    let main = &module.functions[kernel.index()];
    for (&s, &offset) in main.params.iter().zip(&main.param_offsets) {
        b.params.insert(s, offset);
    }
    let mut used = vec![false; module.symbols.len()];
    for &f in reached {
        for inst in &module.functions[f.index()].insts {
            for o in &inst.operands {
                symbols(o, &mut |s| {
                    if let Some(u) = used.get_mut(s.index()) {
                        *u = true;
                    }
                });
            }
        }
    }
    let mut shared = 0u32;
    let mut dynamic = (Vec::new(), 16u32);
    for (i, s) in module.symbols.iter().enumerate() {
        if !used[i] || !matches!(s.space, Space::Shared | Space::SharedCluster) {
            continue;
        }
        let id = SymbolId(i as u32);
        if s.size == 0 {
            dynamic.0.push(id);
            dynamic.1 = dynamic.1.max(s.align);
        } else {
            b.shared.insert(id, lay(&mut shared, s));
        }
    }
    if uses_reserved(module, reached) {
        // Cooperative groups keep barriers there (PTX ISA, Special Registers: %reserved_smem_offset_<2>).
        shared = round(shared, 16);
        b.reserved = Some(shared);
        shared += RESERVED;
    }
    if !dynamic.0.is_empty() {
        shared = round(shared, dynamic.1);
    }
    for id in dynamic.0 {
        b.shared.insert(id, shared);
    }
    b.code.static_shared = shared;
    b.code.shared = b.shared.iter().map(|(&s, &a)| (s, a)).collect();
    b.code.shared.sort_unstable();

    let mut params = NULL;
    for (i, s) in module.symbols.iter().enumerate() {
        // Variables of the module that live in local memory are every lane's own, for as long as it lives.
        if used[i] && s.owner.is_none() && s.space == Space::Local {
            let at = lay(&mut params, s);
            b.local.insert(SymbolId(i as u32), (at, false));
        }
    }
    for &f in reached {
        let function = &module.functions[f.index()];
        let start = params;
        let mut frame = 0u32;
        for (i, s) in module.symbols.iter().enumerate() {
            let id = SymbolId(i as u32);
            let formal = function.params.contains(&id) || function.returns.contains(&id);
            if s.owner != Some(f) && !formal {
                continue;
            }
            if s.space == Space::Param && !b.params.contains_key(&id) {
                let at = lay(&mut params, s);
                b.local.insert(id, (at, false));
            } else if s.space == Space::Local {
                let at = lay(&mut frame, s);
                b.local.insert(id, (at, true));
            }
        }
        b.code.entries[f.index()].frame = round(frame, 16);
        if cycles(calls, f) {
            b.code.entries[f.index()].saved = Some(Saved { bytes: (start, params), ..Saved::default() });
        }
    }
    let params = round(params, 16);
    b.code.params_bytes = params;
    let allocates =
        |f: &FuncId| module.functions[f.index()].insts.iter().any(|i| i.form.op == Some(Ptx::Alloca));
    let deepest = if reached.iter().any(|&f| cycles(calls, f)) {
        stack
    } else {
        let mut memo = vec![None; module.functions.len()];
        depth(kernel, calls, &b.code.entries, &mut memo)
    };
    let more = if reached.iter().any(allocates) { stack } else { 0 };
    b.code.local_bytes = params.saturating_add(deepest).saturating_add(more);
}

fn uses_reserved(module: &Module, reached: &[FuncId]) -> bool {
    let named = |o: &Operand| matches!(o, Operand::Special(s) if s.starts_with("%reserved_smem"));
    reached.iter().any(|f| module.functions[f.index()].insts.iter().any(|i| i.operands.iter().any(named)))
}

fn round(at: u32, align: u32) -> u32 {
    at.checked_next_multiple_of(align.max(1)).unwrap_or(u32::MAX)
}

/// Gives a variable the next place; far too large ones end at the largest address, and the kernel is refused for its size.
fn lay(end: &mut u32, s: &prlx_isa::view::Symbol) -> u32 {
    let at = round(*end, s.align);
    *end = at.saturating_add(u32::try_from(s.size).unwrap_or(u32::MAX));
    at
}

/// Stack bytes of the deepest chain of calls from `f`; there are no cycles.
fn depth(f: FuncId, calls: &[Option<Vec<FuncId>>], entries: &[Entry], memo: &mut [Option<u32>]) -> u32 {
    if let Some(d) = memo[f.index()] {
        return d;
    }
    let below = calls[f.index()].iter().flatten().map(|&g| depth(g, calls, entries, memo)).max().unwrap_or(0);
    let d = entries[f.index()].frame.saturating_add(below);
    memo[f.index()] = Some(d);
    d
}

/// Gives every register of a function a plane, and its parameters their places.
fn registers(b: &mut Binder<'_>, r: &Request<'_>, f: FuncId) {
    let module = r.module;
    let function = &module.functions[f.index()];
    b.regs[f.index()] = function.regs.iter().map(|r| b.plane(kind(r.ty))).collect();
    let n = r.plan.and_then(|p| p.functions.get(f.index())).map_or(0, |p| p.trip_counters);
    b.counters[f.index()] = (b.count.w64 as u16, n as u16);
    b.count.w64 += n;
    // Those declared `.reg`, parameters before returns.
    let mut in_regs = function.reg_params.iter();
    let mut place = |b: &Binder<'_>, list: &[SymbolId]| -> Vec<Slot> {
        list.iter()
            .filter_map(|s| match b.local.get(s) {
                Some(at) => Some(Slot::Bytes(at.0, module.symbols[s.index()].size as u32)),
                None if module.symbols[s.index()].space == Space::Reg => {
                    in_regs.next().map(|&r| control::reg_slot(b, r))
                }
                None => None,
            })
            .collect()
    };
    let (params, returns) = (place(b, &function.params), place(b, &function.returns));
    let e = &mut b.code.entries[f.index()];
    e.params = params;
    e.returns = returns;
}

fn save(b: &mut Binder<'_>, f: FuncId, from: Count, to: Count) {
    if let Some(s) = &mut b.code.entries[f.index()].saved {
        s.w32 = (from.w32 as u16, to.w32 as u16);
        s.w64 = (from.w64 as u16, to.w64 as u16);
        s.pred = (from.pred as u16, to.pred as u16);
    }
}

/// What can't be done: function, instruction, why.
pub type Missing = (FuncId, InstId, String);

fn function(b: &mut Binder<'_>, r: &Request<'_>, f: FuncId, missing: &mut Vec<Missing>) {
    let function = &r.module.functions[f.index()];
    b.func = f;
    b.code.entries[f.index()].start = b.code.steps.len() as u32;
    let plan = r.plan.and_then(|p| p.functions.get(f.index())).filter(|p| p.skipped.is_none());
    let counters = b.counters[f.index()];
    let mut hook = |b: &mut Binder<'_>, at: At, inst: InstId| {
        for ins in plan.iter().flat_map(|p| &p.insertions).filter(|i| i.at == at) {
            if let Err(why) = action(b, function, inst, ins, counters) {
                missing.push((f, inst, format!("it can't be observed: {why}")));
            }
        }
    };
    hook(b, At::Entry, InstId(0));
    let mut fixes = Vec::new();
    let mut starts = Vec::with_capacity(function.blocks.len());
    let mut refused = Vec::new();
    for block in &function.blocks {
        starts.push(b.code.steps.len() as u32);
        for i in block.insts.clone() {
            let id = InstId(i);
            let Some(inst) = function.insts.get(id.index()) else { continue };
            hook(b, At::Before(id), id);
            b.begin(id, inst.guard);
            if let Err(why) = inst::inst(b, inst, r.simd, &mut fixes) {
                refused.push((f, id, why));
            }
            hook(b, At::After(id), id);
        }
    }
    b.begin(InstId(function.insts.len().saturating_sub(1) as u32), None);
    b.emit(Op::End);
    let start = |t: BlockId| starts.get(t.index()).copied();
    for fix in fixes {
        let (step, known) = match fix {
            Fix::Bra(step, to) => {
                let to = start(to);
                b.code.steps[step].op = to.map_or(Op::End, Op::Bra);
                (step, to.is_some())
            }
            Fix::Brx(step, table, to) => {
                let to: Vec<u32> = to.into_iter().filter_map(start).collect();
                let all = to.len() == b.code.brxs[table].targets.len();
                b.code.brxs[table].targets = to;
                (step, all)
            }
        };
        if !known {
            refused.push((f, b.code.origin[step].1, "its target is not a block of this function".into()));
        }
    }
    missing.extend(refused);
}

/// Binds one action of the plan.
fn action(
    b: &mut Binder<'_>,
    function: &Function,
    inst: InstId,
    insertion: &prlx_plan::Insertion,
    counters: (u16, u16),
) -> Result<(), String> {
    b.begin(inst, insertion.guard);
    let mut hook = Hook {
        action: insertion.action.clone(),
        values: Vec::new(),
        pred: None,
        of: None,
        kernel: function.kind == FunctionKind::Kernel,
        leaves: function.insts.get(inst.index()).is_some_and(|i| i.class == Class::Exit),
        counters,
        after: matches!(insertion.at, At::After(_)),
    };
    if let Action::Event { of: Some(guard), .. } = &insertion.action {
        hook.of = Some((b.reg(guard.reg), guard.negate));
    }
    match &insertion.action {
        Action::Probe(code) => {
            for operand in &code.operands {
                hook.values.push(b.value(operand)?);
            }
        }
        Action::Mark { words, .. } | Action::Group { values: words } => {
            for word in words {
                hook.values.push(b.value(&word.of)?);
            }
        }
        Action::Span { begin: Some(SpanBegin { word: Some(word), .. }), .. } => {
            hook.values.push(b.value(&word.of)?)
        }
        Action::Bits { reg, .. } | Action::TripRead { reg, .. } => {
            hook.values.push(b.value(&Operand::Reg(*reg))?)
        }
        Action::Event { value: Some(Operand::Reg(r)), .. }
            if b.reg_type(*r) == prlx_isa::view::Type::Pred =>
        {
            hook.pred = Some(b.reg(*r));
        }
        Action::Event { value: Some(v), .. } => values(b, v, &mut hook.values)?,
        Action::Fold { values: v, .. } | Action::Operands { values: v, .. } => {
            for v in v {
                values(b, v, &mut hook.values)?;
            }
        }
        _ => {}
    }
    b.code.hooks.push(hook);
    let at = b.code.hooks.len() as u32 - 1;
    b.emit(Op::Hook(at));
    Ok(())
}

fn values(b: &mut Binder<'_>, v: &Operand, out: &mut Vec<Value>) -> Result<(), String> {
    match v {
        Operand::Vector(list) => list.iter().try_for_each(|v| values(b, v, out)),
        Operand::Sink => Ok(()),
        v => {
            out.push(b.value(v)?);
            Ok(())
        }
    }
}

/// Says what is missing: the first few of each kind.
fn refuse(b: &Binder<'_>, r: &Request<'_>, missing: &[Missing]) -> Error {
    let mut lines = Vec::new();
    for (f, i, why) in missing.iter().take(5) {
        lines.push(format!("{}: {why}", crate::fault::place(r.module, r.source, *f, *i)));
    }
    if missing.len() > lines.len() {
        lines.push(format!("and {} more", missing.len() - lines.len()));
    }
    let what = if missing.len() == 1 { "an instruction" } else { "instructions" };
    Error::new(
        ErrorKind::Unsupported,
        format!("`{}` has {what} that the CPU device can't do:\n  {}", b.code.name, lines.join("\n  ")),
    )
}

/// Bytes of an operand's elements.
pub(crate) fn bytes(ty: prlx_isa::view::Type) -> u8 {
    (bits(ty) / 8).clamp(1, 16) as u8
}
