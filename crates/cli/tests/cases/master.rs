//! The master test: one trace, however it is made (DESIGN.md, house rule 7).
//!
//! For every kernel of the corpus and every level, the emulator runs the original code with hooks (every
//! decision is one bit) and rewritten code (with elision, under hostile schedules). Both must give the same
//! streams for each lane, and the outputs of the kernel's independent reference. Hashes of level
//! `fingerprint` cannot be decoded, so elision is on for both.
//!
//! Two lists beside the kernels name the exceptions and give reasons. Both must be exact, so that no kernel
//! enters or leaves them unnoticed.
//!
//! - `schedule.txt`: kernels that legally behave differently under other schedules (spin loops, `activemask`,
//!   branches on the result of an atomic), by level. Only damage is checked there.
//! - `refused.txt`: kernels that the CPU device refuses. A line with a target is about that target's module,
//!   which `crates/emu/tests/cases/outputs.rs` runs and this test does not.
//!
//! Kernels of [`CALLS`] also run in a form in which every place calls the code that takes a chunk, which
//! otherwise only long functions do.
//!
//! `PRLX_MASTER=name` runs the kernels whose directory name contains that text.

use std::path::Path;

use crate::corpus::{kernels, label, list};
use crate::lane_runs::{Run, emulator, observe, program, record, record_in, same, stream};
use libtest_mimic::{Failed, Trial};
use prlx_analyze::{CheckedModule, DecodeLimits, Decoder, PathItem, complete_events};
use prlx_driver::{ErrorKind, Job};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::kernel::SiteClass;
use prlx_trace::{Level, SiteId, WarpId, WarpSize};

/// Seed 0 is the fair schedule; the others split warps and interleave as they please.
const SEEDS: &[u64] = &[0, 1, 7];

/// Kernels that also run in the form with calls: loops, device functions with the ABI and recursion, diverged
/// and exited lanes, CTAs of several shapes, clusters, code at -O0.
const CALLS: [&str; 10] = [
    "cuda/bitonic_sort",
    "cuda/cluster_reduce",
    "cuda/debug_reduce",
    "cuda/early_exit",
    "cuda/levenshtein",
    "cuda/loaded_loops",
    "cuda/noinline_call",
    "cuda/recursion",
    "cuda/transpose",
    "cuda/warp_specialised",
];

/// One trial for each kernel of the corpus and each level, and one more for each kernel of [`CALLS`].
pub fn trials() -> Vec<Trial> {
    let only = std::env::var("PRLX_MASTER").unwrap_or_default();
    let mut folders = kernels();
    assert!(CALLS.iter().all(|name| folders.iter().any(|f| label(f) == *name)), "a kernel of CALLS is gone");
    folders.retain(|f| label(f).contains(&only));
    let (refused, scheduled) = (list("refused.txt"), list("schedule.txt"));
    let mut trials = Vec::new();
    for folder in folders {
        let name = label(&folder);
        if refused.contains_key(&name) {
            trials.push(Trial::test(format!("master/{name} is refused"), move || refuses(&folder)));
            continue;
        }
        for level in Level::RECORDERS.iter().copied() {
            let scheduled =
                scheduled.get(&name).is_some_and(|of| of.split(',').any(|w| w == "all" || w == level.name()));
            let inline_chunks = RecordingRequest::new(level).inline_chunks;
            for (form, inline_chunks) in [("", inline_chunks), (" with calls", 0)] {
                if form.is_empty() || CALLS.contains(&name.as_str()) {
                    let folder = folder.clone();
                    let trial = move || one(&folder, level, scheduled, inline_chunks);
                    trials.push(Trial::test(format!("master/{name} {}{form}", level.name()), trial));
                }
            }
        }
    }
    trials
}

/// A kernel of the list is refused with the name of what is missing, and where.
fn refuses(folder: &Path) -> Result<(), Failed> {
    let job = Job::load(&folder.join("launch.toml"))?;
    match prlx_driver::run(&mut emulator(WarpSize::W32), &job) {
        Err(e) if e.kind == ErrorKind::Unsupported => {
            // An instruction with its line, or the directive of the kernel that asks for too much.
            let place = e.message.contains(" at kernel.") || e.message.contains("`.");
            if place { Ok(()) } else { Err(format!("the refusal names no place: {e}").into()) }
        }
        Err(e) => Err(format!("fails instead of being refused: {e}").into()),
        Ok(_) => Err("runs now: take it off tests/kernels/refused.txt".into()),
    }
}

