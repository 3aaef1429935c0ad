//! What is fuzzed: functions that take any bytes and panic if something is wrong.
//!
//! Holds: the same bytes do the same. libFuzzer runs them (`cargo xtask fuzz`); a plain test of `crates/cli`
//! (`fuzz_corpus`), which includes this file, runs them on the inputs that are kept in `fuzz/corpus`.

pub mod checks;
#[path = "../../crates/cli/tests/support/generate.rs"]
pub mod generate;
pub mod image_read;
pub mod instrument_vs_observe;
pub mod launch_file;
pub mod probe_program;
pub mod ptx_read;
#[path = "../../crates/cli/tests/support/mod.rs"]
pub mod support;
pub mod timeline_read;
pub mod trace_read;
pub mod tracks_read;
pub mod v1_read;
