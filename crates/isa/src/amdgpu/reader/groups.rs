//! Groups of functions that call each other, and the registers that calls write.

use rustc_hash::{FxHashMap, FxHashSet};

use super::addresses::{Addresses, Destination};
use super::code::Code;
use crate::amdgpu::inst::Reg;

/// Functions that call each other.
#[derive(Debug)]
pub(super) struct Groups {
    /// By function: its group.
    pub(super) of: Vec<usize>,
    /// By function: registers that it and what it calls write, sorted. SCC is among them, and EXEC is not:
    /// callees restore it.
    written: Vec<Vec<Reg>>,
    /// Registers that any function writes, likewise.
    any: Vec<Reg>,
    entries: FxHashMap<u64, usize>,
}

impl Groups {
    /// The groups of these functions, by their calls.
    pub(super) fn of(functions: &[Code<'_>], addresses: &[Addresses]) -> Groups {
        let entries: FxHashMap<u64, usize> = functions.iter().map(Code::entry).zip(0..).collect();
        let callees = |addresses: &Addresses, code: &Code<'_>| -> (Vec<usize>, bool) {
            // Jumps to other functions are calls. Other jumps are understood, or the function is not.
            let is_call = |at: &usize| code.insts.get(*at).is_some_and(|(_, i)| i.name() != "s_setpc_b64");
            let (mut all, mut unknown) = (Vec::new(), false);
            for (at, destination) in &addresses.destinations {
                let known = match destination {
                    Destination::Address(entry) => entries.get(entry),
                    _ => None,
                };
                all.extend(known);
                unknown |= known.is_none() && is_call(at);
            }
            all.sort_unstable();
            all.dedup();
            (all, unknown)
        };
        let edges: Vec<(Vec<usize>, bool)> =
            addresses.iter().zip(functions).map(|(a, f)| callees(a, f)).collect();
        let mut of: Vec<usize> = (0..functions.len()).collect();
        let mut unite = |a: usize, b: usize| {
            let (a, b) = (root(&mut of, a), root(&mut of, b));
            if let Some(slot) = of.get_mut(a.max(b)) {
                *slot = a.min(b);
            }
        };
        // An unknown call may be one of any function that others can call.
        let calls_unknown = edges.iter().position(|(_, unknown)| *unknown);
        for (i, ((callees, unknown), code)) in edges.iter().zip(functions).enumerate() {
            callees.iter().for_each(|callee| unite(i, *callee));
            if let Some(first) = calls_unknown.filter(|_| *unknown || code.kernel.is_none()) {
                unite(i, first);
            }
        }
        for i in 0..of.len() {
            let r = root(&mut of, i);
            if let Some(slot) = of.get_mut(i) {
                *slot = r;
            }
        }
        let own = |code: &Code<'_>| -> FxHashSet<Reg> {
            code.insts.iter().filter_map(|(_, inst)| inst.registers()).flat_map(|regs| regs.writes).collect()
        };
        let mut written: Vec<FxHashSet<Reg>> = functions.iter().map(own).collect();
        // An instruction without known registers may write all.
        let is_unknown = |code: &Code<'_>| code.insts.iter().any(|(_, inst)| inst.registers().is_none());
        let unknown: Vec<bool> = functions.iter().map(is_unknown).collect();
        if unknown.contains(&true) {
            let used = functions.iter().flat_map(|code| &code.insts).filter_map(|(_, inst)| inst.registers());
            let all: FxHashSet<Reg> = used.flat_map(|regs| [regs.reads, regs.writes]).flatten().collect();
            written
                .iter_mut()
                .zip(&unknown)
                .filter(|(_, unknown)| **unknown)
                .for_each(|(w, _)| w.clone_from(&all));
        }
        if calls_unknown.is_some() {
            let all: FxHashSet<Reg> = written.iter().flatten().copied().collect();
            let callers = written.iter_mut().zip(&edges).filter(|(_, (_, unknown))| *unknown);
            callers.for_each(|(written, _)| written.extend(&all));
        }
        loop {
            let mut changed = false;
            for (i, (callees, _)) in edges.iter().enumerate() {
                for callee in callees.iter().filter(|callee| **callee != i) {
                    let more = written.get(*callee).cloned().unwrap_or_default();
                    if let Some(mine) = written.get_mut(i) {
                        let before = mine.len();
                        mine.extend(more);
                        changed |= mine.len() > before;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        let any = sorted(&written.iter().flatten().copied().collect());
        Groups { of, written: written.iter().map(sorted).collect(), any, entries }
    }

    /// Registers that a call of the function at an address writes, sorted; of an unknown one, all that any
    /// function writes. EXEC is none: callees restore it.
    pub(super) fn written(&self, entry: Option<u64>) -> &[Reg] {
        let known = entry.and_then(|entry| self.written.get(*self.entries.get(&entry)?));
        known.unwrap_or(&self.any)
    }
}

/// The registers but EXEC, sorted.
fn sorted(written: &FxHashSet<Reg>) -> Vec<Reg> {
    let kept = written.iter().copied().filter(|reg| !matches!(reg, Reg::ExecLo | Reg::ExecHi));
    let mut all: Vec<Reg> = kept.collect();
    all.sort_unstable();
    all
}

fn root(of: &mut [usize], from: usize) -> usize {
    let mut at = from;
    while let Some(&up) = of.get(at).filter(|up| **up != at) {
        let above = of.get(up).copied().unwrap_or(up);
        if let Some(slot) = of.get_mut(at) {
            *slot = above;
        }
        at = up;
    }
    at
}
