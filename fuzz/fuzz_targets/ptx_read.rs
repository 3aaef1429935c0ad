//! libFuzzer on `prlx_fuzz::ptx_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::ptx_read::run(data));
