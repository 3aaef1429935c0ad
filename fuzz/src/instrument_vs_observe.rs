//! Any bytes as a small kernel: rewritten code under a hostile schedule records what hooks see, and the
//! verifier agrees.

use super::generate;

/// Runs it.
pub fn run(data: &[u8]) {
    if let Err(e) = generate::check(data) {
        let text = generate::job(data).map(|job| job.text).unwrap_or_default();
        panic!("{e}\n{text}");
    }
}
