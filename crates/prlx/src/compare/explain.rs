//! Runs both sides again with checks and data flow, to find out why their outputs differ.

use anyhow::Result;
use prlx_analyze::cause::{DifferingOutput, ExplainedLaunch, explain};
use prlx_analyze::report::Cause;
use prlx_driver::{Job, Output};
use prlx_emu::Checks;
use prlx_trace::check::{Check, Findings};
use prlx_trace::dataflow::DataFlow;

use crate::Monitor;
use crate::device::{Device, DeviceChoice, DeviceOptions};

/// Bytes that the data flow of one side may take.
const DATAFLOW_BYTES: u64 = 1 << 30;

/// What running both sides again gave.
#[derive(Debug, Default)]
pub struct Explanation {
    /// Why the outputs differ.
    pub causes: Vec<Cause>,
    /// By side: what the checks found.
    pub findings: [Findings; 2],
    /// Whether outputs differ in these runs.
    pub differ: bool,
}

/// One side, run again.
struct Side {
    flow: DataFlow,
    findings: Findings,
    outputs: Vec<Output>,
}

/// Runs both sides again. `differing` compares their outputs.
///
/// # Errors
/// If the device cannot be opened, or the user interrupts.
pub fn rerun(
    jobs: &[Job; 2],
    device: &DeviceOptions,
    differing: impl Fn([&[Output]; 2]) -> Vec<DifferingOutput>,
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
    let outputs = differing([&a.outputs, &b.outputs]);
    let launch = ExplainedLaunch {
        flows: [&a.flow, &b.flow],
        findings: [&a.findings, &b.findings],
        outputs: &outputs,
    };
    let causes = explain(&launch);
    Ok(Explanation { causes, findings: [a.findings, b.findings], differ: !outputs.is_empty() })
}

fn again(job: &Job, device: &DeviceOptions) -> Result<Side> {
    let checks = [Check::Race, Check::Init, Check::Sync, Check::Async];
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
    let flow = device.take_dataflow(job).unwrap_or_default();
    Ok(Side { flow, findings, outputs })
}
