//! What to watch, and where it lands: a [`Program`] resolved against code gives a [`Plan`].
//!
//! The plan is the only thing that front doors lower and that the emulator's hooks run; recorders, probes and markers are
//! all insertions of one plan. It carries the static half of the trace to be.
//!
//! How [`Plan::resolve`] works, file by file: `body` prepares a function, `points` lists what in it carries a site,
//! `select` keeps what level and filter ask for, `elide` chooses what of it is recorded (`lower`: what a decoder can
//! evaluate; `trips`: loops that are counted, `waits`: those that wait; `together`: which events a reader can make; `ahead`: which are written early), `marks` finds markers, `record` and `place`
//! insert, `steps`, `statics` and `slice` write the static half.

mod ahead;
mod bind;
mod body;
pub mod code;
mod elide;
pub mod eval;
mod land;
pub mod lang;
mod lower;
pub mod marks;
pub mod neutrino;
mod pattern;
mod place;
mod plan;
mod points;
mod print;
mod record;
mod resolve;
mod select;
mod slice;
mod statics;
mod steps;
mod together;
pub mod told;
pub mod tools;
mod trips;
mod waits;
mod window;

pub use land::{Landing, instead};
pub use place::check_capacity;
pub use plan::{
    Action, At, Copies, Counter, Filter, Fold, FunctionPlan, Held, Insertion, Kept, Missed, Packed, Plan,
    Program, Share, SpanBegin, SpanEnd, Var, Word, Written,
};
pub use resolve::{IDLE, digest};
