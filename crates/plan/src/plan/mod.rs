//! Programs and plans.
//!
//! **State of a recording lane.** Lowered code and hooks keep, per lane, what the actions of its level need:
//! - `path`, `values`: the word under construction (starts as 1: no decisions), the cursor, and a counter of
//!   trips, 0 outside of counted loops and one more than the trips that were gone on with inside (lowered
//!   code keeps it in 32 bits: a lane may go on 2^32 - 2 times);
//! - `print`: four 32-bit hashes (each starts as [`RollingHash::START`]), the cursor, a 64-bit count of back
//!   edges;
//! - `events`: the cursor, and a counter of trips; - `operands`: the cursor and a 32-bit visit counter per
//!   watched site;
//! - `probe`: the program's variables, and counters (64 bits each, or several in 32); of a track the cursor,
//!   where it ends, the high half of both.
//!
//! Device functions get the state from their caller and give it back ([`Action::Save`], [`Action::Restore`]
//! around the call; [`Action::Begin`] and [`Action::End`] in the callee).

mod event_rows;
pub(crate) mod hash;
pub(crate) mod insertion;
mod print;
pub(crate) mod request;

use prlx_isa::view::FuncId;
use prlx_trace::WarpSize;
use prlx_trace::device::{Finals, LastWord};
use prlx_trace::kernel::Module;

pub use event_rows::EventRow;
pub use hash::{RollingHash, value_hash};
pub use insertion::{Action, At, Insertion, SpanBegin, SpanEnd, Word, WordBits};
pub use request::{Filter, RecordingRequest, RegisterChoice};

use crate::probe::code::LaneQuery;
use crate::probe::state::ProbeState;

/// A program resolved against a module: the only input of every lowering.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// What was asked for.
    pub request: RecordingRequest,
    /// Size of the warps that it is for.
    pub warp_size: WarpSize,
    /// The static half of the trace to be: functions with decode programs, sites, locations. Function `i` is
    /// the view's function `i`.
    pub module: Module,
    /// By function of the view, in order.
    pub functions: Vec<FunctionPlan>,
    /// What a probe program keeps; of a recorder it is empty.
    pub probe_state: ProbeState,
    /// What a warp leaves at its end: hashes into which something is folded, or last words.
    pub finals: Finals,
}

/// How much a lane writes at level `path`, at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MostWritten {
    /// Decisions, or bits of values and counts, on any path through the function.
    pub bits: u32,
    /// Words other than the last one.
    pub words: u32,
}

/// What goes into one function.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FunctionPlan {
    /// Which function of the view.
    pub function: FuncId,
    /// Why it is left as it is: the filter, something that can't be instrumented, or that nothing in it needs
    /// recording (the module's function is not skipped then: a decoder walks it). No insertions then.
    pub skipped: Option<String>,
    /// What to insert, by position; at the same position in this order.
    pub insertions: Vec<Insertion>,
    /// Trip-counted loops: how many counters there are.
    pub trip_counters: u32,
    /// Of a kernel at level `path`, how much a lane writes at most. `None`: that depends on data, or is not
    /// known.
    pub most_written: Option<MostWritten>,
}

impl Plan {
    /// Whether anything in it writes to streams: often all that a kernel decides can be computed.
    pub fn writes(&self) -> bool {
        use Action::{Bits, Checkpoint, Event, Operands, TripEnd, TripEvent, ValueHash};
        let mut actions = self.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
        let counts = |a: &Action| matches!(a, TripEnd { .. } | TripEvent { .. });
        actions.any(|a| {
            let bits = matches!(a, Bits { .. } | ValueHash { .. });
            counts(a) || bits || matches!(a, Checkpoint { .. } | Event { .. } | Operands { .. })
        })
    }
    /// Whether a probe program asks for the number of the launch.
    pub fn uses_launch_number(&self) -> bool {
        let mut actions = self.functions.iter().flat_map(|f| &f.insertions).map(|i| &i.action);
        actions.any(|a| matches!(a, Action::Probe(code) if code.queries(LaneQuery::Launch)))
    }
    /// How many elements a lane of a kernel writes to its stream at most. `None`: that depends on data, or is
    /// not known.
    pub fn most_elements(&self, kernel: prlx_trace::FuncId) -> Option<u32> {
        if !self.writes() {
            return Some(0);
        }
        self.functions.get(kernel.index()).and_then(|f| f.most_written).map(|most| most.words)
    }
    /// [`Plan::finals`] of functions, for warps of that size.
    pub fn finals(functions: &[FunctionPlan], warp_size: WarpSize) -> Finals {
        let last_word = |f: &FunctionPlan| f.most_written.map_or(LastWord::Whole, |m| LastWord::of(m.bits));
        let recorded = functions.iter().filter(|f| f.skipped.is_none());
        let last_word = recorded.map(last_word).max().unwrap_or(LastWord::None);
        let mut finals = Finals { warp_size, last_word, ..Finals::default() };
        for insertion in functions.iter().flat_map(|f| &f.insertions) {
            match &insertion.action {
                Action::Fold { into, .. } => finals.used[*into as usize] = true,
                Action::TripFold { .. } | Action::FoldWord => {
                    finals.used[RollingHash::Control as usize] = true
                }
                _ => {}
            }
        }
        finals
    }
}
