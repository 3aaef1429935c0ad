//! The master test of markers (DESIGN.md, house rule 7): what a track records is the same, however it is run.
//!
//! For every launch of `tests/cases/marks`, and with markers from outside for every kernel of the corpus,
//! hooks in the emulator and rewritten code in the emulator (also under hostile schedules) must leave the
//! same tracks, clocks aside: lanes, groups, markers in their order, words. The launches of
//! `tests/cases/marks` also say what that is, in the file `.tracks` beside them (of every lane's, the first
//! warp's). Kernels that do other things under other schedules only have to run, but for those that merely
//! wait.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::corpus::{Refused, Scheduled, launches, root};
use libtest_mimic::{Failed, Trial};
use prlx_driver::{Driver, Job, ModuleCode, RecordOptions, prepare};
use prlx_emu::{Emulator, Options};
use prlx_instrument::{AmdGpu, Rewrite};
use prlx_plan::markers::MarkerOptions;
use prlx_plan::{Action, Plan, RecordingRequest};
use prlx_trace::device::tracks::Form;
use prlx_trace::ids::Cycles;
use prlx_trace::kernel::Module;
use prlx_trace::mark::{Mark, MarkKind, Track, Via};

const SEEDS: &[u64] = &[0, 7];
const OUTSIDE: [Via; 7] =
    [Via::Barrier, Via::Mbarrier, Via::Tma, Via::CpAsync, Via::Wgmma, Via::Trip, Via::Function];

/// One trial per kernel of the corpus, and one per case of `tests/cases/marks`.
pub fn trials() -> Vec<Trial> {
    let (refused, scheduled, mut trials) = (Refused::read(), Scheduled::read(), Vec::new());
    for (name, launch) in launches() {
        if !refused.lines().contains(&name) {
            let free = scheduled.order_of_markers(&name);
            trials.push(Trial::test(format!("marks/{name}"), move || corpus_kernel(&launch, free)));
        }
    }
    for path in cases() {
        let name = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        trials.push(Trial::test(format!("marks/case/{name}"), move || case(&path)));
    }
    trials
}

fn cases() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(root().join("tests/cases/marks")) else { return Vec::new() };
    let mut all: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    all.sort();
    all
}

/// One host thread: what kernels do across CTAs is then the same in every run.
pub(crate) fn emulator() -> Emulator {
    Emulator::new(Options { threads: 1, ..Options::default() })
}

fn program(marking: MarkerOptions) -> RecordingRequest {
    RecordingRequest::of_markers(marking)
}

/// The job's module with code for markers.
pub(crate) fn rewritten(job: &Job, program: &RecordingRequest) -> Result<Rewrite, Failed> {
    Ok(match &job.object {
        Some(object) => {
            prlx_instrument::rewrite_object(&AmdGpu, &object.bytes, &job.module, program, &|_| None)?
        }
        None => prlx_instrument::rewrite(&job.text, &job.module, program, &|_| None)?,
    })
}

pub(crate) fn code(rewrite: &Rewrite) -> ModuleCode<'_> {
    match &rewrite.object {
        Some(object) => ModuleCode::Object(object.set, &object.bytes),
        None => ModuleCode::Ptx(&rewrite.text),
    }
}

fn corpus_kernel(path: &Path, free: bool) -> Result<(), Failed> {
    every_form(&mut Job::load(path)?, free)
}

/// Hooks and rewritten code leave the same in every form of tracks.
pub(crate) fn every_form(job: &mut Job, free: bool) -> Result<(), Failed> {
    for lanes in [false, true] {
        let marking =
            MarkerOptions { source: true, outside: OUTSIDE.to_vec(), lanes, ..MarkerOptions::default() };
        both(job, marking.clone(), free)?;
        last_ones(job, &marking, free)?;
        as_spans(job, &marking, free)?;
        added_up(job, marking, free)?;
    }
    Ok(())
}

