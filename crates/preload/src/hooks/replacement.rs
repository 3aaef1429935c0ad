//! Finds the code to load in place of an image.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]

use std::ffi::c_void;

use prlx_driver::cuda::calls::attribute;
use prlx_driver::cuda::{Functions, image};
use prlx_isa::image::Target;

use crate::hooks::link_inputs::linked;
use crate::rewrite::replacement::Replacement;
use crate::rewrite::source;
use crate::session_options::options;
use crate::{log, recording, rewrite};

/// The target of the current context's device, or of the first device if the thread has no context.
fn device_target(real: &Functions) -> Option<Target> {
    let (mut device, mut major, mut minor) = (0, 0, 0);
    // SAFETY: the driver's functions (P2); outputs are local variables (P3).
    unsafe {
        if (real.cuCtxGetDevice)(&mut device) != 0 {
            device = 0;
        }
        let failed = (real.cuDeviceGetAttribute)(&mut major, attribute::MAJOR, device)
            | (real.cuDeviceGetAttribute)(&mut minor, attribute::MINOR, device);
        (failed == 0).then(|| Target::of((major as u32, minor as u32)))
    }
}

/// The code to load in place of an image. `more` are options of the load that change code. Returns `None` if
/// the image stays as it is; the reason is then in the recording.
pub fn replacement(real: &Functions, image: &[u8], more: &[String]) -> Option<Replacement> {
    let begun = std::time::Instant::now();
    let device = device_target(real)?;
    let source = match linked(image) {
        Some(link) => link.source(image, device),
        None => source::find(image, device),
    };
    match source.and_then(|source| rewrite::replacement(source, more)) {
        Ok(replacement) => {
            if options().is_some_and(|o| o.level == prlx_trace::Level::Probe) {
                recording::module_probed(real, &replacement.module, &replacement.unavailable);
            }
            Some(replacement)
        }
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            let (size, spent) = (image.len(), begun.elapsed().as_secs_f64() * 1e3);
            log::debug(&format!("module of {size} bytes: not rewritten: {why}; {spent:.1} ms"));
            recording::module_skipped(real, &format!("{size} bytes"), why);
            None
        }
    }
}

/// Why a module with relocatable device code stays as it is.
pub const RELOCATABLE: &str = "relocatable device code (-rdc=true) is not supported";

/// Records that a module stays as it is, for a reason that is known before its image is read.
pub fn skip_module(real: &Functions, why: &str) {
    log::debug(&format!("module: not rewritten: {why}"));
    recording::module_skipped(real, "?", why);
}

/// As [`replacement`], for an image in memory.
///
/// # Safety
/// `image` is null, or points to an image as the driver takes one.
pub(super) unsafe fn replacement_in_memory(
    real: &Functions,
    image: *const c_void,
    more: &[String],
) -> Option<Replacement> {
    // SAFETY: the caller's promise is what `image::bytes` requires. The bytes are used in this call only.
    match unsafe { image::bytes(image) } {
        Ok(bytes) => replacement(real, bytes, more),
        Err(image::Unreadable::Null) => None,
        Err(image::Unreadable::Relocatable) => {
            skip_module(real, RELOCATABLE);
            None
        }
    }
}
