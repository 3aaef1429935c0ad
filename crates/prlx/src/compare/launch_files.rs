//! Compares two launch files.

use std::path::PathBuf;
use std::rc::Rc;

use anyhow::{Context, Result};
use prlx_analyze::cause::{SourceChanges, add_check_findings};
use prlx_analyze::outputs::{Tolerance, add_outputs};
use prlx_analyze::report::{Fault, LaunchReport};
use prlx_analyze::view::{PathViewOptions, ViewModel};
use prlx_analyze::{DiffOptions, Report, Verdict};
use prlx_driver::Job;
use prlx_trace::check::{Check, Findings};
use prlx_trace::kernel::FaultKind;
use prlx_trace::launch::Window;
use prlx_trace::{Level, Printed, Trace};

use super::explain::explain_launch;
use super::locates_visits;
use super::outputs::{compare_outputs, with_common_outputs};
use super::side_runs::{Origin, source_files};
use super::step_limits::{keep_texts, record_both};
use crate::Monitor;
use crate::device::DeviceOptions;
use crate::diff::diff_traces;
use crate::record::{self, RecorderOptions};

/// Findings of a comparison that get operands by default: each costs one more run of both sides.
pub const ZOOMED_FINDINGS: usize = 3;

/// What a report of equal launches says if no run checked for races. A race can leave equal outputs in the
/// one schedule that ran.
const NO_RACE_CHECK: &str = "races were not looked for: on the CPU device, --check race looks for them";

/// How to record and compare two sides.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// What to record.
    pub recorder: RecorderOptions,
    /// Where launch files run.
    pub device: DeviceOptions,
    /// How to compare.
    pub diff: DiffOptions,
    /// Number of findings of each launch for which viewers get their data; `None` for no viewer.
    pub views: Option<usize>,
    /// Record both sides again around the first findings, at level `operands`.
    pub zoom: bool,
    /// Keep both recordings in this folder.
    pub keep: Option<PathBuf>,
    /// Overwrite the recordings of programs that are there. Files of launch files are always overwritten.
    pub force: bool,
    /// How far elements of outputs may be apart. With `None`, the `expect` of launch files says it, and other
    /// outputs must have equal bits.
    pub tolerance: Option<Tolerance>,
    /// Run both sides again to find why outputs differ.
    pub explain: bool,
    /// Programs: run both sides again to compare what launches stored, where their recordings do not tell.
    pub outputs: bool,
    /// Programs: run both first at level `fingerprint` with digests, and record at the recorder's level only
    /// the launches that these leave in doubt. Needs `outputs`.
    pub survey: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions {
            recorder: RecorderOptions::default(),
            device: DeviceOptions::default(),
            diff: DiffOptions::default(),
            views: None,
            zoom: false,
            keep: None,
            force: false,
            tolerance: None,
            explain: true,
            outputs: true,
            survey: false,
        }
    }
}

/// A comparison of two launch files.
#[derive(Debug)]
pub struct LaunchComparison {
    /// The report of the comparison.
    pub report: Report,
    /// What viewers show.
    pub scene: ViewModel,
    /// The recordings of both sides.
    pub traces: [Rc<Trace>; 2],
    /// What the checks found on each side.
    pub checks: [Findings; 2],
    /// What the kernels of both sides printed.
    pub printed: [Printed; 2],
}