fn case(path: &Path) -> Result<(), Failed> {
    let mut job = Job::load(path)?;
    let mut text = String::new();
    for (what, outside, lanes) in
        [("source", &[][..], false), ("source, every lane", &[], true), ("all", &OUTSIDE, false)]
    {
        let marking =
            MarkerOptions { source: true, outside: outside.to_vec(), lanes, ..MarkerOptions::default() };
        let sums = added_up(&mut job, marking.clone(), false)?;
        last_ones(&mut job, &marking, false)?;
        let spans = as_spans(&mut job, &marking, false)?;
        let (module, tracks) = both(&mut job, marking, false)?;
        writeln!(text, "== {what}\n{sums}\n{spans}")?;
        let shown_too = |t: &&Track| !lanes || t.warp.0 == 0;
        tracks.iter().filter(shown_too).try_for_each(|t| writeln!(text, "{}", shown(&module, t)))?;
    }
    let expected = path.with_extension("tracks");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, &text)?;
    }
    let wanted = std::fs::read_to_string(&expected).map_err(|e| format!("{}: {e}", expected.display()))?;
    if text != wanted {
        let line = text.lines().zip(wanted.lines()).find(|(is, wanted)| is != wanted);
        return Err(
            format!("{}: not what is expected: {line:?} (BLESS=1 writes it)", expected.display()).into()
        );
    }
    Ok(())
}

/// A track in one line.
pub(crate) fn shown(module: &Module, t: &Track) -> String {
    let group = t.group.map(|g| format!(" group {g}")).unwrap_or_default();
    let mut text = format!("warp {} lane {} sm {}{group}:", t.warp.0, t.lane, t.sm);
    for r in &t.records.0 {
        let mark = &module.marks[r.mark as usize];
        let _ = write!(text, " {}:{}", mark.kind.name(), mark.name.replace(' ', "-"));
        if !mark.payload.is_empty() {
            let words: Vec<String> = r.payload.iter().take(mark.payload.len()).map(u32::to_string).collect();
            let _ = write!(text, "({})", words.join(","));
        }
    }
    if !t.anchors.0.is_empty() {
        let _ = write!(text, " anchors:{}", t.anchors.0.len());
    }
    text
}

/// Runs hooks and rewritten code; the tracks, if they are the same.
fn both(job: &mut Job, marking: MarkerOptions, free: bool) -> Result<(Module, Vec<Track>), Failed> {
    let lanes = marking.lanes;
    let rewrite = rewritten(job, &program(marking))?;
    let kernel = rewrite.module.functions.iter().position(|f| f.name == job.kernel).ok_or("no kernel")?;
    if rewrite.plan.probe_state.tracks.is_none() || rewrite.plan.functions[kernel].skipped.is_some() {
        return Ok(Default::default());
    }
    let mut out = Vec::new();
    for &seed in SEEDS {
        job.config.seed = seed;
        let hooks = observe(job, &rewrite.plan)?;
        let options = RecordOptions { pool: 8 << 20, ..RecordOptions::default() };
        let recorded =
            prlx_driver::record(&mut emulator(), Some(code(&rewrite)), &rewrite.plan, job, &options)?;
        if let Some(fault) = recorded.fault {
            return Err(format!("seed {seed}: {}", fault.message).into());
        }
        let marks = recorded.marks.ok_or("no marks")?;
        if free {
            continue;
        }
        let wrong: u64 = recorded.outputs.iter().filter_map(|o| o.expect.as_ref()).map(|e| e.wrong).sum();
        if wrong > 0 {
            return Err(format!("seed {seed}: {wrong} elements are not what the reference says").into());
        }
        same(&hooks, &marks.tracks, marks.left_out, lanes).map_err(|e| format!("seed {seed}: {e}"))?;
        out = marks.tracks;
    }
    Ok((rewrite.plan.module, out))
}

/// A ring has the last of the records, and counts the others, by hooks and by rewritten code.
fn last_ones(job: &mut Job, marking: &MarkerOptions, free: bool) -> Result<(), Failed> {
    let ring = MarkerOptions { form: Form::Ring { entries: 2 }, ..marking.clone() };
    let (_, last) = both(job, ring, free)?;
    let (module, all) = both(job, marking.clone(), free)?;
    // What the reader numbers, or makes many of, is not one record of a ring each.
    if free
        || all.len() != last.len()
        || module.marks.iter().any(|m| matches!(m.via, Via::Tma | Via::CpAsync | Via::Wgmma))
    {
        return if all.len() == last.len() {
            Ok(())
        } else {
            Err("there are not as many rings as tracks".into())
        };
    }
    for (all, last) in all.iter().zip(&last) {
        let said = |t: &Track, from: usize| {
            t.records.0[from..].iter().map(|r| (r.mark, r.payload)).collect::<Vec<_>>()
        };
        let from = all.records.0.len().saturating_sub(last.records.0.len());
        let kept = last.lost == from as u64 && (from == 0 || last.records.0.len() >= 2);
        if !kept || said(all, from) != said(last, 0) {
            return Err(format!("{all:?} are all, {last:?} the last").into());
        }
    }
    Ok(())
}

