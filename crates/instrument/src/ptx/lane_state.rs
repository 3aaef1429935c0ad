//! What a recording lane keeps, per level: in registers inside a function, in a record across calls.
//!
//! Registers are declared at the top of every recorded function. The record is a `.local` variable of the kernel, made
//! only if it calls recorded functions; they get its address as an appended parameter and hand it on, so that recursion
//! needs nothing more. Trip counters are one activation's and stay in registers; visit counters count over the whole
//! launch, so those of device functions live in the record alone.
//!
//! **The cursor also says that nothing is written any more.** Elements have at least four bytes, so its two lowest bits
//! are free, and since its row part is then 0, only the path that would fetch a chunk looks at them: bit 0, this lane is
//! not recorded (no context, or a warp that the filter leaves out); bit 1, the pool is used up, and the bits above the
//! chunk's count the elements lost. No fast path tests anything for it, and no memory is touched.

use crate::ptx::markers::registers::state;
use prlx_plan::code::Ty;
use prlx_plan::{Plan, RollingHash};
use prlx_trace::device::Shape;
use prlx_trace::device::tables::Part;
use prlx_trace::kernel::Level;

use crate::ptx::markers::registers::sum;

/// Lanes in a warp of every GPU that runs PTX.
pub(super) const WARP: u64 = 32;

/// Bits of a cursor that has none of a chunk: this lane is not recorded.
pub(super) const OFF: u64 = 1;

/// Likewise: this lane's elements are lost and counted.
pub(super) const LOST: u64 = 2;

/// A register that lives through a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Kept {
    /// Name, after `%` and the prefix.
    pub name: String,
    /// Bytes: 4 or 8.
    pub size: u64,
    /// What a kernel sets it to; `None`: [`super::lifetime`] computes it.
    pub init: Option<u64>,
    /// Its place in the record; `None`: it is not handed to callees.
    pub offset: Option<u64>,
    /// Whether callees change it.
    pub changes: bool,
}

impl Kept {
    pub fn new(name: impl Into<String>, size: u64, init: Option<u64>, offset: Option<u64>) -> Kept {
        Kept { name: name.into(), size, init, offset, changes: true }
    }
}

/// The state of a level, and the record's layout.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct State {
    /// The level.
    pub level: Level,
    /// Shape of its streams.
    pub shape: Shape,
    /// What every recorded function keeps.
    pub shared: Vec<Kept>,
    /// By function of the plan: the record's offset of its visit counters.
    pub visits: Vec<u64>,
    /// Bytes of the record.
    pub size: u64,
}

/// The record's offset of the cursor.
pub(super) const CURSOR_AT: u64 = 0;

/// The record's offset of the context's address.
pub(super) const CONTEXT_AT: u64 = 8;

impl State {
    /// The state that `plan` needs; `counters` says how many visit counters each function has.
    pub fn new(plan: &Plan, counters: &[u32]) -> State {
        let level = plan.request.level;
        let mut shared = match level {
            // It has no stream.
            Level::Probe => Vec::new(),
            _ => vec![Kept::new("cursor", 8, None, Some(CURSOR_AT))],
        };
        let mut size = CONTEXT_AT + 8;
        match level {
            Level::Path => shared.push(Kept::new("word", 4, Some(1), Some(16))),
            Level::Fingerprint => {
                for i in 0..4 {
                    shared.push(Kept::new(hash(i), 8, Some(RollingHash::START), Some(16 + 8 * i)));
                }
                shared.push(Kept::new("edges", 4, Some(0), Some(48)));
            }
            Level::Events => {}
            Level::Operands => {
                for (name, at) in [("first", 16), ("span", 20)] {
                    shared.push(Kept { changes: false, ..Kept::new(name, 4, None, Some(at)) });
                }
            }
            Level::Probe => {
                let mut at = size;
                for (i, var) in plan.probe_state.vars.iter().enumerate() {
                    shared.push(Kept::new(
                        format!("var{i}"),
                        variable_size(var.ty),
                        Some(var.init),
                        Some(at),
                    ));
                    at += 8;
                }
                for i in 0..plan.probe_state.packed.words() {
                    shared.push(Kept::new(format!("packed{i}"), 4, Some(0), Some(at)));
                    at += 8;
                }
                for i in plan.probe_state.packed.counters as usize..plan.probe_state.counters.len() {
                    shared.push(Kept::new(format!("counter{i}"), 8, Some(0), Some(at)));
                    at += 8;
                }
                if plan.probe_state.records.parts.iter().any(Part::numbered) {
                    shared.push(Kept { changes: false, ..Kept::new("records", 8, None, Some(at)) });
                    at += 8;
                }
                for (i, _) in
                    plan.probe_state.records.parts.iter().enumerate().filter(|(_, part)| part.numbered())
                {
                    shared.push(Kept::new(saved(i), 4, Some(0), Some(at)));
                    at += 8;
                }
                for (name, size, init) in plan.probe_state.tracks.iter().flat_map(state) {
                    shared.push(Kept::new(name, size, Some(init), Some(at)));
                    at += 8;
                }
                for i in 0..plan.probe_state.tracks.as_ref().map_or(0, |t| t.words) {
                    shared.push(Kept::new(sum(i), 4, Some(0), Some(at)));
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
        State { level, shape: Shape::of(level, WARP), shared, visits, size: size.next_multiple_of(8) }
    }

    /// What function `index` of the plan keeps in registers; `trips` and `visits` are its numbers of counters.
    pub fn kept(&self, trips: u32, visits: u32) -> Vec<Kept> {
        let mut kept = self.shared.clone();
        kept.extend((0..trips).map(|i| Kept::new(trip(i), 4, Some(0), None)));
        kept.extend((0..visits).map(|i| Kept::new(visit(i), 4, Some(0), None)));
        kept
    }
}

/// The register that counts what a thread has written of a declaration of records.
pub(super) fn saved(part: usize) -> String {
    format!("saved{part}")
}

/// The register of a hash.
pub(super) fn hash(into: u64) -> String {
    format!("hash{into}")
}

/// The register of a trip counter.
pub(super) fn trip(counter: u32) -> String {
    format!("trip{counter}")
}

/// The register of a visit counter.
pub(super) fn visit(counter: u32) -> String {
    format!("visit{counter}")
}

/// A variable's bytes in a register.
pub(super) fn variable_size(ty: Ty) -> u64 {
    if ty.bits() == 64 { 8 } else { 4 }
}
