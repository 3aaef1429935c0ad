//! libFuzzer on `prlx_fuzz::tracks_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::tracks_read::run(data));
