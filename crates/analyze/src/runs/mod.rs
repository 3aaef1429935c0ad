//! Models of repeated runs: which outcomes occurred, how often each did, and where two of them differ.
//!
//! `prlx repeat` fills [`repeats`]; `prlx run --seeds` and `prlx compare --seeds` fill [`schedules`].
//! `prlx-present` turns both into text and JSON.
//!
//! # Invariants
//! Outcomes are sorted by the number of runs, the largest first, then by their first run. Field names are
//! keys of the JSON output.

pub mod repeats;
pub mod schedules;
