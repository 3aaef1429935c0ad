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
    /// By function: registers that it and what it calls write. EXEC and SCC are among them.
    written: Vec<FxHashSet<Reg>>,
    entries: FxHashMap<u64, usize>,
}

impl Groups {
    /// The groups of these functions, by their calls.
    pub(super) fn of(functions: &[Code<'_>], addresses: &[Addresses]) -> Groups {
        let entries: FxHashMap<u64, usize> = functions.iter().map(Code::entry).zip(0..).collect();
        let devices: Vec<usize> =
            functions.iter().enumerate().filter(|(_, f)| f.kernel.is_none()).map(|(i, _)| i).collect();
        let callees = |addresses: &Addresses, code: &Code<'_>| -> Vec<usize> {
            let is_call = |at: &usize| code.insts.get(*at).is_some_and(|(_, i)| i.name() != "s_setpc_b64");
            let mut all = Vec::new();
            for (_, destination) in addresses.destinations.iter().filter(|(at, _)| is_call(at)) {
                match destination {
                    Destination::Address(entry) if entries.contains_key(entry) => {
                        all.extend(entries.get(entry))
                    }
                    _ => {
                        // Any function that another one can call.
                        return devices.clone();
                    }
                }
            }
            all.sort_unstable();
            all.dedup();
            all
        };
        let edges: Vec<Vec<usize>> = addresses.iter().zip(functions).map(|(a, f)| callees(a, f)).collect();
        let mut of: Vec<usize> = (0..functions.len()).collect();
        for (i, callees) in edges.iter().enumerate() {
            for callee in callees {
                let (a, b) = (root(&mut of, i), root(&mut of, *callee));
                if let Some(slot) = of.get_mut(a.max(b)) {
                    *slot = a.min(b);
                }
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
        loop {
            let mut changed = false;
            for (i, callees) in edges.iter().enumerate() {
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
        Groups { of, written, entries }
    }

    /// Registers that a call of the function at an address writes, sorted; of an unknown one, all that any
    /// function writes. EXEC is none: callees restore it.
    pub(super) fn written(&self, entry: Option<u64>) -> Vec<Reg> {
        let known = entry.and_then(|entry| self.written.get(*self.entries.get(&entry)?));
        let mut all: Vec<Reg> = match known {
            Some(written) => written.iter().copied().collect(),
            None => self.written.iter().flatten().copied().collect::<FxHashSet<Reg>>().into_iter().collect(),
        };
        all.retain(|reg| !matches!(reg, Reg::ExecLo | Reg::ExecHi));
        all.sort_unstable();
        all
    }
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
