//! Runs both sides again with checks and data flow, to find out why their outputs differ.

use std::collections::BTreeSet;

use anyhow::Result;
use prlx_analyze::cause::{
    self, DifferingOutput, ExplainedLaunch, SourceFiles, add_check_findings, add_error_of_both, explain,
    explain_error, storing_ctas,
};
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::{Cause, LaunchReport, Verdict};
use prlx_driver::job::ArgValue;
use prlx_driver::{Job, LaunchConfig, Output};
use prlx_emu::{Checks, FlowRequest};
use prlx_isa::view::{AsyncStep, Effect, Inst, Operand};
use prlx_trace::WarpSize;
use prlx_trace::check::{Allocation, Check, Findings, Grade};
use prlx_trace::dataflow::DataFlow;
use prlx_trace::names::is_compiler_file;

use super::before;
use super::outputs::{compare_outputs, ignore_unchanged};
use crate::Monitor;
use crate::device::{Device, DeviceChoice, DeviceOptions};

/// Bytes that the data flow of one side may take.
const DATAFLOW_BYTES: u64 = 1 << 30;

/// How often both sides run to record the data flow of some CTAs: each time with those that the last one led
/// to.
const FLOW_ROUNDS: usize = 3;

/// CTAs that are added at most, for one of these runs.
const MORE_CTAS: usize = 32;

/// Instructions of all CTAs together that a launch of a GPU may take on the CPU device: about a minute. One
/// CTA may take as many.
const GPU_LAUNCH_STEPS: u64 = 100_000_000;

/// Instructions for each CTA that such a launch may take at least.
const GPU_CTA_STEPS: u64 = 1 << 16;

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

/// Where the launches ran that are explained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// On the CPU device, from launch files.
    CpuDevice,
    /// On a GPU, from launch files.
    Gpu,
    /// In programs, on a GPU. The jobs are captured launches.
    Program,
}

impl Origin {
    /// Where launch files run with these options.
    pub(super) fn of(device: &DeviceOptions) -> Origin {
        if device.is_gpu() { Origin::Gpu } else { Origin::CpuDevice }
    }
}

/// What running both sides again gave.
#[derive(Debug, Default)]
struct Explanation {
    /// Why the outputs differ.
    causes: Vec<Cause>,
    /// Whether both sides come from the same lines of the same source.
    one_source: bool,
    /// By side: what the checks found.
    findings: [Findings; 2],
    /// Whether outputs differ.
    outputs_differ: bool,
    /// By side: why the run stopped.
    stopped: [Option<String>; 2],
}

