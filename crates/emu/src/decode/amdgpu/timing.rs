//! What an instruction leaves under way, and what it waits for (LLVM, User Guide for AMDGPU Backend, "Memory
//! Model"; RDNA 3 ISA, "Data Dependency Resolution").
//!
//! # Limitations
//! - Exports, and data of stores that is overwritten early, are not described: hardware of these targets
//!   reads the data of a store before the next instruction can change it.

use prlx_isa::amdgpu::Family;
use prlx_isa::amdgpu::inst::table::{Access, Class, Role};
use prlx_isa::amdgpu::inst::{Encoding, Inst};

use crate::code::{Counter, Timing};

/// The counters by the names of wait instructions.
fn counter(name: &str) -> Option<Counter> {
    Some(match name {
        "vmcnt" | "loadcnt" => Counter::Load,
        "vscnt" | "storecnt" => Counter::Store,
        "lgkmcnt" => Counter::LdsAndScalar,
        "dscnt" => Counter::Lds,
        "kmcnt" => Counter::Scalar,
        _ => return None,
    })
}

/// The timing of an instruction; `None` if it neither leaves anything under way, nor waits, nor uses
/// registers.
pub fn timing(inst: &Inst, family: Family) -> Option<Timing> {
    let registers = inst.registers()?;
    let mut timing = Timing {
        waits: inst.waits().iter().filter_map(|(name, n)| Some((counter(name)?, *n))).collect(),
        reads: registers.reads,
        writes: registers.writes,
        to_lds: inst.loads_to_lds(),
        ..Timing::default()
    };
    timing.issues = issues(inst, family);
    timing.in_order = inst.encoding() != Some(Encoding::Smem) && !answers(inst);
    if !timing.issues.is_empty() {
        // What a load does not write at once are its results, and those alone.
        timing.late = inst
            .operands()
            .iter()
            .filter(|o| o.slot.role != Role::Source)
            .flat_map(|o| o.value.registers())
            .filter(|r| timing.writes.contains(r))
            .collect();
    }
    let used = !timing.reads.is_empty() || !timing.writes.is_empty();
    (used || !timing.waits.is_empty() || !timing.issues.is_empty()).then_some(timing)
}

fn issues(inst: &Inst, family: Family) -> Vec<Counter> {
    let split = family == Family::Gfx12;
    let (lds, scalar) =
        if split { (Counter::Lds, Counter::Scalar) } else { (Counter::LdsAndScalar, Counter::LdsAndScalar) };
    let stores = match inst.access() {
        Some(Access::Store) => true,
        Some(Access::Atomic) => !inst.returns(),
        _ => false,
    };
    let memory = if stores && family != Family::Gfx9 { Counter::Store } else { Counter::Load };
    match (inst.encoding(), inst.class()) {
        (Some(Encoding::Flat), _) if inst.access().is_some() => vec![memory, lds],
        (Some(Encoding::Ds), _) => vec![lds],
        _ if answers(inst) => vec![scalar],
        (Some(Encoding::Smem), Some(Class::ScalarMemory)) if !inst.operands().is_empty() => vec![scalar],
        (_, Some(Class::VectorMemory)) if inst.access().is_some() => vec![memory],
        _ => Vec::new(),
    }
}

/// Whether the instruction sends a message whose answer comes later.
fn answers(inst: &Inst) -> bool {
    inst.name().starts_with("s_sendmsg_rtn")
}
