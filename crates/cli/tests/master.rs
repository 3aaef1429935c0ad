//! The master test (DESIGN.md, house rule 7): one trace, however made.
//!
//! For every kernel of the corpus and every level, hooks in the emulator (the original code, every decision one bit) and
//! rewritten code in the emulator (with elision, under hostile schedules) must give the same per-lane streams, and the
//! outputs that the kernel's independent reference says.
//!
//! Two lists beside the kernels say what is otherwise, and why; both must be exact, so that no kernel enters or leaves them
//! unnoticed. `schedule.txt`: kernels that legally do other things under other schedules (spin loops, `activemask`, atomics
//! whose result decides), by level; only damage is looked for there. `refused.txt`: kernels that the CPU device refuses.
//! `PRLX_MASTER=name` runs the kernels whose folder name contains that text.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use prlx_analyze::lane_visits;
use prlx_driver::{Driver, ErrorKind, Job, RecordOptions, prepare};
use prlx_emu::{Emulator, Options};
use prlx_probe::{Filter, Plan, Program};
use prlx_trace::kernel::{Module, Source};
use prlx_trace::launch::{Lanes, Launch, Window};
use prlx_trace::{Lane, Level, SiteId, WarpId, WarpStream};

/// Seed 0 is the fair schedule; the others split warps and interleave as they please.
const SEEDS: &[u64] = &[0, 1, 7];

fn main() {
    let args = Arguments::from_args();
    let only = std::env::var("PRLX_MASTER").unwrap_or_default();
    let folders: Vec<PathBuf> = kernels().into_iter().filter(|f| label(f).contains(&only)).collect();
    let (refused, scheduled) = (list("refused.txt"), list("schedule.txt"));
    let mut trials = Vec::new();
    for folder in folders {
        let name = label(&folder);
        if refused.contains_key(&name) {
            trials.push(Trial::test(format!("{name} is refused"), move || refuses(&folder)));
            continue;
        }
        for level in Level::ALL.iter().copied() {
            let scheduled =
                scheduled.get(&name).is_some_and(|levels| levels.contains(&level.name()) || levels == "all");
            let folder = folder.clone();
            trials.push(Trial::test(format!("{name} {}", level.name()), move || one(&folder, level, scheduled)));
        }
    }
    libtest_mimic::run(&args, trials).exit();
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn kernels() -> Vec<PathBuf> {
    let mut all = Vec::new();
    for kind in ["cuda", "triton"] {
        let Ok(entries) = std::fs::read_dir(root().join("tests/kernels").join(kind)) else { continue };
        all.extend(entries.flatten().map(|e| e.path()).filter(|p| p.join("launch.toml").is_file()));
    }
    all.sort();
    all
}

fn label(folder: &Path) -> String {
    let part = |p: Option<&Path>| p.and_then(Path::file_name).and_then(|n| n.to_str()).unwrap_or_default().to_owned();
    format!("{}/{}", part(folder.parent()), part(Some(folder)))
}

/// A list: by kernel, the word that follows its name.
fn list(file: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root().join("tests/kernels").join(file)).unwrap_or_default();
    let lines = text.lines().filter(|l| !l.starts_with('#')).map(|l| l.split_whitespace());
    lines
        .filter_map(|mut words| Some((words.next()?.to_owned(), words.next().unwrap_or_default().to_owned())))
        .collect()
}

/// A kernel of the list is refused with the name of what is missing, and where.
fn refuses(folder: &Path) -> Result<(), Failed> {
    let job = Job::load(&folder.join("launch.toml"))?;
    match prlx_driver::run(&mut emulator(), &job) {
        Err(e) if e.kind == ErrorKind::Unsupported => {
            let place = e.message.contains("line ") || e.message.contains(':');
            if place { Ok(()) } else { Err(format!("the refusal names no place: {e}").into()) }
        }
        Err(e) => Err(format!("fails instead of being refused: {e}").into()),
        Ok(_) => Err("runs now: take it off tests/kernels/refused.txt".into()),
    }
}

fn one(folder: &Path, level: Level, scheduled: bool) -> Result<(), Failed> {
    let mut job = Job::load(&folder.join("launch.toml"))?;
    let rewrite = prlx_instrument::rewrite(&job.text, &job.module, &program(level, true, &job), &|_| None)?;
    let (view, _) = prlx_isa::ptx::read(&job.text);
    let reference = Plan::resolve(&program(level, false, &job), &view, &job.text, &job.module, &|_| None);
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
    Ok(())
}

/// One host thread: what kernels do across CTAs is then the same in every run.
fn emulator() -> Emulator {
    Emulator::new(Options { threads: 1, ..Options::default() })
}

fn program(level: Level, elide: bool, job: &Job) -> Program {
    let mut window = None;
    if level == Level::Operands {
        // Everything that can be watched, by the first two warps, for the first three visits.
        let (view, _) = prlx_isa::ptx::read(&job.text);
        let all = Program { level: Level::Path, elide: false, filter: Filter::default(), window: None };
        let plan = Plan::resolve(&all, &view, &job.text, &job.module, &|_| None);
        let sites = (0..plan.module.sites.len() as u32).map(SiteId).collect();
        window = Some(Window { sites, warps: (0, 2), visits: (0, 3) });
    }
    Program { level, elide, filter: Filter::default(), window }
}

