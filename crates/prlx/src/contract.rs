//! Runs a launch with and without fused multiplications and additions, and compares the outputs.

use anyhow::Result;
use prlx_analyze::outputs::Tolerance;
use prlx_driver::{Job, element};

use crate::Monitor;
use crate::compare::compare_outputs;
use crate::device::{Contract, Device, DeviceOptions};

/// Says for each output whether it depends on fused operations, in one sentence.
///
/// # Errors
/// If the device is a GPU, a run fails, or the user interrupts.
pub fn outputs_without_fusing(
    job: &Job,
    device: &DeviceOptions,
    monitor: &Monitor<'_>,
) -> Result<Vec<String>> {
    let run = |contract: Contract| {
        monitor.check()?;
        let options = DeviceOptions { contract, check: None, ..device.clone() };
        anyhow::Ok(prlx_driver::run(Device::open(&options)?.driver(), job)?.outputs)
    };
    let [fused, twice] = [run(Contract::On)?, run(Contract::Off)?];
    let jobs = [job.clone(), job.clone()];
    let exact = Some(Tolerance::default());
    let compared = compare_outputs(&jobs, [&fused, &twice], exact);
    let sentence = |(output, elements): (prlx_analyze::report::Output, Vec<u64>)| {
        let name = &output.name;
        let Some(first) = elements.first().and_then(|n| usize::try_from(*n).ok()) else {
            return format!("`{name}` has the same bits with and without fused operations");
        };
        let value = |outputs: &[prlx_driver::Output]| {
            let o = outputs.iter().find(|o| o.name == *name)?;
            Some(element::show(o.ty, element::get(o.ty, &o.bytes, first)?))
        };
        let [a, b] = [value(&fused), value(&twice)].map(Option::unwrap_or_default);
        format!(
            "`{name}` depends on fused operations in {} of {} elements: {name}[{first}] is {a} if they are fused and {b} if not",
            elements.len(),
            output.elements
        )
    };
    Ok(compared.into_iter().map(sentence).collect())
}
