//! The master test: what rewritten code records, with elision, is what hooks record without. And rewriting
//! changes no result and no byte of the original.

use std::collections::BTreeMap;

use prlx_analyze::lane_visits;
use prlx_driver::{Job, ModuleCode, RecordOptions, Recorded, record};
use prlx_emu::Checks;
use prlx_instrument::{Rewrite, rewrite_object};
use prlx_plan::{Plan, RecordingRequest};
use prlx_toy::{TOY, Toy};
use prlx_trace::kernel::Source;
use prlx_trace::launch::{Lanes, Window};
use prlx_trace::{Lane, Level, SiteId, WarpId, WarpStream};

use crate::support::{BAD, GOOD, by_hooks, device, job};

/// An object with a plan inserted.
fn rewrite(text: &str, request: &RecordingRequest) -> Rewrite {
    let rewrite = rewrite_object(&Toy, text.as_bytes(), "kernel", request, &|_| None).unwrap();
    assert_eq!(rewrite.plan.functions[0].skipped, None);
    rewrite
}

/// A recording by an object with the plan inserted.
fn by_object(job: &Job, plan: Plan, object: &[u8]) -> (Plan, Recorded) {
    let code = ModuleCode::Object(TOY, object);
    let options = RecordOptions { run_original: true, ..RecordOptions::default() };
    let recorded = record(&mut device(Checks::NONE), Some(code), &plan, job, &options).unwrap();
    assert!(recorded.fault.is_none(), "{:?}", recorded.fault);
    (plan, recorded)
}

/// A recording by rewritten code.
pub fn by_code(job: &Job, request: &RecordingRequest) -> (Plan, Recorded) {
    let Rewrite { plan, object, .. } = rewrite(&job.text, request);
    by_object(job, plan, &object.unwrap().bytes)
}

/// What each lane recorded: its decisions with their values, or words that cannot be decoded.
pub fn lanes((plan, recorded): &(Plan, Recorded)) -> BTreeMap<(WarpId, Lane), Vec<(SiteId, u64)>> {
    assert!(recorded.damage.is_empty() && recorded.recording.launch.totals.dropped == 0);
    let launch = &recorded.recording.launch;
    let streams = &recorded.recording.streams;
    let mut all: BTreeMap<WarpId, WarpStream> = BTreeMap::new();
    for i in 0..streams.frames() {
        all.extend(streams.frame(i).unwrap().into_iter().map(|stream| (stream.warp, stream)));
    }
    let mut out = BTreeMap::new();
    for warp in (0..launch.warps()).map(WarpId) {
        // Level `operands` has a window of warps.
        let Some(stream) = all.remove(&warp) else { continue };
        for lane in launch.lanes(warp).lanes() {
            out.insert((warp, lane), of_lane(plan, recorded, &stream, lane));
        }
    }
    out
}

fn of_lane(plan: &Plan, recorded: &Recorded, stream: &WarpStream, lane: Lane) -> Vec<(SiteId, u64)> {
    let at = usize::from(lane.0);
    let part = |ends: &[u32]| {
        let end = |i: usize| ends.get(i).copied().unwrap_or_default() as usize;
        (if at == 0 { 0 } else { end(at - 1) })..end(at)
    };
    match &stream.lanes {
        Lanes::Fingerprint { hashes, checkpoints, ends } => {
            let words = checkpoints[part(ends)].iter().map(|check| format!("{check:?}"));
            words.chain([format!("{hashes:?}")]).map(|text| (SiteId(0), digest(&text))).collect()
        }
        Lanes::Operands { records, ends } => {
            records[part(ends)].iter().map(|record| (SiteId(0), digest(&format!("{record:?}")))).collect()
        }
        _ => {
            let visits = lane_visits(&plan.module, &recorded.recording.launch, stream, lane).unwrap();
            assert!(visits.complete, "{} {lane}", stream.warp);
            let decides = |s: &SiteId| plan.module.sites[s.index()].source != Source::None;
            visits.visits.into_iter().filter(|(site, _)| decides(site)).collect()
        }
    }
}

fn digest(text: &str) -> u64 {
    prlx_isa::digest(text.as_bytes()) as u64
}

/// The request of a level. At `operands` all that can be watched.
fn request(level: Level, elide: bool, job: &Job) -> RecordingRequest {
    let plain = RecordingRequest { elide, ..RecordingRequest::new(level) };
    if level != Level::Operands {
        return plain;
    }
    let all = RecordingRequest { elide: false, ..RecordingRequest::new(Level::Path) };
    let plan = Plan::resolve(&all, &TOY.read(job.text.as_bytes()).unwrap(), "kernel", &|_| None);
    let sites = (0..plan.module.sites.len() as u32).map(SiteId).collect();
    RecordingRequest { window: Some(Window { sites, warps: (0, 3), visits: (0, 3) }), ..plain }
}

#[test]
fn rewritten_code_records_what_hooks_record() {
    for text in [GOOD, BAD] {
        for level in [Level::Path, Level::Values, Level::Fingerprint, Level::Events, Level::Operands] {
            // These have what atomic operations return, which depends on the schedule.
            let scheduled = matches!(level, Level::Fingerprint | Level::Operands);
            let seeds: &[u64] = if scheduled { &[0] } else { &[0, 1, 7] };
            for seed in seeds {
                let mut job = job("kernel", text);
                job.config.seed = *seed;
                // Hashes are of what the plan says, so elision is on for both.
                let elide = !matches!(level, Level::Path | Level::Events);
                let hooks = lanes(&by_hooks(&job, &request(level, elide, &job)));
                let code = by_code(&job, &request(level, true, &job));
                assert!(hooks.values().any(|lane| lane.len() > usize::from(level == Level::Path)));
                assert_eq!(hooks, lanes(&code), "{} under seed {seed}", level.name());
                // The memory of the original run and of the instrumented one.
                let original = code.1.original.as_ref().unwrap();
                assert!(original.changed.is_empty(), "{}: {:?}", level.name(), original.changed);
            }
        }
    }
}
