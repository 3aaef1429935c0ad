//! Runs both sides again with checks and data flow, to find out why their outputs differ.

use anyhow::Result;
use prlx_analyze::cause::{DifferingOutput, ExplainedLaunch, add_check_findings, explain};
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::{Cause, LaunchReport, Verdict};
use prlx_driver::{Job, LaunchConfig, Output};
use prlx_emu::Checks;
use prlx_trace::check::{Check, Findings, Grade};
use prlx_trace::dataflow::DataFlow;

use super::outputs::compare_outputs;
use crate::Monitor;
use crate::device::{Device, DeviceChoice, DeviceOptions};

/// Bytes that the data flow of one side may take.
const DATAFLOW_BYTES: u64 = 1 << 30;

/// What running both sides again gave.
#[derive(Debug, Default)]
struct Explanation {
    /// Why the outputs differ.
    causes: Vec<Cause>,
    /// By side: what the checks found.
    findings: [Findings; 2],
}

/// One side, run again.
struct Side {
    flow: DataFlow,
    findings: Findings,
    outputs: Vec<Output>,
}

/// Explains the differences of a launch, and settles what outputs and checks alone can settle: unless
/// `strict`, decisions that only the schedule explains. Does nothing for a launch that is the same, and
/// nothing on a GPU.
///
/// # Errors
/// If the device cannot be opened, or the user interrupts.
pub(super) fn explain_launch(
    launch: &mut LaunchReport,
    jobs: &[Job; 2],
    device: &DeviceOptions,
    (tolerance, strict): (Option<Tolerance>, bool),
    monitor: &Monitor<'_>,
) -> Result<()> {
    if device.device != DeviceChoice::Cpu || launch.verdict == Verdict::Same && !launch.order {
        return Ok(());
    }
    let found = rerun(jobs, device, tolerance, monitor)?;
    launch.causes = found.causes;
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
    if !errors && launch.only_code_unmatched() {
        launch.accept_unmatched_code();
    }
    Ok(())
}

/// Whether both sides run the same code on the same inputs. Only the schedule can then explain a difference.
fn same_launch([a, b]: &[Job; 2]) -> bool {
    let seed = a.config.seed;
    a.text == b.text
        && a.kernel == b.kernel
        && a.args == b.args
        && a.config == LaunchConfig { seed, ..b.config.clone() }
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
    jobs: &[Job; 2],
    device: &DeviceOptions,
    tolerance: Option<Tolerance>,
    monitor: &Monitor<'_>,
) -> Result<Explanation> {
    let side = |job: &Job| {
        monitor.check()?;
        let activity = monitor.activity(&format!("looking for the cause in {}", job.name));
        let side = again(job, device);
        drop(activity);
        side
    };
    let [a, b] = [side(&jobs[0])?, side(&jobs[1])?];
    let outputs = differing(jobs, [&a.outputs, &b.outputs], tolerance);
    let launch = ExplainedLaunch {
        flows: [&a.flow, &b.flow],
        findings: [&a.findings, &b.findings],
        outputs: &outputs,
    };
    let causes = explain(&launch);
    Ok(Explanation { causes, findings: [a.findings, b.findings] })
}

/// The outputs of these runs that differ.
fn differing(jobs: &[Job; 2], outputs: [&[Output]; 2], tolerance: Option<Tolerance>) -> Vec<DifferingOutput> {
    let mut all = Vec::new();
    for (compared, elements) in compare_outputs(jobs, outputs, tolerance) {
        let find = |side: usize| outputs[side].iter().find(|o| o.name == compared.name);
        if let (false, Some(a), Some(b)) = (elements.is_empty(), find(0), find(1)) {
            all.push(DifferingOutput {
                name: a.name.clone(),
                ty: a.ty,
                shape: a.shape.clone(),
                elements,
                bytes: [a.bytes.clone(), b.bytes.clone()],
            });
        }
    }
    all
}

fn again(job: &Job, device: &DeviceOptions) -> Result<Side> {
    let checks = [Check::Bounds, Check::Race, Check::Init, Check::Sync, Check::Async];
    let options = DeviceOptions {
        device: DeviceChoice::Cpu,
        check: Some(checks.into_iter().fold(Checks::NONE, Checks::with)),
        dataflow: Some(DATAFLOW_BYTES),
        timeout: None,
        ..device.clone()
    };
    let mut device = Device::open(&options)?;
    // A kernel that faults leaves what it did until then.
    let outputs = prlx_driver::run::run(device.driver(), job).map_or_else(|_| Vec::new(), |run| run.outputs);
    let findings = device.findings(job);
    let mut flow = device.take_dataflow(job).unwrap_or_default();
    // The launch file's names say more than those of the module.
    for (param, arg) in flow.params.iter_mut().zip(&job.args) {
        param.name.clone_from(&arg.name);
    }
    Ok(Side { flow, findings, outputs })
}
