//! The call graph of a kernel: which functions it reaches, which of them are recursive, how deep calls go.

use prlx_isa::view::{Base, Class, FuncId, Module, Operand, SymbolId};

use crate::code::FunctionEntry;

/// For each function of the module, the functions that it may call; `None` for those that the kernel cannot
/// reach.
///
/// A function whose address is taken may be called from every indirect call.
pub fn reachable(module: &Module, kernel: FuncId) -> Vec<Option<Vec<FuncId>>> {
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

/// Calls `f` with every symbol of an operand.
pub fn symbols(o: &Operand, f: &mut impl FnMut(SymbolId)) {
    match o {
        Operand::Symbol(s, _) | Operand::Address(Base::Symbol(s), _) => f(*s),
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

/// Whether a function can call itself, directly or through others.
pub fn is_recursive(calls: &[Option<Vec<FuncId>>], f: FuncId) -> bool {
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

/// Stack bytes of the deepest chain of calls from `f`. The call graph must have no cycle.
pub fn depth(
    f: FuncId,
    calls: &[Option<Vec<FuncId>>],
    entries: &[FunctionEntry],
    memo: &mut [Option<u32>],
) -> u32 {
    if let Some(d) = memo[f.index()] {
        return d;
    }
    let below = calls[f.index()].iter().flatten().map(|&g| depth(g, calls, entries, memo)).max().unwrap_or(0);
    let d = entries[f.index()].frame.saturating_add(below);
    memo[f.index()] = Some(d);
    d
}
