//! Tests of the command line and of whole recordings over files: kernels of the corpus, examples, checks,
//! probe programs.
//!
//! A trial is named after its group and its case, as `master/cuda/saxpy path`. `cargo test -p prlx-cli --test
//! cases NAME` runs the trials whose name contains NAME. The test program is also the program that trials of
//! `program` record.

mod amd;
mod checks;
mod checks_amd;
mod corpus;
mod examples;
mod fingerprints;
mod lane_runs;
mod master;
mod planted;
mod planted_amd;
mod planted_operations;
mod probes;
mod program;
#[path = "../../../../tests/tools.rs"]
mod tools;
mod wide;

// The corpus by target, as the tests of the CPU device list it.
#[path = "../../../emu/tests/cases/corpus.rs"]
mod device_corpus;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|w| w == "app") {
        return program::app(&words[2..]);
    }
    let groups: [fn() -> Vec<Trial>; 11] = [
        master::trials,
        wide::trials,
        amd::trials,
        probes::trials,
        examples::trials,
        fingerprints::trials,
        planted::trials,
        planted_amd::trials,
        checks::trials,
        checks_amd::trials,
        program::trials,
    ];
    let trials = groups.iter().flat_map(|group| group()).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
