//! The integration tests of `prlx-mockcuda`. They share one process, so they share the mock's device: see
//! `turn`.

mod digests;
mod fault;
mod grid_barrier;
mod memory_changes;
mod programs;
mod recorder;
#[path = "../../../../tests/tools.rs"]
mod tools;
mod turn;
