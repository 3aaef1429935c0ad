//! Any bytes as a recording, or as one of its parts: an error or a value, never a panic, never much memory.

use prlx_trace::Trace;

/// Runs it.
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