/// Records both jobs on a device and compares them; the report calls them `names`.
///
/// # Errors
/// If a job cannot be recorded, or a recording cannot be written or compared.
pub fn compare_launch_files(
    jobs: &[Job; 2],
    names: [String; 2],
    options: &CompareOptions,
    monitor: &Monitor<'_>,
) -> Result<LaunchComparison> {
    let recorder = &options.recorder;
    let record = |recorder: &RecorderOptions, job: &Job, device: &DeviceOptions| {
        monitor.check()?;
        let program = record::recorder_program(recorder, record::warps_per_cta(job, device));
        record::record(job, &program, recorder, device, monitor)
    };
    let jobs = &*with_common_outputs(jobs);
    let recorded = record_both(jobs, &options.device, |job, device| record(recorder, job, device))?;
    let ([left, right], device) = (recorded.0, &recorded.1);
    let compared = compare_outputs(jobs, [&left.outputs, &right.outputs], options.tolerance);
    let printed = [left.printed, right.printed];
    let checks = [left.findings, right.findings];
    let (mut a, mut b) = (left.trace, right.trace);
    if let Some(folder) = &options.keep {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for (trace, job, outputs, name) in
            [(&a, &jobs[0], &left.outputs, "a.prlx"), (&b, &jobs[1], &right.outputs, "b.prlx")]
        {
            // The comparison below takes the outputs themselves.
            let mut kept = trace.clone();
            record::store_outputs(&mut kept, job, outputs, recorder)?;
            record::save(&kept, &folder.join(name))?;
        }
    }
    // They can be gigabytes, and the search for the cause makes its own.
    drop((left.outputs, right.outputs));
    // Each side has one launch, whatever its kernel is called.
    let diff = DiffOptions { force: true, ..options.diff.clone() };
    let mut report = diff_traces(&a, &b, names.clone(), &diff, monitor)?;
    let stuck = |f: &Option<Fault>| f.as_ref().is_some_and(|f| f.kind == FaultKind::Stuck);
    let unseen = |l: &LaunchReport| l.findings_total == 0 && l.faults.iter().any(stuck);
    if recorder.level.in_words() && report.launches.iter().any(unseen) {
        // Lanes that a limit stops leave their last decisions in registers, but events are in memory.
        let events = RecorderOptions { level: Level::Events, ..recorder.clone() };
        for (trace, job) in [&mut a, &mut b].into_iter().zip(jobs) {
            let earlier = std::mem::replace(trace, record(&events, job, device)?.trace);
            keep_texts(trace, &earlier);
        }
        report = diff_traces(&a, &b, names, &diff, monitor)?;
    }
    let outputs = compared.into_iter().map(|(output, _)| output).collect();
    if let [launch] = &mut report.launches[..] {
        add_outputs(launch, outputs);
        launch.accept_other_names();
        if !options.diff.strict {
            launch.accept_tests_without_effect();
            launch.accept_decisions_of_other_threads();
        }
        let agree = launch.verdict == Verdict::Same && !launch.order;
        let mut checked = false;
        if options.explain {
            let how = (options.tolerance, options.diff.strict);
            checked = explain_launch(launch, (jobs, Origin::of(device)), device, how, monitor)?;
        }
        // Nothing was to be explained, so nothing but the recordings was checked.
        if agree && !checked && device.check.is_some() {
            let places = |side: usize| {
                checks[side].list.iter().flat_map(|f| &f.sides).filter_map(|s| s.place.as_ref())
            };
            let files = [0, 1].map(|side| source_files(places(side), &jobs[side]));
            add_check_findings(launch, checks.each_ref(), &SourceChanges::of_files(files.each_ref()));
        }
        let races = checked || device.check.is_some_and(|checks| checks.has(Check::Race));
        if launch.verdict == Verdict::Same && !races {
            launch.notes.push(NO_RACE_CHECK.to_owned());
        }
        report.conclude();
    }
    if options.zoom {
        attach_operands(&mut report, jobs, ZOOMED_FINDINGS, recorder, device, monitor)?;
    }
    let mut scene = ViewModel::default();
    if let Some(views) = options.views {
        scene.add([&a, &b], &report, 0, views, &PathViewOptions::default())?;
    }
    Ok(LaunchComparison { report, scene, traces: [Rc::new(a), Rc::new(b)], checks, printed })
}

/// Records both sides again around the first `most` findings of a report and attaches all operands there.
/// Does nothing for recordings at a level that does not locate visits.
///
/// # Errors
/// If a side cannot be recorded again.
pub fn attach_operands(
    report: &mut Report,
    jobs: &[Job; 2],
    most: usize,
    recorder: &RecorderOptions,
    device: &DeviceOptions,
    monitor: &Monitor<'_>,
) -> Result<()> {
    if !locates_visits(recorder.level) {
        return Ok(());
    }
    let findings = report.launches.iter().flat_map(|l| &l.findings).take(most);
    let windows = findings.map(|f| [0, 1].map(|side| prlx_analyze::operand_window(f, side)));
    let unchecked = DeviceOptions { check: None, ..device.clone() };
    for [wa, wb] in windows.collect::<Vec<[Option<Window>; 2]>>() {
        monitor.check()?;
        let zoom = |job: &Job, window: Option<Window>| match window {
            Some(window) => {
                let program = record::recorder_program(recorder, record::warps_per_cta(job, device));
                record::record(job, &record::zoomed(&program, window), recorder, &unchecked, monitor)
                    .map(|recorded| recorded.trace)
            }
            // The finding's site exists on the other side only, which shows its operands alone.
            None => Ok(Trace::default()),
        };
        prlx_analyze::attach_operands(report, &zoom(&jobs[0], wa)?, &zoom(&jobs[1], wb)?)?;
    }
    Ok(())
}
