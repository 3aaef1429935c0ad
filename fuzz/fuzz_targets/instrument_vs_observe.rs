//! Any bytes as a small kernel: rewritten code under a hostile schedule records what hooks see, and the verifier agrees.
#![no_main]

#[path = "../../crates/cli/tests/support/generate.rs"]
mod generate;
#[path = "../../crates/cli/tests/support/mod.rs"]
mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Err(e) = generate::check(data) {
        let text = generate::job(data).map(|job| job.text).unwrap_or_default();
        panic!("{e}\n{text}");
    }
});
