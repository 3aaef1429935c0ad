//! Runs a job with hooks or with rewritten code, and compares two runs lane by lane.
//!
//! # Invariants
//! - Nothing here knows what a test expects. Every failure is a text that names the place.
//!
//! # Limitations
//! - Values of memory events are not compared, because an event belongs to a warp and not to a lane.

use std::error::Error;

use prlx_analyze::lane_visits;
use prlx_driver::{Driver, Job, ModuleCode, RecordOptions, prepare};
use prlx_emu::{Emulator, Options};
use prlx_plan::{Plan, RecordingRequest};
use prlx_trace::kernel::{Module, Source};
use prlx_trace::launch::{Lanes, Launch, Window};
use prlx_trace::{Lane, Level, SiteId, WarpId, WarpSize, WarpStream};

/// One host thread: what kernels do across CTAs is then the same in every run.
pub fn emulator(warp_size: WarpSize) -> Emulator {
    Emulator::new(Options { threads: 1, warp_size, ..Options::default() })
}

/// A recorder of a level; at `operands`, with a window on what it can watch.
pub fn program(level: Level, elide: bool, job: &Job) -> RecordingRequest {
    let mut window = None;
    if level == Level::Operands {
        // Everything that can be watched, by the first two warps, for the first three visits.
        let (view, _) = prlx_isa::ptx::read(&job.text);
        let all = RecordingRequest { elide: false, ..RecordingRequest::new(Level::Path) };
        let plan = Plan::resolve(&all, &view, &job.module, &|_| None);
        let sites = (0..plan.module.sites.len() as u32).map(SiteId).collect();
        window = Some(Window { sites, warps: (0, 2), visits: (0, 3) });
    }
    RecordingRequest { elide, window, ..RecordingRequest::new(level) }
}

/// What one run recorded.
pub struct Run {
    pub module: Module,
    pub launch: Launch,
    pub warps: Vec<WarpStream>,
    /// Whether its streams hold bytes that no recorder writes.
    pub damaged: bool,
    /// Buffers that are not as the reference says.
    pub wrong: usize,
}

/// Runs the original code with hooks.
pub fn observe(job: &Job, plan: &Plan) -> Result<Run, Box<dyn Error>> {
    observe_in(WarpSize::W32, job, plan)
}

/// The same in warps of this size.
pub fn observe_in(size: WarpSize, job: &Job, plan: &Plan) -> Result<Run, Box<dyn Error>> {
    let mut device = emulator(size);
    let module = device.load(job.code())?;
    let prepared = prepare(&mut device, job)?;
    let seen = device
        .observe(module, &job.kernel, &job.config, &prepared.params, plan)
        .ok_or("the CPU device has hooks")??;
    seen.ended?;
    let kernel = plan
        .module
        .functions
        .iter()
        .position(|f| f.name == job.kernel)
        .ok_or("the kernel is not in the plan")?;
    let launch = Launch {
        kernel: prlx_trace::FuncId(kernel as u32),
        grid: job.config.grid,
        block: job.config.block,
        warp_size: job.warp_size(device.info().warp_size),
        params: prepared.params.clone(),
        level: plan.request.level,
        window: plan.request.window.clone(),
        ..Launch::default()
    };
    Ok(Run { module: plan.module.clone(), launch, warps: seen.streams, damaged: false, wrong: 0 })
}

/// Runs rewritten code.
pub fn record(job: &Job, text: &str, plan: &Plan) -> Result<Run, Box<dyn Error>> {
    let run = record_in(job, text, plan, 32 << 20)?;
    if run.launch.totals.dropped > 0 {
        return Err("the pool was too small".into());
    }
    Ok(run)
}

/// The same with a pool of so many bytes, which may be too few.
pub fn record_in(job: &Job, text: &str, plan: &Plan, pool: u64) -> Result<Run, Box<dyn Error>> {
    record_sized(WarpSize::W32, job, ModuleCode::Ptx(text), plan, pool)
}

