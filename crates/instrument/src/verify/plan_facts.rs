//! Facts about the plan that the checks rely on, computed from the plan and the module alone.

use std::collections::HashMap;

use prlx_isa::view::{Class, FunctionKind};
use prlx_plan::code::Stmt;
use prlx_plan::{Action, At, PackedCounters};
use prlx_trace::WarpSize;

use crate::verify::function::Inputs;

/// Whether each thread saves a record at most once, at its end.
pub(super) fn saved_at_most_once(texts: &Inputs<'_>, record: usize) -> bool {
    fn saves(body: &[Stmt], record: usize) -> usize {
        body.iter().fold(0, |n, stmt| match stmt {
            Stmt::Save { record: own, .. } if *own as usize == record => n + 1,
            Stmt::If(_, then, other) => n + saves(then, record) + saves(other, record),
            _ => n,
        })
    }
    let mut ends: Vec<(usize, At)> = Vec::new();
    for (f, plan) in texts.plan.functions.iter().enumerate() {
        for insertion in &plan.insertions {
            let Action::Probe(code) = &insertion.action else { continue };
            let count = saves(&code.body, record);
            if count == 0 {
                continue;
            }
            let At::Before(id) = insertion.at else { return false };
            let inst = &texts.module.functions[f].insts[id.index()];
            let leaves = match inst.class {
                Class::Exit => true,
                Class::Return => texts.module.functions[f].kind == FunctionKind::Kernel,
                _ => false,
            };
            // A guarded exit ends only the threads whose guard is true.
            if count > 1 || !leaves || inst.guard != insertion.guard || ends.contains(&(f, insertion.at)) {
                return false;
            }
            ends.push((f, insertion.at));
        }
    }
    true
}

/// Whether the target has warp reductions: since sm_80. Before, each lane writes for itself.
pub(super) fn has_warp_reductions(texts: &Inputs<'_>) -> bool {
    let sm: String = texts.module.target.chars().filter(char::is_ascii_digit).collect();
    texts.plan.warp_size == WarpSize::W32 && sm.parse::<u32>().is_ok_and(|n| n >= 80)
}

/// Whether packed counters cannot overflow: only kernels count them, each position executes at most once per
/// thread, and the sums of 32 threads fit.
pub(super) fn packed_counters_fit(texts: &Inputs<'_>) -> bool {
    fn tallied(body: &[Stmt], packed: PackedCounters) -> bool {
        body.iter().any(|stmt| match stmt {
            Stmt::Tally { counter, .. } => packed.place(*counter).is_some(),
            Stmt::If(_, then, other) => tallied(then, packed) || tallied(other, packed),
            _ => false,
        })
    }
    let packed = texts.plan.probe_state.packed;
    let fits = packed.counters == 0 || (1..=32).contains(&packed.bits);
    fits && texts.plan.functions.iter().zip(&texts.module.functions).all(|(plan, function)| {
        let mut sums: HashMap<u32, u64> = HashMap::new();
        // A position executes again only after a backward branch over it. By block: the first block that a
        // branch of this or a later block leads back to.
        let mut back_to: Vec<usize> = vec![usize::MAX; function.blocks.len()];
        let mut first = usize::MAX;
        for (block, back_to) in function.blocks.iter().zip(&mut back_to).rev() {
            first = block.succs.iter().map(|to| to.index()).fold(first, usize::min);
            *back_to = first;
        }
        let back = |at: usize| back_to.get(at).is_some_and(|to| *to <= at);
        plan.insertions.iter().all(|insertion| match &insertion.action {
            Action::Probe(code) => !tallied(&code.body, packed),
            Action::Count { counter, add } if packed.place(*counter).is_some() => {
                let again = match insertion.at {
                    At::Entry => false,
                    At::Before(id) | At::After(id) => back(function.insts[id.index()].block.index()),
                };
                let sum = sums.entry(*counter).or_default();
                *sum = sum.saturating_add(*add);
                function.kind == FunctionKind::Kernel && !again && sum.saturating_mul(32) < 1 << packed.bits
            }
            _ => true,
        })
    })
}
