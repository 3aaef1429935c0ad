//! libFuzzer on `prlx_fuzz::v1_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::v1_read::run(data));
