//! Hooks against rewritten code: the same plan, run beside the original code and written into it, records the
//! same streams, lane by lane, whatever the schedule; and hooks change nothing. What the schedule may choose
//! is in `schedule.txt`.

use std::path::Path;
use std::sync::Arc;

use crate::corpus::{Kernel, Scheduled, kernels};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Driver, ErrorKind, Job, ModuleCode, PreparedJob, RecordOptions, prepare, record};
use prlx_emu::{Emulator, Options};
use prlx_plan::RecordingRequest;
use prlx_trace::SiteId;
use prlx_trace::kernel::Level;
use prlx_trace::launch::{Event, Lanes, WarpStream, Window};

fn emulator() -> Emulator {
    Emulator::new(Options { max_steps: 500_000_000, threads: 1, ..Options::default() })
}

/// Streams without what is an observation of the moment: clocks, and for hostile schedules the grouping of
/// events.
fn plain(mut streams: Vec<WarpStream>) -> Vec<WarpStream> {
    for s in &mut streams {
        if let Lanes::Events(list) = &mut s.lanes {
            for e in list {
                *e = Event { clock: 0, ..*e };
            }
        }
    }
    streams
}

/// Says where two lists of streams part.
fn compare(what: &str, a: &[WarpStream], b: &[WarpStream]) -> Result<(), Failed> {
    if a.len() != b.len() {
        return Err(format!("{what}: {} warps and {}", a.len(), b.len()).into());
    }
    for (a, b) in a.iter().zip(b) {
        if a == b {
            continue;
        }
        let text = match (&a.lanes, &b.lanes) {
            (Lanes::Events(x), Lanes::Events(y)) => {
                let i = x.iter().zip(y).position(|(x, y)| x != y).unwrap_or(x.len().min(y.len()));
                format!("event {i} of {} and {}: {:?} and {:?}", x.len(), y.len(), x.get(i), y.get(i))
            }
            (Lanes::Path { words: x, ends: p }, Lanes::Path { words: y, ends: q }) => {
                let i = x.iter().zip(y).position(|(x, y)| x != y);
                format!("word {i:?}: {:x?} and {:x?}, ends {p:?} and {q:?}", i.map(|i| x[i]), i.map(|i| y[i]))
            }
            (Lanes::Operands { records: x, .. }, Lanes::Operands { records: y, .. }) => {
                let i = x.iter().zip(y).position(|(x, y)| x != y).unwrap_or(x.len().min(y.len()));
                format!("record {i} of {} and {}: {:?} and {:?}", x.len(), y.len(), x.get(i), y.get(i))
            }
            (x, y) => format!("{x:x?}\n{y:x?}").chars().take(3000).collect(),
        };
        return Err(format!("{what}: warp {} parts: {text}", a.warp.0).into());
    }
    Ok(())
}

/// Hooks take no step and no turn: without them the launch does the same, also under a hostile schedule.
fn bare(
    job: &Job,
    hooked: &PreparedJob,
    instructions: u64,
    contents: &[Option<Vec<u8>>],
) -> Result<(), String> {
    let mut e = emulator();
    let m = e.load(ModuleCode::Ptx(&job.text)).map_err(|e| e.to_string())?;
    let p = prepare(&mut e, job).map_err(|e| e.to_string())?;
    if p != *hooked {
        return Err("buffers lie elsewhere".into());
    }
    let stats = e.launch(m, &job.kernel, &job.config, &p.params).map_err(|e| e.to_string())?;
    if stats.warp_instructions != instructions {
        return Err(format!("{instructions} instructions with hooks, {} without", stats.warp_instructions));
    }
    match p.contents(&mut e, job).map_err(|e| e.to_string())? == contents {
        true => Ok(()),
        false => Err("hooks change what buffers hold".into()),
    }
}

