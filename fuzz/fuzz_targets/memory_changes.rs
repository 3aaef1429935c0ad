//! libFuzzer on `prlx_fuzz::memory_changes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::memory_changes::run(data));
