//! Models of many runs of one thing: which outcomes there are, how often each came, and where two of them
//! differ.
//!
//! `prlx repeat` fills [`repeats`]; `prlx run --seeds` and `prlx compare --seeds` fill [`schedules`].
//! `prlx-present` turns both into text and JSON.
//!
//! # Invariants
//! Outcomes are sorted by how many runs had them, most first, then by their first run. Field names are keys
//! of the JSON output.

pub mod repeats;
pub mod schedules;
