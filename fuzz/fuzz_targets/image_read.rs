//! libFuzzer on `prlx_fuzz::image_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::image_read::run(data));
