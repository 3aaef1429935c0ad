//! libFuzzer on `prlx_fuzz::timeline_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::timeline_read::run(data));
