//! Runs both sides again with checks and data flow, to find out why their outputs differ.

use anyhow::Result;
use prlx_analyze::cause::{
    DifferingOutput, ExplainedLaunch, SourceChanges, add_check_findings, add_error_of_both,
};
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::{self, Cause, LaunchReport, Verdict};
use prlx_driver::job::ArgValue;
use prlx_driver::{Job, LaunchConfig, Output};
use prlx_isa::view::{AsyncStep, Effect, Inst, Operand};
use prlx_trace::WarpSize;
use prlx_trace::check::{Check, Finding, Findings, Grade, Place};
use prlx_trace::names::file_name;

use super::arguments::{self, Rerun};
use super::before;
use super::chosen_ctas::Reruns;
use super::outputs::{compare_outputs, ignore_unchanged};
use super::side_runs::{Origin, at_once, one_source, run_checked};
use crate::Monitor;
use crate::device::DeviceOptions;

/// What a report says of causes of launches of a GPU.
const FROM_CPU: &str = "the cause comes from running both sides again on the CPU device";

/// What a report says if the difference does not show on the CPU device.
const ONLY_ON_GPU: &str = "run again on the CPU device, both sides leave equal outputs: the difference depends on \
     the GPU, as on the order of its threads, on fused operations, or on approximate functions; \
     `prlx run --check all` of both launches looks for races";

/// What a report says if another schedule on the CPU device changes the outputs, too.
const OTHER_SCHEDULES: &str = "both sides run the same code on the same inputs. The cause comes from running this \
     launch on the CPU device under two schedules, whose outputs differ as well";

/// Schedules of the CPU device that are tried after the usual one.
const OTHER_SEEDS: std::ops::RangeInclusive<u64> = 1..=3;

/// What running both sides again gave.
#[derive(Debug, Default)]
struct Explanation {
    /// Why the outputs differ.
    causes: Vec<Cause>,
    /// If the outputs agree: why the thread of a finding makes another decision.
    decision: Option<Cause>,
    /// Whether both sides come from the same lines of the same source.
    one_source: bool,
    /// By side: what the checks found.
    findings: [Findings; 2],
    /// Whether outputs differ.
    outputs_differ: bool,
    /// What differs in the source.
    changes: SourceChanges,
    /// By side: why the run stopped.
    stopped: [Option<String>; 2],
}

/// Explains the differences of a launch, and settles what outputs and checks alone can settle: unless
/// `strict`, decisions that only the schedule explains. Does nothing for a launch that is the same, unless
/// the sides synchronise in different ways. These runs are on the CPU device, wherever the launch ran.
/// Returns whether there were any.
///
/// # Errors
/// If the device cannot be opened, or the user interrupts.
pub(super) fn explain_launch(
    launch: &mut LaunchReport,
    (jobs, origin): (&[Job; 2], Origin),
    device: &DeviceOptions,
    (tolerance, strict): (Option<Tolerance>, bool),
    monitor: &Monitor<'_>,
) -> Result<bool> {
    let [a, b] = jobs;
    if launch.verdict == Verdict::Same
        && !launch.order
        && (a.code() == b.code() || synchronization(a)? == synchronization(b)?)
    {
        return Ok(false);
    }
    // What only the schedule decides is settled below.
    let decision = launch.findings.first().filter(|_| !launch.order && !same_launch(jobs));
    let mut found = rerun((jobs, origin), device, tolerance, decision, monitor)?;
    let side = arguments::explain_arguments(&mut found.causes, jobs, |jobs, least| {
        let found = rerun((jobs, origin), device, tolerance.or(least), None, monitor)?;
        let equal = !found.outputs_differ && found.stopped == [None, None];
        Ok(Rerun { causes: found.causes, equal })
    })?;
    launch.notes.extend(side.map(of_one_code));
    before::explain_inputs(&mut found.causes, jobs, |jobs| {
        Ok(rerun((jobs, origin), device, tolerance, None, monitor)?.causes)
    })?;
    launch.causes = found.causes;
    if same_launch(jobs) {
        add_error_of_both(launch, &found.findings[0]);
    }
    if origin != Origin::CpuDevice {
        for (side, why) in ["A", "B"].into_iter().zip(&found.stopped) {
            launch.notes.extend(why.as_ref().map(|why| format!("the CPU device stopped in {side}: {why}")));
        }
        if !launch.causes.is_empty() {
            launch.notes.push(FROM_CPU.to_owned());
        } else if !launch.outputs_agree() && !found.outputs_differ && found.stopped == [None, None] {
            launch.causes = match same_launch(jobs) {
                true => causes_of_schedule(jobs, origin, device, tolerance, monitor)?,
                false => Vec::new(),
            };
            let note = if launch.causes.is_empty() { ONLY_ON_GPU } else { OTHER_SCHEDULES };
            launch.notes.push(note.to_owned());
        }
    }
    let errors = add_check_findings(launch, found.findings.each_ref(), &found.changes);
    let faults = || found.findings.iter().flat_map(|f| &f.list).filter(|f| f.kind.grade() == Grade::Error);
    let clean = faults().next().is_none();
    let race = faults().find(|f| f.kind.check() == Check::Race);
    if !strict && clean && same_launch(jobs) && launch.findings_total > 0 {
        settle_by_order(launch);
    }
    let undecided = launch.order && launch.findings_total == 0 || launch.only_code_unmatched();
    if let Some(race) = race.filter(|_| !errors && undecided) {
        launch.gaps.push(race_of_both(race));
        launch.conclude();
    }
    if !errors && !strict && found.one_source && a.kernel == b.kernel && a.code() != b.code() {
        launch.accept_decisions_of_other_options();
    }
    if clean && !strict && a.code() != b.code() {
        launch.accept_other_order_of_iterations(&|line| found.changes.rewrote_loop(line));
    }
    if clean && launch.only_code_unmatched() {
        launch.accept_unmatched_code();
    }
    if launch.verdict == Verdict::Differs && launch.causes.is_empty() {
        launch.causes.extend(found.decision);
    }
    Ok(true)
}

