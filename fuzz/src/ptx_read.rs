//! Reads any text as PTX. Reading must not panic, lose a byte, or use excessive time or memory.

use prlx_isa::cfg::Cfg;
use prlx_isa::dataflow::{DefUse, decisions};
use prlx_isa::ptx;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let (module, _) = ptx::parse(source);
    let mut at = 0;
    for item in &module.items {
        assert!(at <= item.span.start && item.span.start < item.span.end);
        assert!(source.get(item.span.range()).is_some());
        at = item.span.end;
    }
    assert!(at as usize <= source.len());
    for f in &module.functions {
        let mut at = f.body.start + 1;
        for statement in module.body(f) {
            assert!(at <= statement.span.start && statement.span.start < statement.span.end);
            assert!(source.get(statement.span.range()).is_some());
            at = statement.span.end;
        }
        assert!(at <= f.body.end);
    }
    let (view, _) = ptx::view(&module);
    for f in &view.functions {
        let graph = Cfg::of(f);
        decisions(f, &DefUse::of(f, &graph));
    }
    let _ = view.to_string();
}
