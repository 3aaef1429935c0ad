//! Tests of the command line: what `prlx` prints, what it writes, and how it ends.

mod amd_probes;
mod atomic_sums;
mod calls;
mod captured;
mod cli;
mod clocks;
mod cuda;
mod deterministic;
mod diff_flags;
mod distributed;
mod endless;
mod engine;
mod field;
mod following_errors;
mod front_door;
mod fuzz_corpus;
mod hip_sources;
mod hostile;
mod launch_files;
mod loads;
mod loop_conditions;
mod machine_code;
#[path = "../../../../tests/nvidia.rs"]
mod nvidia;
mod planted_causes;
mod probe_constants;
mod probe_program;
mod probe_tables;
mod profile_program;
mod programs;
#[cfg(feature = "query")]
mod query;
mod random;
mod random_causes;
mod recorded_outputs;
#[path = "../../../../tests/tools.rs"]
mod tools;
mod v1_sources;

// The fuzz targets: `fuzz` is a package of its own, which needs a nightly compiler.
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;
use fuzz::{generate, lane_runs};
