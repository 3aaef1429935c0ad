//! The fuzz targets: functions that take any bytes, and panic if something is wrong.
//!
//! `cargo xtask fuzz` runs them with libFuzzer. A plain test of `crates/cli` (`fuzz_corpus`) includes this
//! file and runs them on the tracked inputs in `fuzz/corpus`.
//!
//! # Invariants
//! A target is deterministic: equal bytes have equal effects.

pub mod amd_object;
pub mod amdgpu_inst;
pub mod checks;
pub mod generate;
pub mod image_read;
pub mod instrument_vs_observe;
#[path = "../../crates/cli/tests/cases/lane_runs.rs"]
pub mod lane_runs;
pub mod launch_file;
pub mod memory_changes;
pub mod probe_program;
pub mod ptx_read;
pub mod timeline_read;
pub mod trace_read;
pub mod tracks_read;
pub mod v1_read;
