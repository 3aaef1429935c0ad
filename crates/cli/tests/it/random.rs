//! The master test's comparison on random kernels: the generator of `fuzz/src/instrument_vs_observe.rs` with
//! a fixed sequence of bytes.
//!
//! # Invariants
//! - The kernels are the same on every machine, and a failure prints its kernel.
//!
//! # Limitations
//! - Those of the generator (`fuzz/src/generate.rs`).

use crate::generate;

const KERNELS: u64 = 150;

#[test]
fn random_kernels() {
    for i in 0..KERNELS {
        let mut state = i + 1;
        // SplitMix64.
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            (z ^ z >> 31) as u8
        };
        let data: Vec<u8> = (0..64 + i * 4).map(|_| next()).collect();
        if let Err(e) = generate::check(&data) {
            let text = generate::job(&data).map(|job| job.text).unwrap_or_default();
            panic!("kernel {i}: {e}\n{text}");
        }
    }
}
