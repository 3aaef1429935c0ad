//! The outcomes of many runs of one launch or program.

pub mod repeats;
pub mod schedules;
