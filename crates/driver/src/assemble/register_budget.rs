//! Limits the registers of instrumented kernels, so that instrumentation does not lower their occupancy.

use std::collections::BTreeMap;

use crate::occupancy::{registers_per_thread, threads_per_sm};
use prlx_isa::image::cubin;
use prlx_isa::ptx::{Op, opcode};
use prlx_isa::view::{Function, FunctionKind, Module};
use prlx_plan::Plan;
use prlx_trace::Level;
use prlx_trace::kernel::ThreadResources;

/// Registers per thread with which an SM holds its maximum number of warps: 65,536 registers over 2,048
/// threads. Only the smallest GPUs differ.
const FULL: u32 = 32;

/// A kernel that exceeds [`FULL`] by at most this many registers is limited to it.
const CLOSE: u32 = 8;

/// How many registers an instrumented kernel may use. A limit applies only to kernels that do not need more
/// local memory with it.
#[derive(Clone, Copy, Debug)]
pub enum RegisterBudget<'a> {
    /// As many as the assembler chooses.
    Unlimited,
    /// Limits kernels that need slightly more than 32 registers to 32. The code that level `events` inserts
    /// waits for memory, and more resident warps hide that best. At other levels some kernels become slower.
    /// (Measured: bench/runs/2026-11-24-h200-events.md.)
    FullOccupancy,
    /// As many as leave an SM with as many resident threads as this original machine code. With fewer
    /// resident threads, the measured cycles would not be those of the original kernel.
    SameOccupancy(&'a [u8]),
}

impl<'a> RegisterBudget<'a> {
    /// Chooses the budget for a plan. `own` is the machine code of the original module, if known.
    pub fn of(plan: &Plan, own: Option<&'a [u8]>) -> RegisterBudget<'a> {
        match own {
            _ if plan.request.level == Level::Events => RegisterBudget::FullOccupancy,
            Some(own) if plan.probe_state.tracks.is_some() => RegisterBudget::SameOccupancy(own),
            _ => RegisterBudget::Unlimited,
        }
    }

    /// Returns the limit of each kernel in `code` that exceeds its budget.
    pub(super) fn limits(self, code: &[u8]) -> BTreeMap<&str, u32> {
        let all = |code| thread_resources(code).into_iter();
        match self {
            RegisterBudget::Unlimited => BTreeMap::new(),
            RegisterBudget::FullOccupancy => {
                let close = |n: &ThreadResources| FULL < n.registers && n.registers <= FULL + CLOSE;
                all(code).filter(|(_, n)| close(n)).map(|(name, _)| (name, FULL)).collect()
            }
            RegisterBudget::SameOccupancy(own) => {
                let own = thread_resources(own);
                let limit = |(name, now): (_, ThreadResources)| {
                    let before = threads_per_sm(own.get(name)?.registers);
                    (threads_per_sm(now.registers) < before).then(|| (name, registers_per_thread(before)))
                };
                all(code).filter_map(limit).collect()
            }
        }
    }
}

/// Returns the resources of each function in a cubin, by name. Empty for anything but a cubin.
pub fn thread_resources(code: &[u8]) -> BTreeMap<&str, ThreadResources> {
    let local: BTreeMap<&str, u32> = cubin::frames(code).unwrap_or_default().into_iter().collect();
    let all = cubin::registers(code).unwrap_or_default().into_iter();
    all.map(|(name, registers)| {
        (name, ThreadResources { registers, local: local.get(name).copied().unwrap_or(0) })
    })
    .collect()
}

/// Returns how many threads fewer an SM can hold with the functions of `code` than with those of `own`,
/// summed over the functions.
pub fn threads_lost(own: &[u8], code: &[u8]) -> u32 {
    let own = thread_resources(own);
    let lost = |(name, now): (&str, ThreadResources)| {
        own.get(name).map(|n| threads_per_sm(n.registers).saturating_sub(threads_per_sm(now.registers)))
    };
    thread_resources(code).into_iter().filter_map(lost).fold(0, u32::saturating_add)
}

/// Whether a module uses `setmaxnreg`, with which warps pass registers to each other (PTX ISA, "setmaxnreg").
pub fn uses_setmaxnreg(ptx: &str) -> bool {
    has_setmaxnreg(&prlx_isa::ptx::read(ptx).0)
}

fn has_setmaxnreg(module: &Module) -> bool {
    module.functions.iter().flat_map(|f| &f.insts).any(|inst| opcode(inst).op == Some(Op::Setmaxnreg))
}

/// Adds `.maxnreg` to the kernels in `limits`. Returns `None` if no kernel gets a limit, because each already
/// declares one.
pub(super) fn with_register_limits(ptx: &str, limits: &BTreeMap<&str, u32>) -> Option<String> {
    // Without a limit at the kernel's start, assemblers ignore `setmaxnreg`. With one it takes effect, and
    // warps may wait for registers forever.
    if limits.is_empty() {
        return None;
    }
    let view = prlx_isa::ptx::read(ptx).0;
    if has_setmaxnreg(&view) {
        return None;
    }
    let declares = |name: &str| matches!(name, "maxnreg" | "minnctapersm");
    let limit = |f: &Function| {
        let free = f.kind == FunctionKind::Kernel && !f.limits.iter().any(|(name, _)| declares(name));
        limits.get(f.name.as_str()).filter(|_| free).map(|most| (f.body.start as usize, *most))
    };
    let mut places: Vec<(usize, u32)> = view.functions.iter().filter_map(limit).collect();
    places.sort_unstable();
    let mut text = ptx.to_owned();
    places.iter().rev().for_each(|(at, most)| text.insert_str(*at, &format!(".maxnreg {most}\n")));
    (!places.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{uses_setmaxnreg, with_register_limits};
    use std::collections::BTreeMap;

    const PTX: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";

    #[test]
    fn only_an_instruction_counts_as_setmaxnreg() {
        let commented = PTX.replace("ret;", "// setmaxnreg would need a limit\n/* setmaxnreg */ ret;");
        let named = PTX.replace("ret;", "bra setmaxnreg_is_a_label;\nsetmaxnreg_is_a_label:\nret;");
        let limits = BTreeMap::from([("k", 32)]);
        for ptx in [&commented, &named] {
            assert!(!uses_setmaxnreg(ptx), "{ptx}");
            let limited = with_register_limits(ptx, &limits).unwrap();
            assert!(limited.contains(".maxnreg 32\n"), "{limited}");
        }
        let used = PTX.replace("ret;", "setmaxnreg.dec.sync.aligned.u32 40;\nret;");
        assert!(uses_setmaxnreg(&used));
        assert_eq!(with_register_limits(&used, &limits), None);
    }
}
