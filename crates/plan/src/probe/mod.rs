//! Probe code in a plan: its instructions, their meaning, and the state that it keeps. The plan does not know
//! the language.

pub mod code;
pub(crate) mod counters;
pub mod eval;
pub(crate) mod program;
pub(crate) mod state;
