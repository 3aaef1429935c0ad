//! The state that a recording lane keeps, by level: in registers inside a function, in a record across calls.
//!
//! The registers are declared at the top of every recorded function. The record is a `.local` variable of the
//! kernel. It exists only if the kernel calls recorded functions. They receive its address as an appended
//! parameter and pass it on, so recursion needs nothing more. Trip counters belong to one activation and stay
//! in registers. Visit counters count over the whole launch, so those of device functions are in the record
//! only.
//!
//! **The cursor also encodes that nothing is written any more.** Elements have at least four bytes, so the
//! cursor's two lowest bits are free. Its row part is 0 in that state, so only the path that would fetch a
//! chunk tests these bits. Bit 0: this lane is not recorded (no context, or the filter excludes its warp).
//! Bit 1: the pool is used up, and the bits above the chunk's offset count the lost elements. No fast path
//! tests for it, and no memory is accessed.

use crate::ptx::markers::registers::track_registers;
use prlx_plan::code::Ty;
use prlx_plan::{Plan, RollingHash};
use prlx_trace::device::Shape;
use prlx_trace::device::tables::Part;
use prlx_trace::kernel::Level;

use crate::ptx::markers::registers::sum;

/// Cursor without a chunk: this lane is not recorded.
pub(super) const NOT_RECORDED: u64 = 1;

/// Cursor without a chunk: this lane's elements are lost and counted.
pub(super) const LOST: u64 = 2;

/// A register that is live through a whole function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StateRegister {
    /// Name after `%` and the prefix.
    pub name: String,
    /// Size in bytes: 4 or 8.
    pub size: u64,
    /// Initial value in a kernel; `None`: [`super::lifetime`] computes it.
    pub init: Option<u64>,
    /// Offset in the record; `None`: it is not passed to callees.
    pub offset: Option<u64>,
    /// Whether callees change the register.
    pub changes: bool,
}

impl StateRegister {
    pub fn new(name: impl Into<String>, size: u64, init: Option<u64>, offset: Option<u64>) -> StateRegister {
        StateRegister { name: name.into(), size, init, offset, changes: true }
    }
}

/// The state of a level, and the layout of the record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StateLayout {
    /// Level of recording.
    pub level: Level,
    /// Shape of the streams.
    pub shape: Shape,
    /// Registers of every recorded function.
    pub shared: Vec<StateRegister>,
    /// Offset in the record of the visit counters of each function of the plan.
    pub visits: Vec<u64>,
    /// Size of the record, bytes.
    pub size: u64,
}

/// Offset of the cursor in the record.
pub(super) const CURSOR_AT: u64 = 0;

/// Offset of the context's address in the record.
pub(super) const CONTEXT_AT: u64 = 8;

impl StateLayout {
    /// The state that `plan` needs. `counters` has the number of visit counters of each function.
    pub fn new(plan: &Plan, counters: &[u32]) -> StateLayout {
        let level = plan.request.level;
        let mut shared = match level {
            // Level `probe` has no stream.
            Level::Probe => Vec::new(),
            _ => vec![StateRegister::new("cursor", 8, None, Some(CURSOR_AT))],
        };
        let mut size = CONTEXT_AT + 8;
        match level {
            Level::Path | Level::Values => shared.push(StateRegister::new("word", 4, Some(1), Some(16))),
            Level::Fingerprint => {
                for i in 0..4 {
                    let start = Some(RollingHash::START.into());
                    shared.push(StateRegister::new(hash(i), 4, start, Some(16 + 8 * i)));
                }
                shared.push(StateRegister::new("edges", 4, Some(0), Some(48)));
                // Decisions of one basic block; empty where functions call each other.
                shared.push(StateRegister::new("word", 4, Some(1), None));
            }
            Level::Events => {}
            Level::Operands => {
                for (name, at) in [("first", 16), ("span", 20)] {
                    shared.push(StateRegister {
                        changes: false,
                        ..StateRegister::new(name, 4, None, Some(at))
                    });
                }
            }
            Level::Probe => {
                let mut at = size;
                for (i, var) in plan.probe_state.vars.iter().enumerate() {
                    shared.push(StateRegister::new(
                        format!("var{i}"),
                        variable_size(var.ty),
                        Some(var.init),
                        Some(at),
                    ));
                    at += 8;
                }
                for i in 0..plan.probe_state.packed.words() {
                    shared.push(StateRegister::new(format!("packed{i}"), 4, Some(0), Some(at)));
                    at += 8;
                }
                for i in plan.probe_state.packed.counters as usize..plan.probe_state.counters.len() {
                    shared.push(StateRegister::new(format!("counter{i}"), 8, Some(0), Some(at)));
                    at += 8;
                }
                if plan.probe_state.records.parts.iter().any(Part::numbered) {
                    shared.push(StateRegister {
                        changes: false,
                        ..StateRegister::new("records", 8, None, Some(at))
                    });
                    at += 8;
                }
                for (i, _) in
                    plan.probe_state.records.parts.iter().enumerate().filter(|(_, part)| part.numbered())
                {
                    shared.push(StateRegister::new(record_count_register(i), 4, Some(0), Some(at)));
                    at += 8;
                }
                for (name, size, init) in plan.probe_state.tracks.iter().flat_map(track_registers) {
                    shared.push(StateRegister::new(name, size, Some(init), Some(at)));
                    at += 8;
                }
                for i in 0..plan.probe_state.tracks.as_ref().map_or(0, |t| t.words) {
                    shared.push(StateRegister::new(sum(i), 4, Some(0), Some(at)));
                    at += 4;
                }
            }
        }
        size = shared.iter().filter_map(|k| Some(k.offset? + k.size)).fold(size, u64::max);
        let visits = counters
            .iter()
            .map(|&n| {
                let at = size;
                size += 4 * u64::from(n);
                at
            })
            .collect();
        StateLayout {
            level,
            shape: Shape::of(level, plan.warp_size),
            shared,
            visits,
            size: size.next_multiple_of(8),
        }
    }

    /// Registers of one function. `trips` and `visits` are its numbers of counters.
    pub fn state_registers(&self, trips: u32, visits: u32) -> Vec<StateRegister> {
        let mut kept = self.shared.clone();
        kept.extend((0..trips).map(|i| StateRegister::new(trip(i), 4, Some(0), None)));
        kept.extend((0..visits).map(|i| StateRegister::new(visit(i), 4, Some(0), None)));
        kept
    }
}

/// Name of the register that counts the records that a thread wrote of a declaration.
pub(super) fn record_count_register(part: usize) -> String {
    format!("saved{part}")
}

/// Name of the register of a hash.
pub(super) fn hash(into: u64) -> String {
    format!("hash{into}")
}

/// Name of the register of a trip counter.
pub(super) fn trip(counter: u32) -> String {
    format!("trip{counter}")
}

/// Name of the register of a visit counter.
pub(super) fn visit(counter: u32) -> String {
    format!("visit{counter}")
}

/// Name of the register of a visit counter of AMD code, which all functions keep.
pub(super) fn visit_of(function: usize, counter: u32) -> String {
    format!("visit{function}_{counter}")
}

/// Size of a variable's register, bytes.
pub(super) fn variable_size(ty: Ty) -> u64 {
    if ty.bits() == 64 { 8 } else { 4 }
}
