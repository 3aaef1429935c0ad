//! The master test: what rewritten code records, with elision, is what hooks record without. And rewriting
//! changes no result and no byte of the original.

use std::collections::BTreeMap;

use prlx_analyze::lane_visits;
use prlx_driver::{Job, ModuleCode, RecordOptions, Recorded, record};
use prlx_emu::Checks;
use prlx_instrument::{Rewrite, rewrite_object};
use prlx_isa::view::{Function, Inst};
use prlx_plan::{Plan, RecordingRequest};
use prlx_toy::code::Instruction;
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
fn by_object(job: &Job, plan: Plan, object: &[u8]) -> Result<(Plan, Recorded), String> {
    let code = ModuleCode::Object(TOY, object);
    let options = RecordOptions { run_original: true, ..RecordOptions::default() };
    let recorded = record(&mut device(Checks::NONE), Some(code), &plan, job, &options);
    let recorded = recorded.map_err(|e| e.to_string())?;
    match &recorded.fault {
        None => Ok((plan, recorded)),
        Some(fault) => Err(fault.to_string()),
    }
}

/// A recording by rewritten code.
pub fn by_code(job: &Job, request: &RecordingRequest) -> (Plan, Recorded) {
    let Rewrite { plan, object, .. } = rewrite(&job.text, request);
    by_object(job, plan, &object.unwrap().bytes).unwrap()
}

/// What each lane recorded: its decisions with their values, or digests of words that cannot be decoded.
type Decisions = BTreeMap<(WarpId, Lane), Vec<(SiteId, u64)>>;

fn lanes((plan, recorded): &(Plan, Recorded)) -> Result<Decisions, String> {
    if !recorded.damage.is_empty() || recorded.recording.launch.totals.dropped > 0 {
        return Err("the streams are damaged".to_owned());
    }
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
            out.insert((warp, lane), of_lane(plan, recorded, &stream, lane)?);
        }
    }
    Ok(out)
}

fn of_lane(
    plan: &Plan,
    recorded: &Recorded,
    stream: &WarpStream,
    lane: Lane,
) -> Result<Vec<(SiteId, u64)>, String> {
    let at = usize::from(lane.0);
    let part = |ends: &[u32]| {
        let end = |i: usize| ends.get(i).copied().unwrap_or_default() as usize;
        (if at == 0 { 0 } else { end(at - 1) })..end(at)
    };
    Ok(match &stream.lanes {
        Lanes::Fingerprint { hashes, checkpoints, ends } => {
            let words = checkpoints[part(ends)].iter().map(|check| format!("{check:?}"));
            words.chain([format!("{hashes:?}")]).map(|text| (SiteId(0), digest(&text))).collect()
        }
        Lanes::Operands { records, ends } => {
            records[part(ends)].iter().map(|record| (SiteId(0), digest(&format!("{record:?}")))).collect()
        }
        _ => {
            let visits = lane_visits(&plan.module, &recorded.recording.launch, stream, lane)
                .map_err(|e| e.to_string())?;
            if !visits.complete {
                return Err(format!("{} {lane} ends early", stream.warp));
            }
            let decides = |s: &SiteId| plan.module.sites[s.index()].source != Source::None;
            visits.visits.into_iter().filter(|(site, _)| decides(site)).collect()
        }
    })
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
                let hooks = lanes(&by_hooks(&job, &request(level, elide, &job))).unwrap();
                let code = by_code(&job, &request(level, true, &job));
                assert!(hooks.values().any(|lane| lane.len() > usize::from(level == Level::Path)));
                assert_eq!(Ok(hooks), lanes(&code), "{} under seed {seed}", level.name());
                // The memory of the original run and of the instrumented one.
                let original = code.1.original.as_ref().unwrap();
                assert!(original.changed.is_empty(), "{}: {:?}", level.name(), original.changed);
            }
        }
    }
}

