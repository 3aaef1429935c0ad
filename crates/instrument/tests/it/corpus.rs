//! Every module of the corpus at every level lowers, and the verifier accepts the result.

use std::sync::atomic::{AtomicUsize, Ordering};

use prlx_isa::view::Module;
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::kernel::Level;

#[test]
fn the_corpus_is_rewritten_and_verified() {
    each(&crate::support::corpus(), |_, module, level| {
        let mut program = crate::support::program(level);
        program.elide = true;
        let mut plan = Plan::resolve(&program, module, "corpus", &|_| None);
        if level == Level::Operands {
            // All sites at once: the window of a real run names a few.
            let sites = (0..plan.module.sites.len() as u32).map(prlx_trace::SiteId).collect();
            program.window = Some(prlx_trace::launch::Window { sites, warps: (0, 4), visits: (0, 8) });
            plan = Plan::resolve(&program, module, "corpus", &|_| None);
        }
        plan
    });
}

/// The same, with the code that takes a chunk as a function that all places call.
#[test]
fn the_corpus_is_rewritten_with_calls() {
    each(&crate::support::corpus(), |_, module, level| {
        let program = RecordingRequest { elide: true, inline_chunks: 0, ..crate::support::program(level) };
        Plan::resolve(&program, module, "corpus", &|_| None)
    });
}

/// An action at every position, in a few modules that contain one of everything.
#[test]
fn dense_plans_are_rewritten_and_verified() {
    let wanted = ["device_calls", "recursion", "threshold", "debug_reduce", "warp_specialised", "atomics"];
    let corpus: Vec<_> = crate::support::corpus()
        .into_iter()
        .filter(|(name, _)| wanted.iter().any(|w| name.contains(w)))
        .collect();
    for calls in [false, true] {
        each(&corpus, |_, module, level| {
            let mut plan = crate::support::dense(module, level);
            if calls {
                plan.request.inline_chunks = 0;
            }
            plan
        });
    }
}

fn each(corpus: &[(String, String)], plan: impl Fn(&str, &Module, Level) -> Plan + Sync) {
    assert!(!corpus.is_empty(), "the corpus is missing");
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((name, source)) = corpus.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (module, _) = prlx_isa::ptx::read(source);
                    for level in crate::support::LEVELS {
                        let what = format!("{name} at {}", level.name());
                        one(&what, source, &module, &plan(source, &module, level));
                    }
                }
            });
        }
    });
}

fn one(what: &str, source: &str, module: &Module, plan: &Plan) {
    let edits = prlx_instrument::ptx(source, module, plan).unwrap_or_else(|e| panic!("{what}: {e}"));
    let rewritten = prlx_instrument::apply(source, &edits);
    if let Err(e) = prlx_instrument::verify(source, &rewritten, module, plan) {
        let from = (e.span.start as usize).saturating_sub(200);
        let near = rewritten.get(from..(from + 1500).min(rewritten.len())).unwrap_or_default();
        panic!("{what}: {e}\n{near}");
    }
}
