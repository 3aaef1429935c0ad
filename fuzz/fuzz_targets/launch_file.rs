//! libFuzzer on `prlx_fuzz::launch_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::launch_file::run(data));