/// Spans stand for the records that there are without them, by hooks with the same clocks. Gives how many
/// spans there are, and what has records of its own.
fn as_spans(job: &mut Job, marking: &MarkerOptions, free: bool) -> Result<String, Failed> {
    let of = |form| {
        let program = program(MarkerOptions { form, ..marking.clone() });
        rewritten(job, &program)
    };
    let (records, spans) = (of(Form::Records)?, of(Form::Spans)?);
    if !free && records.plan.probe_state.tracks.is_some() {
        job.config.seed = SEEDS[1];
        for (is, wanted) in observe(job, &spans.plan)?.iter().zip(observe(job, &records.plan)?) {
            if is.records != wanted.records {
                return Err(format!("spans stand for {is:?}, records are {wanted:?}").into());
            }
        }
    }
    both(job, MarkerOptions { form: Form::Spans, ..marking.clone() }, free)?;
    let ends = spans.plan.functions.iter().flat_map(|f| &f.insertions);
    let ends = ends.filter(|i| matches!(i.action, Action::Span { end: Some(_), .. })).count();
    let mut text = format!("spans: {ends} ends");
    spans.plan.probe_state.unrecorded_markers.iter().try_for_each(|m| write!(text, "\nmissed: {}", m.why))?;
    Ok(text)
}

/// Sums are what records add up to, and the counts of rewritten code are theirs. Gives the first track's
/// counts, and what is left out.
fn added_up(job: &mut Job, marking: MarkerOptions, free: bool) -> Result<String, Failed> {
    let of = |form| {
        let program = program(MarkerOptions { form, ..marking.clone() });
        rewritten(job, &program)
    };
    let (records, sums) = (of(Form::Records)?, of(Form::Sums)?);
    if sums.plan.probe_state.tracks.is_none() || !sums.plan.functions.iter().any(|f| f.skipped.is_none()) {
        return Ok(String::new());
    }
    let kernel = sums.plan.module.functions.iter().position(|f| f.name == job.kernel).ok_or("no kernel")?;
    if sums.plan.functions[kernel].skipped.is_some() {
        return Ok(String::new());
    }
    let whole = sums
        .plan
        .probe_state
        .unrecorded_markers
        .iter()
        .all(|m| m.why.contains("of moments and asynchronous work"));
    let marks = &sums.plan.module.marks;
    let added = |t: &Track| {
        let mut all: BTreeMap<String, [u64; 2]> = BTreeMap::new();
        for sum in &t.sums {
            let of = all.entry(marks[sum.mark as usize].name.clone()).or_default();
            (of[0], of[1]) = (of[0] + sum.count, of[1] + sum.cycles.0);
        }
        all
    };
    job.config.seed = SEEDS[1];
    let by_hooks = observe(job, &sums.plan)?;
    if !free {
        for (t, records) in by_hooks.iter().zip(observe(job, &records.plan)?) {
            let wanted = total(marks, &records);
            let mut is = added(t);
            // What is refused is not there; visits that a leader found under way are not counted.
            is.retain(|name, sum| sum[0] > 0 && (whole || wanted.contains_key(name)));
            for (name, sum) in is.iter().chain(wanted.iter().filter(|_| whole)) {
                if (added(t).get(name), wanted.get(name)) != (Some(sum), Some(sum)) {
                    return Err(format!("{name} of warp {}: {is:?}, records say {wanted:?}", t.warp.0).into());
                }
            }
        }
    }
    let options = RecordOptions { pool: 8 << 20, ..RecordOptions::default() };
    let recorded = prlx_driver::record(&mut emulator(), Some(code(&sums)), &sums.plan, job, &options)?;
    let code = recorded.marks.ok_or("no marks")?.tracks;
    for (h, c) in by_hooks.iter().zip(code).filter(|_| !free) {
        let counts = |t: &Track| t.sums.iter().map(|s| (s.mark, s.count)).collect::<Vec<_>>();
        let life = c.end.zip(c.begin).map_or(0, |(end, begin)| (end.cycles - begin.cycles).0);
        let among = c.sums.iter().all(|s| s.cycles > Cycles(0) && s.cycles <= Cycles(life * s.count.max(1)));
        if (h.warp, h.lane, h.group, counts(h)) != (c.warp, c.lane, c.group, counts(&c)) || !among {
            return Err(format!("{h:?} by hooks, {c:?} by code").into());
        }
    }
    let mut text = "sums:".to_owned();
    for (name, [count, _]) in by_hooks.first().map(added).unwrap_or_default() {
        write!(text, " {}:{count}", name.replace(' ', "-"))?;
    }
    sums.plan.probe_state.unrecorded_markers.iter().try_for_each(|m| write!(text, "\nmissed: {}", m.why))?;
    Ok(text)
}

