//! libFuzzer on `prlx_fuzz::trace_read`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| prlx_fuzz::trace_read::run(data));
