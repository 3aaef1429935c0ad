//! What a kernel takes of a multiprocessor with and without code for markers, and the choice between two
//! instrumentations.

use prlx_driver::occupancy::keep_occupancy;
use prlx_driver::{Job, ModuleCode, ResourceUsage};
use prlx_instrument::Rewrite;

use crate::device::Device;

/// What the kernel takes of a multiprocessor, unchanged or rewritten; `None` if the device does not know.
pub(super) fn resources(device: &mut Device, job: &Job, rewrite: Option<&Rewrite>) -> Option<ResourceUsage> {
    let driver = device.driver();
    let module = match rewrite {
        Some(rewrite) => driver.load_rewritten(&rewrite.text, &rewrite.plan, &job.text),
        None => driver.load(ModuleCode::Ptx(&job.text)),
    };
    let module = module.ok()?;
    let needs = driver.resource_usage(module, &job.kernel, &job.config).ok().flatten();
    driver.unload(module).ok()?;
    needs
}

/// Chooses between two instrumentations of the job's kernel by [`keep_occupancy`]: `first`, unless it reduces
/// the number of resident threads and `second` allows more of them.
pub(super) fn higher_occupancy(
    first: Rewrite,
    second: impl FnOnce() -> Option<Rewrite>,
    job: &Job,
    device: &mut Device,
) -> Rewrite {
    let mut resident = |rewrite: Option<&Rewrite>| resources(device, job, rewrite).map_or(0, |n| n.resident);
    let bare = resident(None);
    keep_occupancy(first, second, |rewrite| bare.saturating_sub(resident(Some(rewrite))))
}
