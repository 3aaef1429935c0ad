//! libFuzzer on `prlx_fuzz::checks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::checks::run(data));
