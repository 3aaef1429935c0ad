//! Where variables, parameters and registers of a kernel lie.

use prlx_isa::ptx::Op as Ptx;
use prlx_isa::view::{FuncId, Module, Operand, Space, Symbol, SymbolId};
use prlx_plan::Plan;

use super::binder::{Binder, PlaneCounts, SYSTEM_SHARED, kind};
use super::call_graph::{depth, is_recursive, symbols};
use super::control;
use crate::code::{SavedRegisters, Slot};

/// Bytes kept free at address 0 of a lane's local memory, so that no variable has address 0.
const NULL: u32 = 16;

/// Lays out shared memory, the parameters of calls, and stack frames.
pub fn memory(
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
            b.shared.insert(id, lay_out(&mut shared, s));
        }
    }
    if uses_reserved(module, reached) {
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
    for (i, s) in module.symbols.iter().enumerate() {
        // Variables of the module that live in local memory are every lane's own, for as long as it lives.
        if used[i] && s.owner.is_none() && s.space == Space::Local {
            let at = lay_out(&mut params, s);
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
                let at = lay_out(&mut params, s);
                b.local.insert(id, (at, false));
            } else if s.space == Space::Local {
                let at = lay_out(&mut frame, s);
                b.local.insert(id, (at, true));
            }
        }
        b.code.entries[f.index()].frame = round(frame, 16);
        if is_recursive(calls, f) {
            b.code.entries[f.index()].saved =
                Some(SavedRegisters { bytes: (start, params), ..SavedRegisters::default() });
        }
    }
    let params = round(params, 16);
    b.code.params_bytes = params;
    let allocates =
        |f: &FuncId| module.functions[f.index()].insts.iter().any(|i| i.form.op == Some(Ptx::Alloca));
    let deepest = if reached.iter().any(|&f| is_recursive(calls, f)) {
        stack
    } else {
        let mut memo = vec![None; module.functions.len()];
        depth(kernel, calls, &b.code.entries, &mut memo)
    };
    let more = if reached.iter().any(allocates) { stack } else { 0 };
    b.code.local_bytes = params.saturating_add(deepest).saturating_add(more);
}

/// Whether the code asks for the shared memory that is reserved for the system.
fn uses_reserved(module: &Module, reached: &[FuncId]) -> bool {
    let named = |o: &Operand| matches!(o, Operand::Special(s) if s.starts_with("%reserved_smem"));
    reached.iter().any(|f| module.functions[f.index()].insts.iter().any(|i| i.operands.iter().any(named)))
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
    b.regs[f.index()] = function.regs.iter().map(|r| b.plane(kind(r.ty))).collect();
    let n = plan.and_then(|p| p.functions.get(f.index())).map_or(0, |p| p.trip_counters);
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

/// Sets the planes that a recursive call of `f` saves.
pub fn save(b: &mut Binder<'_>, f: FuncId, from: PlaneCounts, to: PlaneCounts) {
    if let Some(s) = &mut b.code.entries[f.index()].saved {
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