/// Visits and cycles by region's name, from records.
fn total(marks: &[Mark], t: &Track) -> BTreeMap<String, [u64; 2]> {
    let mut all: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let mut open: Vec<(&str, u32)> = Vec::new();
    let mut add = |(name, begin): (&str, u32), end: u32| {
        let of = all.entry(name.to_owned()).or_default();
        (of[0], of[1]) = (of[0] + 1, of[1] + u64::from(end.wrapping_sub(begin)));
    };
    for r in &t.records.0 {
        let mark = &marks[r.mark as usize];
        let ends = match mark.kind {
            MarkKind::End => open.iter().rposition(|(name, _)| *name == mark.name),
            MarkKind::Switch => open.len().checked_sub(1),
            _ => None,
        };
        if let Some(i) = ends {
            add(open.remove(i), r.clock);
        }
        if matches!(mark.kind, MarkKind::Begin | MarkKind::Switch) {
            open.push((&mark.name, r.clock));
        }
    }
    if let Some(end) = t.end {
        open.into_iter().for_each(|of| add(of, end.cycles.0 as u32));
    }
    all
}

/// Runs the original code with hooks.
pub(crate) fn observe(job: &Job, plan: &Plan) -> Result<Vec<Track>, Failed> {
    let mut device = emulator();
    let module = device.load(job.code())?;
    let prepared = prepare(&mut device, job)?;
    let seen = device
        .observe(module, &job.kernel, &job.config, &prepared.params, plan)
        .ok_or("the CPU device has hooks")??;
    seen.ended?;
    Ok(seen.tracks)
}

/// The first difference; what code has no room for is missing there.
pub(crate) fn same(hooks: &[Track], code: &[Track], left_out: u64, lanes: bool) -> Result<(), String> {
    let expected = hooks.len() as u64;
    let missing = left_out * if lanes { 32 } else { 1 };
    if code.len() as u64 > expected || (code.len() as u64) + missing < expected {
        return Err(format!("{} tracks by hooks, {} by code", hooks.len(), code.len()));
    }
    for (h, c) in hooks.iter().zip(code) {
        let who = |t: &Track| (t.warp, t.lane, t.sm, t.group);
        if who(h) != who(c) {
            return Err(format!("{:?} by hooks, {:?} by code", who(h), who(c)));
        }
        if h.end.is_some() != c.end.is_some() || h.begin.is_some() != c.begin.is_some() {
            return Err(format!(
                "{:?}: {:?} to {:?} by hooks, {:?} to {:?} by code",
                who(h),
                h.begin,
                h.end,
                c.begin,
                c.end
            ));
        }
        let (is, wanted) = (&c.records.0, &h.records.0);
        if is.len() > wanted.len() || c.lost == 0 && is.len() < wanted.len() {
            return Err(format!(
                "{:?}: {} records by hooks, {} and {} lost by code",
                who(h),
                wanted.len(),
                is.len(),
                c.lost
            ));
        }
        // There is room for all of them where nothing is lost; each lies within its track, and by both clocks
        // behind the one before it.
        let [is_anchors, wanted_anchors] = [c, h].map(|t| t.anchors.0.len());
        if is_anchors > wanted_anchors || c.lost == 0 && is_anchors < wanted_anchors {
            return Err(format!("{:?}: {wanted_anchors} anchors by hooks, {is_anchors} by code", who(h)));
        }
        for t in [h, c] {
            let all: Vec<_> = t.begin.iter().chain(&t.anchors.0).chain(&t.end).collect();
            if all.windows(2).any(|w| w[0].cycles > w[1].cycles || w[0].nanos > w[1].nanos) {
                return Err(format!("{:?}: anchors go back: {all:?}", who(h)));
            }
        }
        let differs = is.iter().zip(wanted).position(|(x, y)| (x.mark, x.payload) != (y.mark, y.payload));
        if let Some(i) = differs {
            return Err(format!("{:?}, record {i}: {:?} by hooks, {:?} by code", who(h), wanted[i], is[i]));
        }
        if is.windows(2).any(|w| w[1].clock.wrapping_sub(w[0].clock) > u32::MAX / 2) {
            return Err(format!("{:?}: a clock goes back", who(h)));
        }
    }
    Ok(())
}