fn one(folder: &Path, level: Level, scheduled: bool, inline_chunks: usize) -> Result<(), Failed> {
    let mut job = Job::load(&folder.join("launch.toml"))?;
    let request = RecordingRequest { inline_chunks, ..program(level, true, &job) };
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &request, &|_| None)?;
    let (view, _) = prlx_isa::ptx::read(&job.text);
    // Hashes are not decoded: what they hold is what the plan says, and that computed decisions are right is
    // for `path` to show.
    let elide = level == Level::Fingerprint;
    let reference = Plan::resolve(&program(level, elide, &job), &view, &job.module, &|_| None);
    let mut hooks = Vec::new();
    let mut code = Vec::new();
    for &seed in SEEDS {
        job.config.seed = seed;
        hooks.push(observe(&job, &reference)?);
        code.push(record(&job, &rewrite.text, &rewrite.plan)?);
    }
    for ((seed, run), hook) in SEEDS.iter().zip(&code).zip(&hooks) {
        if run.damaged {
            return Err(format!("seed {seed}: damaged streams").into());
        }
        if !scheduled {
            if run.wrong > 0 {
                return Err(format!("seed {seed}: {} buffers are not as expected", run.wrong).into());
            }
            same(level, &hooks[0], hook)
                .map_err(|e| format!("hooks under seed {seed} (should it be in schedule.txt?): {e}"))?;
            same(level, &hooks[0], run).map_err(|e| format!("seed {seed}: {e}"))?;
        }
    }
    if level == Level::Events && !scheduled {
        // Under the fair schedule, who is together is what the code says.
        together(&hooks[0], &code[0])?;
    }
    // What does not fit is counted, and harms nothing. How many events a warp has depends on who came
    // together.
    let counts = level != Level::Events && !scheduled;
    let complete_events = code.last().map_or(0, |run| run.launch.totals.recorded);
    for pool in [0, 16 << 10] {
        let run = record_in(&job, &rewrite.text, &rewrite.plan, pool)?;
        let got = run.launch.totals;
        let wrong = !scheduled && run.wrong > 0;
        if run.damaged || wrong || counts && got.recorded + got.dropped != complete_events {
            let (kept, lost) = (got.recorded, got.dropped);
            return Err(format!(
                "a pool of {pool} bytes: {kept} kept, {lost} counted as lost, of {complete_events}"
            )
            .into());
        }
    }
    Ok(())
}

/// Compares who was together at each visit of two runs at level `events`, of which one may have left events
/// out.
fn together(a: &Run, b: &Run) -> Result<(), String> {
    let all = |run: &Run, warp| -> Result<Vec<Vec<(SiteId, u64)>>, String> {
        let program = CheckedModule::new(&run.module).map_err(|e| e.to_string())?;
        let stream = stream(run, warp);
        let stream = complete_events(&program, &run.launch, &stream, DecodeLimits::default());
        let of = |lane| {
            let decoder = Decoder::new(&program, &run.launch, &stream, lane, DecodeLimits::default());
            let mut decoder = decoder.map_err(|e| e.to_string())?.flat().with_complete_stream();
            let mut visits = Vec::new();
            while let Some(item) = decoder.next().map_err(|e| e.to_string())? {
                visits.extend(if let PathItem::Visit { site, mask, .. } = item {
                    Some((site, mask.0))
                } else {
                    None
                });
            }
            Ok(visits)
        };
        run.launch.lanes(warp).lanes().map(of).collect()
    };
    for warp in (0..a.launch.warps()).map(WarpId) {
        for (lane, (p, q)) in all(a, warp)?.iter().zip(&all(b, warp)?).enumerate() {
            // A site that has no event on one side tells nothing there; nor does an exit, at which nobody
            // waits.
            let told = |i: usize| {
                a.module.sites[p[i].0.index()].class != SiteClass::Exit && p[i].1 != 0 && q[i].1 != 0
            };
            let differs = |i: &usize| p[*i].0 != q[*i].0 || p[*i].1 != q[*i].1 && told(*i);
            if p.len() != q.len() || (0..p.len()).any(|i| differs(&i)) {
                let i = (0..p.len().min(q.len())).find(differs);
                let at = |v: &[(SiteId, u64)]| {
                    i.map_or(String::new(), |i| format!("{} with {:#x}", v[i].0, v[i].1))
                };
                return Err(format!(
                    "{warp} lane {lane}, visit {i:?}: {} by hooks, {} by code",
                    at(p),
                    at(q)
                ));
            }
        }
    }
    Ok(())
}