fn case(k: &Kernel, launch: &Path, schedule: &Scheduled, level: Level, elide: bool) -> Result<(), Failed> {
    let name = k.name.as_str();
    let mut job = Job::load(launch).map_err(|e| e.to_string())?;
    job.text = std::fs::read_to_string(&k.module)?;
    let window = (level == Level::Operands).then(|| Window {
        sites: (0..10_000).map(SiteId).collect(),
        warps: (0, 3),
        visits: (0, 5),
    });
    let program = RecordingRequest { elide, window, ..RecordingRequest::new(level) };
    let (view, _) = prlx_isa::ptx::read(&job.text);
    let plan = prlx_plan::Plan::resolve(&program, &view, name, &|_| None);
    let mut streams: Vec<(u64, Vec<WarpStream>)> = Vec::new();
    for seed in [0, 7] {
        job.config.seed = seed;
        let mut e = emulator();
        let m = e.load(ModuleCode::Ptx(&job.text)).map_err(|e| e.to_string())?;
        let p = prepare(&mut e, &job).map_err(|e| e.to_string())?;
        let seen =
            match e.observe(m, &job.kernel, &job.config, &p.params, &plan).ok_or("the device has hooks")? {
                Err(e) if e.kind == ErrorKind::Unsupported => return Ok(()),
                r => r.map_err(|e| e.to_string())?,
            };
        let stats = seen.ended.map_err(|e| e.to_string())?;
        let contents = p.contents(&mut e, &job).map_err(|e| e.to_string())?;
        bare(&job, &p, stats.warp_instructions, &contents).map_err(|e| format!("seed {seed}: {e}"))?;
        for o in prlx_driver::run::outputs(&job, contents) {
            if o.expect.is_some_and(|c| c.wrong > 0) && !(seed != 0 && schedule.outputs(name)) {
                return Err(format!("`{}` is wrong under hooks", o.name).into());
            }
        }
        streams.push((seed, plain(seen.streams)));
    }
    let free = schedule.has(name, level.name());
    if level != Level::Events && !free {
        compare("hooks under seeds 0 and 7", &streams[0].1, &streams[1].1)?;
    }
    let edits = match prlx_instrument::ptx(&job.text, &view, &plan) {
        Err(e) => return Err(format!("not instrumented: {e}").into()),
        Ok(edits) => edits,
    };
    let text = prlx_instrument::apply(&job.text, &edits);
    for (seed, seen) in &streams {
        if schedule.timed(name) || *seed != 0 && (free || level == Level::Events) {
            continue;
        }
        job.config.seed = *seed;
        let recorded =
            record(&mut emulator(), Some(ModuleCode::Ptx(&text)), &plan, &job, &RecordOptions::default());
        let recorded = recorded.map_err(|e| format!("recording under seed {seed}: {e}"))?;
        if let Some(fault) = recorded.fault {
            return Err(format!("rewritten code under seed {seed}: {fault}").into());
        }
        if !recorded.damage.is_empty() {
            return Err(format!("rewritten code under seed {seed}: {:?}", recorded.damage).into());
        }
        let mut warps = Vec::new();
        for i in 0..recorded.recording.streams.frames() {
            warps.extend(recorded.recording.streams.frame(i).map_err(|e| e.to_string())?);
        }
        compare(&format!("hooks and rewritten code under seed {seed}"), seen, &plain(warps))?;
    }
    Ok(())
}

/// One trial per module of the corpus that has a launch, and per level.
pub fn trials() -> Vec<Trial> {
    let schedule = Arc::new(Scheduled::read());
    let mut trials = Vec::new();
    for k in kernels() {
        let (Some(launch), k) = (k.launch.clone(), Arc::new(k)) else { continue };
        for (level, elide) in [
            (Level::Path, false),
            (Level::Path, true),
            (Level::Values, true),
            (Level::Fingerprint, true),
            (Level::Events, true),
            (Level::Operands, true),
        ] {
            let (k, launch, schedule) = (k.clone(), launch.clone(), schedule.clone());
            let title =
                format!("hooks/{}/{}/{}{}", k.name, k.target, level.name(), if elide { "" } else { "/all" });
            trials.push(Trial::test(title, move || case(&k, &launch, &schedule, level, elide)));
        }
    }
    trials
}