/// What one run recorded.
struct Run {
    module: Module,
    launch: Launch,
    warps: Vec<WarpStream>,
    damaged: bool,
    /// Buffers that are not as the reference says.
    wrong: usize,
}

fn observe(job: &Job, plan: &Plan) -> Result<Run, Failed> {
    let mut device = emulator();
    let module = device.load(job.text.as_bytes())?;
    let prepared = prepare(&mut device, job)?;
    let (warps, _) = device
        .observe(module, &job.kernel, &job.config, &prepared.params, plan)
        .ok_or("the CPU device has hooks")??;
    let kernel =
        plan.module.functions.iter().position(|f| f.name == job.kernel).ok_or("the kernel is not in the plan")?;
    let launch = Launch {
        kernel: prlx_trace::FuncId(kernel as u32),
        grid: job.config.grid,
        block: job.config.block,
        warp_size: device.info().warp_size,
        params: prepared.params.clone(),
        level: plan.program.level,
        window: plan.program.window.clone(),
        ..Launch::default()
    };
    Ok(Run { module: plan.module.clone(), launch, warps, damaged: false, wrong: 0 })
}

fn record(job: &Job, text: &str, plan: &Plan) -> Result<Run, Failed> {
    let mut device = emulator();
    let done = prlx_driver::record(
        &mut device,
        text,
        plan,
        job,
        &RecordOptions { pool: 32 << 20, ..RecordOptions::default() },
    )?;
    if let Some(fault) = done.fault {
        return Err(fault.into());
    }
    let wrong = done.outputs.iter().filter(|o| o.expect.as_ref().is_some_and(|c| c.wrong > 0)).count();
    if done.recording.launch.totals.dropped > 0 {
        return Err("the pool was too small".into());
    }
    let streams = &done.recording.streams;
    let mut warps = Vec::new();
    for i in 0..streams.frames() {
        warps.extend(streams.frame(i)?);
    }
    let damaged = !done.damage.is_empty();
    Ok(Run { module: plan.module.clone(), launch: done.recording.launch, warps, damaged, wrong })
}

/// Compares two runs lane by lane, as far as the level says something of a lane.
fn same(level: Level, a: &Run, b: &Run) -> Result<(), String> {
    for warp in (0..a.launch.warps()).map(WarpId) {
        let (x, y) = (stream(a, warp), stream(b, warp));
        for lane in a.launch.lanes(warp).lanes() {
            let at = |what: &str| format!("cta {} {warp} {lane}: {what}", warp.0 / a.launch.warps_per_cta());
            match level {
                Level::Path | Level::Events => {
                    let (p, q) = (visits(a, &x, lane)?, visits(b, &y, lane)?);
                    if p != q {
                        let i = p.iter().zip(&q).take_while(|(p, q)| p == q).count();
                        let of = |v: &[(SiteId, u64)]| v.get(i).map_or("the end".into(), |(s, v)| format!("{s} = {v}"));
                        let (m, n) = (p.len(), q.len());
                        return Err(at(&format!("visit {i} of {m} and {n}: {} by hooks, {} by code", of(&p), of(&q))));
                    }
                }
                Level::Print => {
                    let of = |s: &WarpStream| match &s.lanes {
                        Lanes::Print { checkpoints, ends, hashes } => {
                            let (from, to) = part(ends, lane);
                            Some((checkpoints.get(from..to)?.to_vec(), *hashes.get(usize::from(lane.0))?))
                        }
                        _ => None,
                    };
                    if of(&x) != of(&y) {
                        return Err(at(&format!("{:x?} by hooks, {:x?} by code", of(&x), of(&y))));
                    }
                }
                Level::Operands => {
                    let of = |s: &WarpStream| match &s.lanes {
                        Lanes::Operands { records, ends } => {
                            let (from, to) = part(ends, lane);
                            records.get(from..to).map(<[_]>::to_vec).unwrap_or_default()
                        }
                        _ => Vec::new(),
                    };
                    if of(&x) != of(&y) {
                        return Err(at(&format!("{:x?} by hooks, {:x?} by code", of(&x), of(&y))));
                    }
                }
            }
        }
    }
    Ok(())
}

fn stream(run: &Run, warp: WarpId) -> WarpStream {
    run.warps.iter().find(|w| w.warp == warp).cloned().unwrap_or_default()
}

fn part(ends: &[u32], lane: Lane) -> (usize, usize) {
    let l = usize::from(lane.0);
    let end = |i: usize| ends.get(i).copied().unwrap_or_default() as usize;
    (if l == 0 { 0 } else { end(l - 1) }, end(l))
}

fn visits(run: &Run, stream: &WarpStream, lane: Lane) -> Result<Vec<(SiteId, u64)>, String> {
    let got = lane_visits(&run.module, &run.launch, stream, lane).map_err(|e| e.to_string())?;
    if !got.complete {
        return Err(format!("{} {lane}: its decisions end early", stream.warp));
    }
    let decides = |s: SiteId| run.module.sites.get(s.index()).is_some_and(|s| s.source != Source::None);
    // What an event says of memory is a digest over whoever was there: no lane's own.
    Ok(got.visits.into_iter().map(|(s, v)| (s, if decides(s) { v } else { 0 })).collect())
}
