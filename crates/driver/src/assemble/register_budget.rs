//! How many registers rewritten kernels may use.

use std::collections::BTreeMap;

use crate::occupancy::{registers_per_thread, threads_per_sm};
use prlx_isa::image::cubin;
use prlx_isa::view::{Function, FunctionKind};
use prlx_plan::Plan;
use prlx_trace::Level;
use prlx_trace::kernel::ThreadResources;

/// With so many registers a thread a multiprocessor has as many warps as it can hold, on all GPUs but the
/// smallest (65,536 over 2,048).
const FULL: u32 = 32;

/// So many more are given up for that.
const CLOSE: u32 = 8;

/// RegisterBudget how many registers rewritten code is to do, where that takes no more local memory.
#[derive(Clone, Copy, Debug)]
pub enum RegisterBudget<'a> {
    /// As many as the assembler takes.
    Unlimited,
    /// 32 of those that take a few more. What level `events` inserts waits, and more warps hide that best.
    /// (Measured: bench/runs/2026-11-24-h200-events.md. At other levels some kernels lose by it.)
    FullOccupancy,
    /// So many that a multiprocessor has registers for as many threads as of this machine code: cycles of a
    /// kernel of which fewer run at once are another kernel's.
    SameOccupancy(&'a [u8]),
}

impl<'a> RegisterBudget<'a> {
    /// What is right for a plan, of a module whose own machine code this is.
    pub fn of(plan: &Plan, own: Option<&'a [u8]>) -> RegisterBudget<'a> {
        match own {
            _ if plan.request.level == Level::Events => RegisterBudget::FullOccupancy,
            Some(own) if plan.probe_state.tracks.is_some() => RegisterBudget::SameOccupancy(own),
            _ => RegisterBudget::Unlimited,
        }
    }

    /// The registers that kernels are to have, of those whose machine code has others.
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

/// What functions take, by name; none of what is no machine code.
pub fn thread_resources(code: &[u8]) -> BTreeMap<&str, ThreadResources> {
    let local: BTreeMap<&str, u32> = cubin::frames(code).unwrap_or_default().into_iter().collect();
    let all = cubin::registers(code).unwrap_or_default().into_iter();
    all.map(|(name, registers)| {
        (name, ThreadResources { registers, local: local.get(name).copied().unwrap_or(0) })
    })
    .collect()
}

/// For how many threads fewer than of its own functions a multiprocessor has registers for rewritten ones,
/// all together.
pub fn threads_lost(own: &[u8], code: &[u8]) -> u32 {
    let own = thread_resources(own);
    let lost = |(name, now): (&str, ThreadResources)| {
        own.get(name).map(|n| threads_per_sm(n.registers).saturating_sub(threads_per_sm(now.registers)))
    };
    thread_resources(code).into_iter().filter_map(lost).fold(0, u32::saturating_add)
}

/// Whether warps give registers to each other (PTX ISA, `setmaxnreg`).
pub fn uses_setmaxnreg(ptx: &str) -> bool {
    ptx.contains("setmaxnreg")
}

/// `ptx`, in which these kernels take no more than so many registers; `None`: there is none that says nothing
/// of them itself.
pub(super) fn with_register_limits(ptx: &str, limits: &BTreeMap<&str, u32>) -> Option<String> {
    // A limit at the kernel's begin makes `setmaxnreg` count, which assemblers pass over without one, and its
    // warps may then wait for registers for ever.
    if limits.is_empty() || uses_setmaxnreg(ptx) {
        return None;
    }
    let view = prlx_isa::ptx::view(&prlx_isa::ptx::parse(ptx).0).0;
    let said = |name: &str| matches!(name, "maxnreg" | "minnctapersm");
    let limit = |f: &Function| {
        let free = f.kind == FunctionKind::Kernel && !f.limits.iter().any(|(name, _)| said(name));
        limits.get(f.name.as_str()).filter(|_| free).map(|most| (f.body.start as usize, *most))
    };
    let mut places: Vec<(usize, u32)> = view.functions.iter().filter_map(limit).collect();
    places.sort_unstable();
    let mut text = ptx.to_owned();
    places.iter().rev().for_each(|(at, most)| text.insert_str(*at, &format!(".maxnreg {most}\n")));
    (!places.is_empty()).then_some(text)
}
