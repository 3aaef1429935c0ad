//! libFuzzer on `prlx_fuzz::probe_program`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::probe_program::run(data));