/// One side, run again.
struct Side {
    flow: DataFlow,
    files: SourceFiles,
    findings: Findings,
    outputs: Vec<Output>,
    /// Why the run stopped.
    stopped: Option<String>,
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
    let mut found = rerun((jobs, origin), device, tolerance, monitor)?;
    before::explain_inputs(&mut found.causes, jobs, |jobs| {
        Ok(rerun((jobs, origin), device, tolerance, monitor)?.causes)
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
    let errors = add_check_findings(launch, found.findings.each_ref());
    let mut faults = found.findings.iter().flat_map(|f| &f.list).filter(|f| f.kind.grade() == Grade::Error);
    let racy = faults.clone().any(|f| f.kind.check() == Check::Race);
    if !strict && faults.next().is_none() && same_launch(jobs) && launch.findings_total > 0 {
        settle_by_order(launch);
    }
    if racy && !errors && launch.order && launch.findings_total == 0 {
        launch
            .gaps
            .push("threads behave differently, and a race that both sides have may be the reason".into());
        launch.conclude();
    }
    if !errors && !strict && found.one_source && a.kernel == b.kernel && a.code() != b.code() {
        launch.accept_decisions_of_other_options();
    }
    if !errors && launch.only_code_unmatched() {
        launch.accept_unmatched_code();
    }
    Ok(true)
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
    let one =
        |i: &Inst| (format!("{:?}", i.semantics.effect), i.operands.iter().filter_map(constant).collect());
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
            a.ty == b.ty && a.map == b.map && a.variable == b.variable && a.bytes() == b.bytes()
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
        let found = rerun((&jobs, origin), device, tolerance, monitor)?;
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

/// Runs both sides again.
fn rerun(
    (jobs, origin): (&[Job; 2], Origin),
    device: &DeviceOptions,
    tolerance: Option<Tolerance>,
    monitor: &Monitor<'_>,
) -> Result<Explanation> {
    monitor.check()?;
    let activity =
        monitor.activity(&format!("looking for the cause in {} and {}", jobs[0].name, jobs[1].name));
    let [mut a, mut b] = at_once(|side| again(&jobs[side], origin, device))?;
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
    };
    let whole = a.flow.complete && b.flow.complete || outputs.is_empty();
    let mut found =
        if whole { explain(&launch) } else { explain_ctas(&launch, (jobs, origin), device, monitor)? };
    if found.causes.is_empty() {
        found.causes.extend(explain_error(&launch));
    }
    let outputs_differ = !outputs.is_empty();
    Ok(Explanation {
        causes: found.causes,
        one_source: one_source([&a, &b]),
        findings: [a.findings, b.findings],
        outputs_differ,
        stopped: [a.stopped, b.stopped],
    })
}

/// Explains differing outputs of launches whose whole data flow has no room: both sides run again, and record
/// only the CTAs that stored the elements which are followed, and those that they read from.
fn explain_ctas(
    launch: &ExplainedLaunch<'_>,
    (jobs, origin): (&[Job; 2], Origin),
    device: &DeviceOptions,
    monitor: &Monitor<'_>,
) -> Result<cause::Explanation> {
    let stored = storing_ctas(launch);
    let same_grid = jobs[0].config.grid == jobs[1].config.grid;
    let mut ctas = match same_grid {
        true => [0, 1].map(|_| stored.iter().flatten().copied().collect()),
        false => stored,
    };
    // With it, a run goes on behind an access that is out of bounds, as the first one did.
    let bounds = Some(Checks::NONE.with(Check::Bounds));
    let mut found = cause::Explanation::default();
    for _ in 0..FLOW_ROUNDS {
        monitor.check()?;
        let most = ctas[0].len().max(ctas[1].len());
        let activity = monitor.activity(&format!("recording the data flow of {most} CTAs"));
        let flows = at_once(|side| {
            let request = FlowRequest { bytes: DATAFLOW_BYTES, ctas: Some(ctas[side].clone()) };
            Ok(run_again(&jobs[side], origin, device, bounds, request)?.0)
        })?;
        drop(activity);
        if flows.iter().any(|flow| !flow.complete) && ctas.iter().any(|ctas| ctas.len() > 1) {
            // Fewer elements then have a cause, but the right one.
            for ctas in &mut ctas {
                let kept = ctas.len().div_ceil(4);
                *ctas = std::mem::take(ctas).into_iter().take(kept).collect();
            }
            continue;
        }
        found = explain(&ExplainedLaunch { flows: [&flows[0], &flows[1]], ..*launch });
        let more: BTreeSet<u64> = found.unrecorded.iter().copied().take(MORE_CTAS).collect();
        if more.is_empty() || ctas.iter().all(|ctas| more.is_subset(ctas)) {
            break;
        }
        ctas.iter_mut().for_each(|ctas| ctas.extend(&more));
    }
    // What was recorded at first may reach an element as well.
    Ok(if found.causes.is_empty() { explain(launch) } else { found })
}

/// Does the same work for both sides, on two threads.
fn at_once<T: Send>(side: impl Fn(usize) -> Result<T> + Sync) -> Result<[T; 2]> {
    let (a, b) = std::thread::scope(|scope| {
        let second = scope.spawn(|| side(1));
        (side(0), second.join())
    });
    Ok([a?, b.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?])
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

fn again(job: &Job, origin: Origin, device: &DeviceOptions) -> Result<Side> {
    let checks = [Check::Bounds, Check::Race, Check::Init, Check::Sync, Check::Async];
    // For PTX, the checks know warps of 32 lanes only; the data flow knows both sizes.
    let checks = (job.object.is_some() || device.warp_size == WarpSize::W32)
        .then(|| checks.into_iter().fold(Checks::NONE, Checks::with));
    let request = FlowRequest { bytes: DATAFLOW_BYTES, ctas: None };
    let (flow, findings, ended) = run_again(job, origin, device, checks, request)?;
    let files = source_files(&flow, job);
    // A kernel that faults leaves what it did until then.
    let (outputs, stopped) = match ended {
        Ok(outputs) => (outputs, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    Ok(Side { flow, files, findings, outputs, stopped })
}

/// Runs one side on the CPU device: its data flow, what the checks found, and its outputs or why it stopped.
fn run_again(
    job: &Job,
    origin: Origin,
    device: &DeviceOptions,
    check: Option<Checks>,
    request: FlowRequest,
) -> Result<(DataFlow, Findings, Result<Vec<Output>, String>)> {
    let of_gpu = origin != Origin::CpuDevice;
    let options = DeviceOptions {
        device: DeviceChoice::Cpu,
        check,
        dataflow: Some(request),
        timeout: None,
        max_steps: if of_gpu { Some(GPU_LAUNCH_STEPS) } else { device.max_steps },
        max_launch_steps: of_gpu
            .then(|| job.config.grid.volume().saturating_mul(GPU_CTA_STEPS).max(GPU_LAUNCH_STEPS)),
        ..device.clone()
    };
    let mut device = Device::open(&options)?;
    let ended = prlx_driver::run::run(device.driver(), job).map(|run| run.outputs).map_err(|e| e.message);
    let findings = device.findings(job);
    let mut flow = device.take_dataflow(job).unwrap_or_default();
    name_buffers(&mut flow, job);
    // The launch file's names say more than those of the module.
    for (param, arg) in flow.params.iter_mut().zip(&job.args) {
        param.name.clone_from(&arg.name);
    }
    Ok((flow, findings, ended))
}

/// The source files that instructions come from, as far as they can be read.
fn source_files(flow: &DataFlow, job: &Job) -> SourceFiles {
    let lines = flow.instructions.iter().flat_map(|i| &i.place.source).filter(|l| l.text.is_some());
    let paths: BTreeSet<&str> = lines.map(|l| l.file.as_str()).collect();
    paths.into_iter().filter_map(|path| Some((path.to_owned(), job.source_text(path)?))).collect()
}

/// Whether both sides come from the same lines of the same text: only constants and options of the compiler
/// can differ, or the compiler itself. Files that one side alone uses are not compared, nor are those of a
/// compiler.
fn one_source(sides: [&Side; 2]) -> bool {
    let text = |side: usize, path: &str| {
        let mut files = sides[side].files.iter().filter(|(p, _)| !is_compiler_file(p));
        files.find(|(p, _)| p == path).map(|(_, text)| text.as_str())
    };
    let [lines, others] = [0, 1].map(|side| {
        // The line of the kernel, where code was inlined.
        let lines = sides[side].flow.instructions.iter().filter_map(|i| i.place.source.last());
        lines.filter_map(|l| Some((text(side, &l.file)?, l.line))).collect::<BTreeSet<_>>()
    });
    let edited =
        sides[0].files.iter().any(|(path, _)| text(0, path).zip(text(1, path)).is_some_and(|(a, b)| a != b));
    !lines.is_disjoint(&others) && !edited
}

/// Puts the buffers that share an allocation in its place.
fn name_buffers(flow: &mut DataFlow, job: &Job) {
    let mut shared = BTreeSet::new();
    for arg in &job.args {
        let ArgValue::Buffer(buffer) = &arg.value else { continue };
        let Some(place) = &buffer.place else { continue };
        let Some(whole) = flow.buffers.iter().find(|a| a.name == place.allocation) else { continue };
        let base = whole.base + place.offset;
        flow.buffers.push(Allocation { name: arg.name.clone(), base, bytes: buffer.size() });
        shared.insert(place.allocation.as_str());
    }
    flow.buffers.retain(|a| !shared.contains(a.name.as_str()));
    flow.buffers.sort_by_key(|a| a.base);
}
