//! Runs any CUDA program with the markers of its kernels recorded, and says where the cycles went.

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx_driver::session::{Options, PASSED, Session};
use prlx_plan::IDLE;
use prlx_timeline::{Calibration, Timeline};
use prlx_trace::{Level, Trace};

use super::marking;
use crate::args::{Kept, ProfileArgs, RecorderArgs};
use crate::commands::timeline;
use crate::folder::Folder;
use crate::program::{self, Output, Supervisor};
use crate::report;
use crate::ui::Ui;

/// MiB of tracks of a device.
const MEMORY: u64 = 512;

/// Runs it; its exit code is the program's, but where there was no marker.
pub fn run(args: &ProfileArgs, ui: &Ui) -> Result<ExitCode> {
    if args.choice.digest.is_some() {
        bail!(
            "--digest is for `prlx record`: its kernels between those of the program would be in the timeline"
        );
    }
    let kept = args.format == Kept::Prlx;
    let folder = Folder::new(args.output.as_deref().filter(|_| kept), "profile");
    let recorder = RecorderArgs {
        kernel: args.kernel.clone(),
        memory: Some(args.memory.unwrap_or(MEMORY)),
        warps: args.warps.as_ref().map(|w| (w.start, w.end)),
        rewritten: args.rewritten,
        ..RecorderArgs::default()
    };
    let options = program::options(&recorder, &args.choice, &args.device, &folder)?;
    let options = Options { level: Level::Probe, markers: Some(marking(args)), ..options };
    let ended = program::run(&args.command, &options, Output::Theirs, &Supervisor::new()?, ui)?;
    if let Some(what) = ended.failure() {
        ui.warn(&format!("the program {what}"));
    }
    let session = Session::open(&folder)?;
    let mut traces = Vec::new();
    for i in 0..session.files.len() {
        traces.push(report::read(&session, i)?);
    }
    if traces.iter().all(|t| t.marks.is_empty()) {
        // Whatever there is to say of it is said; its own failure comes first.
        return match nothing(&traces, args) {
            Some(why) if ended.failure().is_none() => bail!(why),
            why => {
                why.iter().for_each(|why| ui.warn(why));
                Ok(ended.code())
            }
        };
    }
    left_out(&traces).iter().for_each(|what| ui.warn(what));
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    let name = words.join(" ");
    traces.retain(|t| !t.marks.is_empty());
    for (i, trace) in traces.iter().enumerate() {
        let mut timeline = prlx_timeline::timeline(trace, prlx_driver::occupancy::threads_per_sm);
        tighter(&timeline).iter().for_each(|what| ui.warn(what));
        let mut view = args.view.clone();
        if traces.len() > 1 {
            let pid = trace.process.as_ref().map_or(0, |p| p.pid);
            ui.note(&format!("process {pid}, {} of {}:", i + 1, traces.len()));
        }
        if i > 0 && view != view.printed() {
            ui.warn("the files that were asked for are of the first process");
            view = view.printed();
        }
        if let Some(output) = args.output.as_deref().filter(|_| !kept && i == 0) {
            timeline::save_buffer(&mut timeline, output, ui)?;
        }
        timeline::show(timeline, &name, &view, ui)?;
    }
    Ok(ended.code())
}

/// Kernels of which fewer threads may run at once than without their markers.
fn tighter(timeline: &Timeline) -> Vec<String> {
    let said = |c: &Calibration| {
        let [bare, marked] = c.room.filter(|[bare, marked]| marked < bare)?;
        let kernel = prlx_present::safe(&c.kernel);
        Some(format!("{kernel}: registers leave room for {bare} -> {marked} threads on a multiprocessor"))
    };
    timeline.calibrations.iter().filter_map(said).collect()
}

/// What was not recorded, and why: modules, launches, markers. That a kernel has no markers is no loss.
fn left_out(traces: &[Trace]) -> Vec<String> {
    let (mut markers, mut modules, mut launches) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for trace in traces {
        for skipped in trace.skipped.iter().filter(|s| s.reason != IDLE) {
            let which = if skipped.kernel.is_some() { &mut markers } else { &mut modules };
            *which.entry(skipped.reason.clone()).or_insert(0) += 1;
        }
        let reasons = trace.launches.iter().filter_map(|l| l.launch.skipped.clone());
        // Where all modules that were left as they are have no markers, their launches have none either.
        let whole = trace.skipped.iter().filter(|s| s.kernel.is_none());
        let markless = whole.clone().count() > 0 && whole.clone().all(|s| s.reason == IDLE);
        let lost = reasons.filter(|why| why != IDLE && !(markless && why == PASSED));
        lost.for_each(|why| *launches.entry(why).or_insert(0) += 1);
    }
    let of = |all: BTreeMap<String, usize>, one: &str, many: &str| -> Vec<String> {
        let said = |(why, n): (String, usize)| {
            format!("{n} {} not profiled: {}", if n == 1 { one } else { many }, prlx_present::safe(&why))
        };
        all.into_iter().map(said).collect()
    };
    let markers = markers.into_keys().map(|what| prlx_present::safe(&what).to_string());
    let (modules, launches) = (of(modules, "module", "modules"), of(launches, "launch", "launches"));
    modules.into_iter().chain(launches).chain(markers).collect()
}

/// Why nothing was recorded; `None`: there was no module.
fn nothing(traces: &[Trace], args: &ProfileArgs) -> Option<String> {
    let idle = traces.iter().flat_map(|t| &t.skipped).filter(|s| s.reason == IDLE).count();
    let lines: String = left_out(traces).iter().map(|what| format!("\n  {what}")).collect();
    let help = super::others(args);
    match (idle, lines.is_empty()) {
        (0, true) => None,
        (0, false) => Some(format!("nothing was profiled:{lines}")),
        _ => Some(format!("no kernel of the program has markers{help}{lines}")),
    }
}
