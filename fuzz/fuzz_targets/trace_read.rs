//! Any bytes as a recording, or as one of its parts: an error or a value, never a panic, never much memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prlx_trace::Trace;

fuzz_target!(|data: &[u8]| {
    if let Ok(trace) = Trace::read(data) {
        let _ = trace.dump(&mut std::io::sink());
        let mut out = Vec::new();
        if trace.write(&mut out).is_ok() {
            assert!(Trace::read(&out).is_ok());
        }
    }
    prlx_trace::fuzz::parts(data);
});
