//! Reads any bytes as a recording, and as one of its parts. The result is a value or an error, never a panic
//! or excessive memory.

use prlx_trace::Trace;

/// Runs the target on one input.
pub fn run(data: &[u8]) {
    if let Ok(trace) = Trace::read_cut(data) {
        let _ = trace.dump(&mut std::io::sink());
        let mut out = Vec::new();
        if trace.write(&mut out).is_ok() {
            assert_eq!(Trace::read(&out).is_ok(), trace.cut.is_none());
            assert_eq!(Trace::read_cut(&out).is_ok_and(|t| t.cut.is_some()), trace.cut.is_some());
        }
        assert_eq!(Trace::read(data).is_ok(), trace.cut.is_none());
    }
    prlx_trace::fuzz::parts(data);
}
