//! Interprets any bytes as a small kernel. Instrumented code under a hostile schedule must record the same as
//! hooks, and the verifier must accept it.

use super::generate;

/// Runs the target on one input.
pub fn run(data: &[u8]) {
    if let Err(e) = generate::check(data) {
        let text = generate::job(data).map(|job| job.text).unwrap_or_default();
        panic!("{e}\n{text}");
    }
}
