//! libFuzzer on `prlx_fuzz::amd_object`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::amd_object::run(data));
