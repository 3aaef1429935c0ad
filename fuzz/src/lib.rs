//! What is fuzzed: functions that take any bytes and panic if something is wrong.
//!
//! Holds: the same bytes do the same. libFuzzer runs them (`cargo xtask fuzz`); a plain test of `crates/cli` (`fuzz_corpus`),
//! which includes this file, runs them on the inputs that are kept in `fuzz/corpus`.

pub mod checks;
pub mod generate;
pub mod image_read;
pub mod instrument_vs_observe;
#[path = "../../crates/cli/tests/cases/lane_runs.rs"]
pub mod lane_runs;
pub mod launch_file;
pub mod probe_program;
pub mod ptx_read;
pub mod timeline_read;
pub mod trace_read;
pub mod tracks_read;
pub mod v1_read;
