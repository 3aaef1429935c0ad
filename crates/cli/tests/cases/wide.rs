//! The master test in warps of 64 lanes, a test mode of the CPU device.
//!
//! For every kernel of the corpus the outputs must be those of its independent reference. At the levels whose
//! code exchanges nothing between lanes, hooks and rewritten code must give the same streams for each lane.
//! At the levels `path` and `events`, each thread must also make the decisions that it makes in warps of 32
//! lanes. Under the fair schedule, threads of both halves of a warp must share events.
//!
//! Two lists beside the kernels name the exceptions. Both must be exact.
//!
//! - `lanes32.txt`: kernels whose meaning depends on 32 lanes. They are refused with the place, or have other
//!   results.
//! - `schedule.txt`: as for [`crate::master`]. Kernels of that list at a level are not compared there.
//!
//! `PRLX_MASTER=name` runs the kernels whose directory name contains that text.

use std::path::Path;

use crate::corpus::{kernels, label, list};
use crate::lane_runs::{Run, emulator, observe_in, program, record_sized, same, stream, visits};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Driver as _, ErrorKind, Job, ModuleCode, prepare};
use prlx_plan::Plan;
use prlx_trace::launch::Lanes;
use prlx_trace::{Level, SiteId, WarpId, WarpSize};

/// Seed 0 is the fair schedule; the other splits warps and interleaves as it pleases.
const SEEDS: [u64; 2] = [0, 7];

/// Pool for recorded elements. Without elections each of 64 lanes takes a chunk where one would do.
const POOL: u64 = 2 << 30;

/// A line of the list that is not true any more.
const STALE: &str = "it runs as in warps of 32 lanes: take it off tests/kernels/lanes32.txt";

/// One trial for each kernel of the corpus and each level.
pub fn trials() -> Vec<Trial> {
    let only = std::env::var("PRLX_MASTER").unwrap_or_default();
    let (refused, bound, scheduled) = (list("refused.txt"), list("lanes32.txt"), list("schedule.txt"));
    let mut trials = Vec::new();
    for folder in kernels().into_iter().filter(|f| label(f).contains(&only)) {
        let name = label(&folder);
        if refused.contains_key(&name) {
            continue;
        }
        match bound.get(&name).map(String::as_str) {
            None => {}
            Some("result") => {
                trials.push(Trial::test(format!("wide/{name} has other results"), move || {
                    if runs(&folder, false).is_ok() { Err(STALE.into()) } else { Ok(()) }
                }));
                continue;
            }
            Some(_) => {
                trials.push(Trial::test(format!("wide/{name} is refused"), move || refuses(&folder)));
                continue;
            }
        }
        let of = scheduled.get(&name).map(String::as_str).unwrap_or_default();
        let listed = |what: &str| of.split(',').any(|w| w == what);
        let (run, any) = (folder.clone(), listed("outputs"));
        trials.push(Trial::test(format!("wide/{name} runs"), move || runs(&run, any)));
        for level in Level::RECORDERS.iter().copied() {
            if !listed("all") && !listed(level.name()) {
                let folder = folder.clone();
                trials
                    .push(Trial::test(format!("wide/{name} {}", level.name()), move || one(&folder, level)));
            }
        }
    }
    trials
}

/// A kernel of the list is refused with the instruction and its place.
fn refuses(folder: &Path) -> Result<(), Failed> {
    let job = Job::load(&folder.join("launch.toml"))?;
    let mut device = emulator(WarpSize::W64);
    let module = device.load(ModuleCode::Ptx(&job.text))?;
    let prepared = prepare(&mut device, &job)?;
    match device.launch(module, &job.kernel, &job.config, &prepared.params) {
        Err(e) if e.kind == ErrorKind::Unsupported && e.message.contains("a warp has 64 lanes here") => {
            let place = e.message.contains(";` at ");
            if place { Ok(()) } else { Err(format!("the refusal names no place: {e}").into()) }
        }
        Err(e) => Err(format!("fails instead of being refused: {e}").into()),
        Ok(_) => Err(STALE.into()),
    }
}

