//! libFuzzer on `prlx_fuzz::instrument_vs_observe`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::instrument_vs_observe::run(data));