/// The same in warps of this size.
pub fn record_sized(
    size: WarpSize,
    job: &Job,
    code: ModuleCode<'_>,
    plan: &Plan,
    pool: u64,
) -> Result<Run, Box<dyn Error>> {
    let mut device = emulator(size);
    let done = prlx_driver::record(
        &mut device,
        Some(code),
        plan,
        job,
        &RecordOptions { pool, ..RecordOptions::default() },
    )?;
    if let Some(fault) = done.fault {
        return Err(fault.into());
    }
    let wrong = done.outputs.iter().filter(|o| o.expect.as_ref().is_some_and(|c| c.wrong > 0)).count();
    let streams = &done.recording.streams;
    let mut warps = Vec::new();
    for i in 0..streams.frames() {
        warps.extend(streams.frame(i)?);
    }
    let damaged = !done.damage.is_empty();
    Ok(Run { module: plan.module.clone(), launch: done.recording.launch, warps, damaged, wrong })
}

/// Compares two runs lane by lane, as far as the level says something of a lane.
pub fn same(level: Level, a: &Run, b: &Run) -> Result<(), String> {
    for warp in (0..a.launch.warps()).map(WarpId) {
        let (x, y) = (stream(a, warp), stream(b, warp));
        for lane in a.launch.lanes(warp).lanes() {
            let at = |what: &str| format!("cta {} {warp} {lane}: {what}", warp.0 / a.launch.warps_per_cta());
            match level {
                Level::Path | Level::Values | Level::Events => {
                    let (p, q) = (visits(a, &x, lane)?, visits(b, &y, lane)?);
                    if p != q {
                        let i = p.iter().zip(&q).take_while(|(p, q)| p == q).count();
                        let of = |v: &[(SiteId, u64)]| {
                            v.get(i).map_or("the end".into(), |(s, v)| format!("{s} = {v}"))
                        };
                        let (m, n) = (p.len(), q.len());
                        return Err(at(&format!(
                            "visit {i} of {m} and {n}: {} by hooks, {} by code",
                            of(&p),
                            of(&q)
                        )));
                    }
                }
                Level::Fingerprint => {
                    let of = |s: &WarpStream| match &s.lanes {
                        Lanes::Fingerprint { checkpoints, ends, hashes } => {
                            let (from, to) = part(ends, lane);
                            Some((checkpoints.get(from..to)?.to_vec(), hashes.clone()))
                        }
                        _ => None,
                    };
                    if of(&x) != of(&y) {
                        return Err(at(&format!("{:x?} by hooks, {:x?} by code", of(&x), of(&y))));
                    }
                }
                Level::Probe => return Err("a probe program has no streams".into()),
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

/// What a warp recorded.
pub fn stream(run: &Run, warp: WarpId) -> WarpStream {
    run.warps.iter().find(|w| w.warp == warp).cloned().unwrap_or_default()
}

fn part(ends: &[u32], lane: Lane) -> (usize, usize) {
    let l = usize::from(lane.0);
    let end = |i: usize| ends.get(i).copied().unwrap_or_default() as usize;
    (if l == 0 { 0 } else { end(l - 1) }, end(l))
}

/// The visits of a lane.
pub fn visits(run: &Run, stream: &WarpStream, lane: Lane) -> Result<Vec<(SiteId, u64)>, String> {
    let got = lane_visits(&run.module, &run.launch, stream, lane).map_err(|e| e.to_string())?;
    if !got.complete {
        return Err(format!("{} {lane}: its decisions end early", stream.warp));
    }
    let decides = |s: SiteId| run.module.sites.get(s.index()).is_some_and(|s| s.source != Source::None);
    // What an event says of memory is a digest over whoever was there: no lane's own.
    Ok(got.visits.into_iter().map(|(s, v)| (s, if decides(s) { v } else { 0 })).collect())
}