#[test]
fn the_original_stays_and_inserted_code_has_its_own_registers() {
    for level in [Level::Path, Level::Values, Level::Fingerprint, Level::Events] {
        let Rewrite { object, module, .. } = rewrite(GOOD, &RecordingRequest::new(level));
        let bytes = object.unwrap().bytes;
        assert!(bytes.starts_with(GOOD.as_bytes()));
        let after = TOY.read(&bytes).unwrap();
        let [original, same, copy] = [&module.functions[0], &after.functions[0], &after.functions[1]];
        assert_eq!((copy.name.as_str(), same.insts.len()), ("steps.prlx", original.insts.len()));
        assert_eq!(copy.unknown_control, None);
        // Only instructions of the original have lines. Labels have other names.
        let code = |f: &Function| -> Vec<String> {
            let text = |inst: &Inst| inst.semantics.native.get::<Instruction>().unwrap().to_string();
            let lines = f.insts.iter().filter(|inst| inst.loc.is_some()).map(text);
            let branches = |line: &str| ["br ", "skip ", "loop "].iter().any(|name| line.starts_with(name));
            lines.map(|line| if branches(&line) { opcode(&line) } else { line }).collect()
        };
        assert_eq!(code(original), code(copy));
        let own: Vec<&str> = original.regs.iter().map(|reg| reg.name.as_str()).collect();
        let entry = |inst: &&Inst| inst.semantics.native.is_none();
        for inst in copy.insts.iter().filter(|inst| inst.loc.is_none() && !entry(inst)) {
            for reg in inst.defs() {
                let name = copy.regs[reg.index()].name.as_str();
                assert!(name == "exec" || !own.contains(&name), "{}", inst.span.of(&after.text));
            }
        }
    }
}

/// A line without its operands.
fn opcode(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_owned()
}

/// Whether recordings show a fault in inserted code: they fail, record something else than hooks, or leave
/// other memory than the original.
fn is_caught(job: &Job, level: Level, fault: impl Fn(&str) -> String) -> bool {
    let hooks = lanes(&by_hooks(job, &RecordingRequest::new(level))).unwrap();
    let Rewrite { plan, object, .. } = rewrite(&job.text, &RecordingRequest::new(level));
    let object = String::from_utf8(object.unwrap().bytes).unwrap();
    let (original, copy) = object.split_at(object.find("kernel steps.prlx").unwrap());
    let planted: String = copy.lines().map(|line| fault(line) + "\n").collect();
    assert!(copy != planted, "nothing was planted");
    match by_object(job, plan, (original.to_owned() + &planted).as_bytes()) {
        Err(_) => true,
        Ok(run) => !run.1.original.as_ref().unwrap().changed.is_empty() || lanes(&run) != Ok(hooks),
    }
}

#[test]
fn planted_faults_are_caught() {
    let job = job("good", GOOD);
    let Rewrite { object, .. } = rewrite(&job.text, &RecordingRequest::new(Level::Path));
    let object = String::from_utf8(object.unwrap().bytes).unwrap();
    // The copy begins with the masks of the lanes that are launched, and of those where the wave is. Then the
    // first routine keeps what `exec` was.
    let copy: Vec<&str> = object.split("kernel steps.prlx").nth(1).unwrap().lines().collect();
    let mask = |line: &str| line.trim_start_matches("  mov.mask ").trim_end_matches(", exec").to_owned();
    let [present, outside] = [mask(copy[2]), mask(copy[3])];
    let rejoins = format!("  or.mask {present}, {present}, ");
    let restores = format!("  mov.mask exec, {outside}");
    for level in [Level::Path, Level::Values, Level::Fingerprint, Level::Events] {
        let planted = |fault: &dyn Fn(&str) -> String| is_caught(&job, level, fault);
        assert!(!is_caught(&job, level, |line| format!("{line} ")), "spaces are no fault");
        // Lanes that left their wave do not meet it again.
        assert!(planted(&|line| line.replace(&rejoins, &rejoins.replace("or", "and"))), "{}", level.name());
        // After a routine, lanes that `exec` does not have run the kernel as well.
        let all = format!("  mov.mask exec, {present}");
        assert!(planted(&|line| if line == restores { all.clone() } else { line.to_owned() }));
        // Rows of a stream, or records of a warp, lie elsewhere.
        assert!(planted(&|line| line.replace("%laneid", "%tid.y")), "{}", level.name());
    }
    // A decision is lost.
    let is_bit = |line: &str| line.starts_with("  or.u32 v") && line.ends_with(", 1");
    assert!(is_caught(&job, Level::Path, |line| if is_bit(line) { String::new() } else { line.to_owned() }));
}
