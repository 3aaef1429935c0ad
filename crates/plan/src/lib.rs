//! What to watch where: a [`RecordingRequest`] resolved against a module gives a [`Plan`].
//!
//! The plan is the only input of every lowering and of the emulator's hooks. Recorders, probes and markers
//! are all insertions of one plan. It also carries the static half of the trace.
//!
//! How [`Plan::resolve`] works: `function` prepares each function and lists its sites. `choose` decides which
//! of them are recorded, and which a decoder can compute instead. A [`ProbeProgram`] binds itself, and
//! `markers` finds markers. `insert` makes the insertions. `decode` writes the static half.

mod choose;
mod decode;
pub mod function;
mod insert;
pub mod markers;
pub mod pattern;
mod plan;
mod probe;
mod resolve;

pub use decode::statics::kernel_params;
pub use insert::reservation::check_capacity;
pub use plan::{
    Action, At, EventRow, Filter, FunctionPlan, Insertion, MostWritten, Plan, RecordingRequest,
    RegisterChoice, RollingHash, SpanBegin, SpanEnd, Word, WordBits, value_hash,
};
pub use probe::program::{BoundProbe, ProbeProgram};
pub use probe::state::{
    CountShare, Counter, PackedCounters, ProbeState, SharedVariable, TableCopies, ThreadVariable,
    Unavailable, VariableScope,
};
pub use probe::{code, eval};
pub use resolve::{FILTERED, UNPROBED};