/// What a report says of a cause that comes from the code of one side alone.
fn of_one_code(side: &str) -> String {
    let other = if side == "A" { "B" } else { "A" };
    format!(
        "the code of both sides differs, but the code of {side} leaves the outputs of {other} if it gets the \
         arguments of {other}: the cause comes from running the code of {side} with both"
    )
}

/// The gap that a race of both sides leaves.
fn race_of_both(race: &Finding) -> String {
    let place = |place: &Place| match place.source.get(place.own()) {
        Some(line) => format!("{}:{}", file_name(&line.file), line.line),
        None => format!("line {} of the module", place.module_line),
    };
    let mut places: Vec<String> = race.sides.iter().filter_map(|s| s.place.as_ref().map(place)).collect();
    places.dedup();
    let at = if places.is_empty() { String::new() } else { format!(" at {}", places.join(" and ")) };
    format!(
        "threads behave differently, and a race that both sides have{at} may be the reason \
         (prlx run --check race shows it)"
    )
}

/// The instructions of the module that order threads or accesses, with their constants. Without one of them,
/// outputs can agree in one schedule by chance.
fn synchronization(job: &Job) -> Result<Vec<(String, Vec<i64>)>> {
    let module = job.view(WarpSize::W32)?;
    let code = module.functions.iter().flat_map(|f| &f.insts);
    let orders = |i: &&Inst| match &i.semantics.effect {
        Effect::Barrier(_) | Effect::BarrierObject { .. } | Effect::Fence => true,
        Effect::Access(_) => i.semantics.order.strong,
        Effect::Async(part) => part.step != AsyncStep::Issue,
        _ => false,
    };
    let constant = |operand: &Operand| if let Operand::Int(n) = operand { Some(*n) } else { None };
    let one = |i: &Inst| {
        let what = format!("{:?} {:?}", i.semantics.effect, i.semantics.order);
        (what, i.operands.iter().filter_map(constant).collect())
    };
    let mut all: Vec<(String, Vec<i64>)> = code.filter(orders).map(one).collect();
    all.sort_unstable();
    Ok(all)
}

/// Whether both sides run the same code on the same inputs. Only the schedule can then explain a difference.
fn same_launch([a, b]: &[Job; 2]) -> bool {
    let seed = a.config.seed;
    a.text == b.text
        && a.kernel == b.kernel
        && a.args.len() == b.args.len()
        && a.args.iter().zip(&b.args).all(|(x, y)| x.name == y.name && same_value(&x.value, &y.value))
        && a.config == LaunchConfig { seed, ..b.config.clone() }
}