/// A kernel runs, and leaves what its reference leaves. `any`: its outputs are the schedule's choice.
fn runs(folder: &Path, any: bool) -> Result<(), Failed> {
    let job = Job::load(&folder.join("launch.toml"))?;
    let outputs = prlx_driver::run(&mut emulator(WarpSize::W64), &job)?.outputs;
    let wrong = outputs.iter().find(|o| !any && o.expect.as_ref().is_some_and(|c| c.wrong > 0));
    wrong.map_or(Ok(()), |o| Err(format!("buffer {} is not as expected", o.name).into()))
}

fn one(folder: &Path, level: Level) -> Result<(), Failed> {
    let mut job = Job::load(&folder.join("launch.toml"))?;
    let plan = |size: WarpSize| {
        let (mut view, _) = prlx_isa::ptx::read(&job.text);
        view.warp_lanes = size.lanes() as u32;
        let elide = level == Level::Fingerprint;
        Plan::resolve(&program(level, elide, &job), &view, &job.module, &|_| None)
    };
    let [narrow, wide] = [WarpSize::W32, WarpSize::W64].map(plan);
    let rewrite = match level {
        Level::Events => None,
        _ => Some(prlx_instrument::rewrite_for(
            WarpSize::W64,
            &job.text,
            &job.module,
            &program(level, true, &job),
            &|_| None,
        )?),
    };
    let mut first: Option<Run> = None;
    for seed in SEEDS {
        job.config.seed = seed;
        let hooks = observe_in(WarpSize::W64, &job, &wide)?;
        if let Some(first) = &first {
            same(level, first, &hooks).map_err(|e| format!("hooks under seed {seed}: {e}"))?;
        }
        if let Some(rewrite) = &rewrite {
            let code =
                record_sized(WarpSize::W64, &job, ModuleCode::Ptx(&rewrite.text), &rewrite.plan, POOL)?;
            if code.damaged || code.wrong > 0 || code.launch.totals.dropped > 0 {
                let what =
                    format!("{} wrong, damaged: {}, {:?}", code.wrong, code.damaged, code.launch.totals);
                return Err(format!("seed {seed}: {what}").into());
            }
            same(level, &hooks, &code).map_err(|e| format!("seed {seed}: {e}"))?;
        }
        if level.has_paths() {
            let other = observe_in(WarpSize::W32, &job, &narrow)?;
            if thread_visits(&hooks)? != thread_visits(&other)? {
                return Err(
                    format!("seed {seed}: threads take other branches than in warps of 32 lanes").into()
                );
            }
        }
        if level == Level::Events && seed == 0 && job.config.block.volume() >= 64 {
            shares_events(&hooks)?;
        }
        first.get_or_insert(hooks);
    }
    Ok(())
}

/// The visits of every thread, by number of the thread in the grid.
fn thread_visits(run: &Run) -> Result<Vec<Vec<(SiteId, u64)>>, String> {
    let mut threads = Vec::new();
    for warp in (0..run.launch.warps()).map(WarpId) {
        let stream = stream(run, warp);
        for lane in run.launch.lanes(warp).lanes() {
            threads.push(visits(run, &stream, lane)?);
        }
    }
    Ok(threads)
}

/// Some event of a run is of lanes in both halves of a warp.
fn shares_events(run: &Run) -> Result<(), String> {
    let both = |mask: u64| mask as u32 != 0 && mask >> 32 != 0;
    let all = run.warps.iter().filter_map(|w| if let Lanes::Events(e) = &w.lanes { Some(e) } else { None });
    let (mut any, mut shared) = (false, false);
    for event in all.flatten() {
        (any, shared) = (true, shared || both(event.mask.0));
    }
    if any && !shared { Err("no event has lanes of both halves".into()) } else { Ok(()) }
}
