//! The call graph of a kernel: which functions it reaches, which of them are recursive, how deep calls go.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::view::{Base, Class, FuncId, Module, Operand, SymbolId};
use rustc_hash::FxHashMap;

/// By function that a kernel can reach: the functions that it may call.
pub type Calls = BTreeMap<FuncId, Vec<FuncId>>;

/// The functions that a kernel can reach, and what they may call. The time depends on those alone, unless one
/// of them calls indirectly.
///
/// A function whose address is taken may be called from every indirect call.
pub fn reachable(module: &Module, kernel: FuncId) -> Calls {
    let body = |s: &SymbolId| module.symbols.get(s.index()).and_then(|s| s.function);
    let mut out = Calls::new();
    let mut taken: BTreeSet<FuncId> = BTreeSet::new();
    let mut indirect = Vec::new();
    let mut work = vec![kernel];
    loop {
        while let Some(f) = work.pop() {
            if out.contains_key(&f) || module.functions.get(f.index()).is_none() {
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
                                taken.insert(g);
                            }
                        } else if module.symbols.get(s.index()).is_some_and(|s| s.is_function) {
                            direct = true;
                        }
                    });
                }
                if is_call && !direct {
                    if indirect.is_empty() {
                        let relocs = module.symbols.iter().flat_map(|s| &s.relocs);
                        taken.extend(relocs.filter_map(|r| body(&r.1)));
                    }
                    indirect.push(f);
                }
            }
            // A function that calls another often has one edge to it.
            edges.sort_unstable();
            edges.dedup();
            work.extend(&edges);
            out.insert(f, edges);
        }
        if !indirect.is_empty() {
            work.extend(taken.iter().filter(|f| !out.contains_key(f)));
        }
        if work.is_empty() {
            break;
        }
    }
    for f in indirect {
        out.entry(f).or_default().extend(&taken);
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

/// The functions that can call themselves, directly or through others, and for each function the stack bytes
/// of the deepest chain of calls from it, `frame` for each. The depth means nothing where calls recurse.
pub fn recursion(calls: &Calls, frame: &dyn Fn(FuncId) -> u32) -> (BTreeSet<FuncId>, FxHashMap<FuncId, u32>) {
    // Tarjan's algorithm: a component is complete after all that it calls.
    let mut recursive = BTreeSet::new();
    let mut depths: FxHashMap<FuncId, u32> = FxHashMap::default();
    // By function: its number, and the lowest number on the stack that it reaches.
    let mut numbers: FxHashMap<FuncId, (u32, u32)> = FxHashMap::default();
    let mut open: Vec<FuncId> = Vec::new();
    let mut path: Vec<(FuncId, usize)> = Vec::new();
    for &root in calls.keys() {
        if numbers.contains_key(&root) {
            continue;
        }
        path.push((root, 0));
        while let Some((f, next)) = path.last_mut() {
            let f = *f;
            let fresh = numbers.len() as u32;
            numbers.entry(f).or_insert_with(|| {
                open.push(f);
                (fresh, fresh)
            });
            if let Some(&to) = calls.get(&f).and_then(|edges| edges.get(*next)) {
                *next += 1;
                if to == f {
                    recursive.insert(f);
                }
                match numbers.get(&to) {
                    None => path.push((to, 0)),
                    // Complete functions have a depth.
                    Some(&(number, _)) if !depths.contains_key(&to) => lower(&mut numbers, f, number),
                    Some(_) => {}
                }
                continue;
            }
            path.pop();
            let (number, low) = numbers[&f];
            if let Some(&(above, _)) = path.last() {
                lower(&mut numbers, above, low);
            }
            if low != number {
                continue;
            }
            let start = open.iter().rposition(|&g| g == f).unwrap_or(0);
            if open.len() - start > 1 {
                recursive.extend(&open[start..]);
            }
            for g in open.drain(start..) {
                let edges = calls.get(&g).into_iter().flatten();
                let below = edges.filter_map(|to| depths.get(to)).max().copied().unwrap_or(0);
                depths.insert(g, frame(g).saturating_add(below));
            }
        }
    }
    (recursive, depths)
}

/// Lowers the lowest number that a function reaches.
fn lower(numbers: &mut FxHashMap<FuncId, (u32, u32)>, f: FuncId, to: u32) {
    if let Some((_, low)) = numbers.get_mut(&f) {
        *low = (*low).min(to);
    }
}
