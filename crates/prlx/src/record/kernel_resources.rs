//! What a kernel takes of a multiprocessor with and without inserted code, and the choice between two
//! instrumentations.

use prlx_driver::occupancy::keep_occupancy;
use prlx_driver::{Job, ResourceUsage};
use prlx_instrument::Rewrite;
use prlx_plan::RecordingRequest;

use crate::device::Device;

/// What the kernel takes of a multiprocessor, unchanged or rewritten; `None` if the device does not know.
pub(crate) fn resources(device: &mut Device, job: &Job, rewrite: Option<&Rewrite>) -> Option<ResourceUsage> {
    let driver = device.driver();
    let module = match rewrite {
        Some(rewrite) => driver.load_rewritten(&rewrite.text, &rewrite.plan, &job.text),
        None => driver.load(job.code()),
    };
    let module = module.ok()?;
    let needs = driver.resource_usage(module, &job.kernel, &job.config).ok().flatten();
    driver.unload(module).ok()?;
    needs
}

/// Chooses on a GPU between `first`, which is the job's module rewritten for `program`, and the form of it
/// that needs fewer registers: the latter if more threads are resident with it.
pub(crate) fn keep_resident(
    first: Rewrite,
    program: &RecordingRequest,
    job: &Job,
    device: &mut Device,
) -> Rewrite {
    let lean =
        program.with_fewer_registers().filter(|_| !device.driver().info().hooks && job.object.is_none());
    let Some(lean) = lean else { return first };
    let second =
        || prlx_instrument::rewrite(&job.text, &job.module, &lean, &|path| job.source_text(path)).ok();
    let mut resident = |rewrite: Option<&Rewrite>| resources(device, job, rewrite).map_or(0, |n| n.resident);
    let bare = resident(None);
    keep_occupancy(first, second, |rewrite| bare.saturating_sub(resident(Some(rewrite))))
}
