//! libFuzzer on `prlx_fuzz::amdgpu_inst`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::amdgpu_inst::run(data));
