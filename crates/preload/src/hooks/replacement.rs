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

/// The target of the thread's device, or of the first.
fn device(real: &Functions) -> Option<Target> {
    let (mut device, mut major, mut minor) = (0, 0, 0);
    // SAFETY: each has a place for its answer.
    unsafe {
        if (real.cuCtxGetDevice)(&mut device) != 0 {
            device = 0;
        }
        let asked = (real.cuDeviceGetAttribute)(&mut major, attribute::MAJOR, device)
            | (real.cuDeviceGetAttribute)(&mut minor, attribute::MINOR, device);
        (asked == 0).then(|| Target::of((major as u32, minor as u32)))
    }
}

/// What is loaded in the place of an image.
pub fn replacement(real: &Functions, bytes: &[u8], more: &[String]) -> Option<Replacement> {
    let begun = std::time::Instant::now();
    let device = device(real)?;
    let source = match linked(bytes) {
        Some(link) => link.source(bytes, device),
        None => source::find(bytes, device),
    };
    match source.and_then(|source| rewrite::replacement(source, more)) {
        Ok(replacement) => {
            if options().is_some_and(|o| o.level == prlx_trace::Level::Probe) {
                recording::probed(real, &replacement.module, &replacement.missed);
            }
            Some(replacement)
        }
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            let (size, spent) = (bytes.len(), begun.elapsed().as_secs_f64() * 1e3);
            log::debug(&format!("module of {size} bytes: not rewritten: {why}; {spent:.1} ms"));
            recording::left(real, &format!("{size} bytes"), why);
            None
        }
    }
}

/// Why a module of parts is left as it is.
pub const RELOCATABLE: &str = "relocatable device code (-rdc=true) is not supported";

/// A module is left as it is before anything of it was read.
pub fn refused(real: &Functions, why: &str) {
    log::debug(&format!("module: not rewritten: {why}"));
    recording::left(real, "?", why);
}

/// The same of an image in memory.
///
/// # Safety
/// `at` is null or points to an image, as the driver takes it.
pub(super) unsafe fn in_place_of(
    real: &Functions,
    at: *const c_void,
    more: &[String],
) -> Option<Replacement> {
    // SAFETY: the caller's promise.
    match unsafe { image::bytes(at) } {
        Ok(bytes) => replacement(real, bytes, more),
        Err(image::Unreadable::Null) => None,
        Err(image::Unreadable::Relocatable) => {
            refused(real, RELOCATABLE);
            None
        }
    }
}