/// Whether two arguments are equal. Buffers are if they hold the same before the launch, wherever they lie.
fn same_value(a: &ArgValue, b: &ArgValue) -> bool {
    match (a, b) {
        (ArgValue::Buffer(a), ArgValue::Buffer(b)) => {
            a.ty == b.ty && a.map == b.map && a.variable == b.variable && a.holds_same(b)
        }
        _ => a == b,
    }
}

/// Runs one launch under other schedules on the CPU device, until its outputs differ from those of the first.
/// Returns why they do; nothing if no schedule changes them.
fn causes_of_schedule(
    [a, _]: &[Job; 2],
    origin: Origin,
    device: &DeviceOptions,
    tolerance: Option<Tolerance>,
    monitor: &Monitor<'_>,
) -> Result<Vec<Cause>> {
    for seed in OTHER_SEEDS {
        let config = LaunchConfig { seed, ..a.config.clone() };
        let jobs = [a.clone(), Job { config, ..a.clone() }];
        let found = rerun((&jobs, origin), device, tolerance, None, monitor)?;
        if found.outputs_differ {
            return Ok(found.causes);
        }
    }
    Ok(Vec::new())
}

/// Settles what two schedules of one launch did differently, in which the checks found no error: the order
/// of threads decides. If the outputs agree, that is no difference. If they do not, and nothing else explains
/// it, the order is the cause.
fn settle_by_order(launch: &mut LaunchReport) {
    if launch.outputs_agree() {
        launch.accept_order("both sides run the same code on the same inputs, and the checks find no error");
    } else if launch.causes.is_empty() {
        launch.add_order_cause();
    }
}

/// Runs both sides again. `decision`: the finding to explain if the outputs agree.
fn rerun(
    (jobs, origin): (&[Job; 2], Origin),
    device: &DeviceOptions,
    tolerance: Option<Tolerance>,
    decision: Option<&report::Finding>,
    monitor: &Monitor<'_>,
) -> Result<Explanation> {
    monitor.check()?;
    let activity =
        monitor.activity(&format!("looking for the cause in {} and {}", jobs[0].name, jobs[1].name));
    let [mut a, mut b] = at_once(|side| run_checked(&jobs[side], origin, device))?;
    drop(activity);
    if origin == Origin::Program {
        ignore_unchanged(jobs, [&mut a.outputs, &mut b.outputs]);
    }
    let outputs =
        differing(jobs, [std::mem::take(&mut a.outputs), std::mem::take(&mut b.outputs)], tolerance);
    let launch = ExplainedLaunch {
        flows: [&a.flow, &b.flow],
        findings: [&a.findings, &b.findings],
        outputs: &outputs,
        files: [&a.files, &b.files],
        stopped: [a.stopped.as_deref(), b.stopped.as_deref()],
    };
    let stopped = a.stopped.is_some() || b.stopped.is_some();
    let reruns = Reruns { jobs, origin, device, monitor, stopped };
    let mut found = reruns.explain(&launch)?;
    if found.causes.is_empty() {
        found.causes.extend(reruns.explain_error(&launch)?);
    }
    let decision = match decision.filter(|_| outputs.is_empty() && found.causes.is_empty() && !stopped) {
        Some(finding) => reruns.explain_decision(&launch, finding)?,
        None => None,
    };
    let (outputs_differ, changes) = (!outputs.is_empty(), launch.changes());
    Ok(Explanation {
        causes: found.causes,
        decision,
        one_source: one_source([&a, &b]),
        findings: [a.findings, b.findings],
        outputs_differ,
        changes,
        stopped: [a.stopped, b.stopped],
    })
}

/// The outputs of these runs that differ.
fn differing(
    jobs: &[Job; 2],
    mut outputs: [Vec<Output>; 2],
    tolerance: Option<Tolerance>,
) -> Vec<DifferingOutput> {
    let mut all = Vec::new();
    for (compared, elements) in compare_outputs(jobs, outputs.each_ref().map(Vec::as_slice), tolerance) {
        let taken = outputs.each_mut().map(|side| {
            let at = side.iter().position(|o| o.name == compared.name)?;
            Some(side.swap_remove(at))
        });
        if let (false, [Some(a), Some(b)]) = (elements.is_empty(), taken) {
            let bytes = [a.bytes, b.bytes];
            all.push(DifferingOutput { name: a.name, ty: a.ty, shape: a.shape, elements, bytes });
        }
    }
    all
}
