//! Where variables, parameters and registers of a kernel lie.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::ptx::{Op as Ptx, opcode};
use prlx_isa::view::{FuncId, Module, Operand, Space, Symbol, SymbolId};
use prlx_plan::Plan;
use rustc_hash::FxHashMap;

use super::binder::{Binder, PlaneCounts, SYSTEM_SHARED, kind};
use super::call_graph::{Calls, recursion, symbols};
use super::control;
use crate::code::{FunctionEntry, SavedRegisters, Slot};

/// Bytes kept free at address 0 of a lane's local memory, so that no variable has address 0.
const NULL: u32 = 16;

/// Lays out shared memory, the parameters of calls, and stack frames. Returns the functions that can call
/// themselves. Variables that no reached function names take no memory and no time.
pub fn memory(
    b: &mut Binder<'_>,
    module: &Module,
    kernel: FuncId,
    calls: &Calls,
    stack: u32,
) -> BTreeSet<FuncId> {
    let main = &module.functions[kernel.index()];
    for (&s, &offset) in main.params.iter().zip(&main.param_offsets) {
        b.params.insert(s, offset);
    }
    let mut used: BTreeSet<SymbolId> = BTreeSet::new();
    for f in calls.keys() {
        for o in module.functions[f.index()].insts.iter().flat_map(|i| &i.operands) {
            symbols(o, &mut |s| {
                used.insert(s);
            });
        }
    }
    used.retain(|s| s.index() < module.symbols.len());
    let symbol = |id: SymbolId| &module.symbols[id.index()];
    let mut shared = 0u32;
    let mut dynamic = (Vec::new(), 16u32);
    for &id in &used {
        let s = symbol(id);
        if !matches!(s.space, Space::Shared | Space::SharedCluster) {
            continue;
        }
        if s.size == 0 {
            dynamic.0.push(id);
            dynamic.1 = dynamic.1.max(s.align);
        } else {
            b.shared.insert(id, lay_out(&mut shared, s));
        }
    }
    if uses_reserved(module, calls) {
        // Cooperative groups keep barriers there (PTX ISA, Special Registers: %reserved_smem_offset_<2>).
        shared = round(shared, 16);
        b.reserved = Some(shared);
        shared += SYSTEM_SHARED;
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
    let mut owned: BTreeMap<FuncId, Vec<SymbolId>> = BTreeMap::new();
    for &id in &used {
        let s = symbol(id);
        match s.owner {
            Some(owner) => owned.entry(owner).or_default().push(id),
            // Variables of the module that live in local memory are every lane's own, for as long as it
            // lives.
            None if s.space == Space::Local => {
                b.local.insert(id, (lay_out(&mut params, s), false));
            }
            None => {}
        }
    }
    // By function: where its parameters lie.
    let mut bytes = FxHashMap::default();
    for &f in calls.keys() {
        let function = &module.functions[f.index()];
        let start = params;
        let mut frame = 0u32;
        let mut ids = owned.remove(&f).unwrap_or_default();
        ids.extend(function.params.iter().chain(&function.returns));
        ids.sort_unstable();
        ids.dedup();
        for id in ids {
            let s = symbol(id);
            if s.space == Space::Param && !b.params.contains_key(&id) {
                let at = lay_out(&mut params, s);
                b.local.insert(id, (at, false));
            } else if s.space == Space::Local {
                let at = lay_out(&mut frame, s);
                b.local.insert(id, (at, true));
            }
        }
        bytes.insert(f, (start, params));
        b.code.entries.insert(f, FunctionEntry { frame: round(frame, 16), ..FunctionEntry::default() });
    }
    let (recursive, depths) = recursion(calls, &|f| b.code.entries.get(&f).map_or(0, |e| e.frame));
    for f in &recursive {
        if let (Some(e), Some(&bytes)) = (b.code.entries.get_mut(f), bytes.get(f)) {
            e.saved = Some(SavedRegisters { bytes, ..SavedRegisters::default() });
        }
    }
    let params = round(params, 16);
    b.code.params_bytes = params;
    let allocates =
        |f: &FuncId| module.functions[f.index()].insts.iter().any(|i| opcode(i).op == Some(Ptx::Alloca));
    let deepest = match recursive.is_empty() {
        true => depths.get(&kernel).copied().unwrap_or(0),
        false => stack,
    };
    let more = if calls.keys().any(allocates) { stack } else { 0 };
    b.code.local_bytes = params.saturating_add(deepest).saturating_add(more);
    recursive
}

/// Whether the code asks for the shared memory that is reserved for the system.
fn uses_reserved(module: &Module, calls: &Calls) -> bool {
    let named = |o: &Operand| matches!(o, Operand::Special(s) if s.starts_with("%reserved_smem"));
    calls.keys().any(|f| module.functions[f.index()].insts.iter().any(|i| i.operands.iter().any(named)))
}

/// Rounds an address up to an alignment.
fn round(at: u32, align: u32) -> u32 {
    at.checked_next_multiple_of(align.max(1)).unwrap_or(u32::MAX)
}

/// Gives a variable the next free address. Variables that are far too large end at the largest address; the
/// kernel is then refused for its size.
fn lay_out(end: &mut u32, s: &Symbol) -> u32 {
    let at = round(*end, s.align);
    *end = at.saturating_add(u32::try_from(s.size).unwrap_or(u32::MAX));
    at
}

/// Gives every register of a function a plane, and every parameter a slot.
pub fn registers(b: &mut Binder<'_>, module: &Module, plan: Option<&Plan>, f: FuncId) {
    let function = &module.functions[f.index()];
    let planes = function.regs.iter().map(|r| b.plane(kind(r.ty))).collect();
    b.code.registers.insert(f, planes);
    let n = plan.and_then(|p| p.functions.get(f.index())).map_or(0, |p| p.trip_counters);
    b.counters.insert(f, (b.count.w64 as u16, n as u16));
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
    let e = b.code.entries.entry(f).or_default();
    e.params = params;
    e.returns = returns;
}

/// Sets the planes that a recursive call of `f` saves.
pub fn save(b: &mut Binder<'_>, f: FuncId, from: PlaneCounts, to: PlaneCounts) {
    if let Some(s) = b.code.entries.get_mut(&f).and_then(|e| e.saved.as_mut()) {
        s.w32 = (from.w32 as u16, to.w32 as u16);
        s.w64 = (from.w64 as u16, to.w64 as u16);
        s.pred = (from.pred as u16, to.pred as u16);
    }
}

/// The address range of a module's constant variables: first address, bytes. They are allocated one after the
/// other.
pub fn constants(module: &Module, addresses: &[Option<u64>]) -> (u64, u64) {
    let all = module.symbols.iter().zip(addresses).filter(|(s, _)| s.space == Space::Const);
    let ranges: Vec<_> = all.filter_map(|(s, at)| at.map(|at| (at, at.saturating_add(s.size)))).collect();
    let from = ranges.iter().map(|r| r.0).min().unwrap_or(0);
    (from, ranges.iter().map(|r| r.1).max().unwrap_or(0) - from)
}
