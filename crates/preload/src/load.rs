//! Modules: from what the program loads to what is loaded in its place.
//!
//! A module is rewritten when it is loaded. Libraries are `library`'s, what the linker makes is `link`'s.
//!
//! Holds: what can't be replaced is loaded as it is. Misses: options of a load but for the registers and the optimisation.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::{attribute, jit};
use prlx_driver::cuda::{Functions, image};
use prlx_isa::image::Target;

use crate::link::linked;
use crate::rewrite::{self, Replacement};
use crate::source;
use crate::think::think;
use crate::{known, record, say};

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

/// Options of a load that change code, as an assembler takes them.
///
/// # Safety
/// `count` options, each with its value.
pub unsafe fn options(count: u32, options: *mut i32, values: *mut *mut c_void) -> Vec<String> {
    if count == 0 || options.is_null() || values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let pairs =
        unsafe { from_raw_parts(options, count as usize).iter().zip(from_raw_parts(values, count as usize)) };
    let option = |(option, value): (&i32, &*mut c_void)| match *option {
        jit::MAX_REGISTERS => Some(format!("-maxrregcount={}", value.addr() as u32)),
        jit::OPTIMIZATION => Some(format!("-O{}", value.addr() as u32)),
        jit::DEBUG if value.addr() as u32 != 0 => Some("-g".to_owned()),
        _ => None,
    };
    pairs.filter_map(option).collect()
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
            if rewrite::options().is_some_and(|o| o.level == prlx_trace::Level::Probe) {
                record::probed(real, &replacement.module, &replacement.missed);
            }
            Some(replacement)
        }
        Err(why) => {
            let why = why.lines().next().unwrap_or_default();
            let (size, spent) = (bytes.len(), begun.elapsed().as_secs_f64() * 1e3);
            say::log(&format!("module of {size} bytes: not rewritten: {why}; {spent:.1} ms"));
            record::left(real, &format!("{size} bytes"), why);
            None
        }
    }
}
/// Why a module of parts is left as it is.
pub const RELOCATABLE: &str = "relocatable device code (-rdc=true) is not supported";

/// A module is left as it is before anything of it was read.
pub fn refused(real: &Functions, why: &str) {
    say::log(&format!("module: not rewritten: {why}"));
    record::left(real, "?", why);
}

/// The same of an image in memory.
///
/// # Safety
/// `at` is null or points to an image, as the driver takes it.
unsafe fn in_place_of(real: &Functions, at: *const c_void, more: &[String]) -> Option<Replacement> {
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

/// Loads a module: what is in its place, or, if there is nothing or the driver does not take it, itself.
///
/// # Safety
/// `module` may be written.
unsafe fn module(
    module: *mut *mut c_void,
    replacement: Option<Replacement>,
    load: impl FnOnce(*const c_void) -> i32,
    itself: impl FnOnce() -> i32,
) -> i32 {
    let code = match &replacement {
        None => itself(),
        Some(r) => match load(r.image.as_ptr().cast()) {
            0 => 0,
            code => {
                think(|| {
                    say::once(&format!(
                        "the driver does not load a rewritten module (error {code}): it runs as it is"
                    ));
                    Some(())
                });
                let code = itself();
                // SAFETY: the caller's promise.
                forget(code, unsafe { module.as_ref() });
                return code;
            }
        },
    };
    // SAFETY: the caller's promise; the driver has put a module there.
    let at = unsafe { module.as_ref() };
    forget(code, at);
    if let (0, Some(r), Some(at)) = (code, replacement, at) {
        think(|| {
            known::module_is(*at, r.module);
            Some(())
        });
    }
    code
}
/// A handle that was given out anew is of nothing that was known.
fn forget(code: i32, handle: Option<&*mut c_void>) {
    if let (0, Some(handle)) = (code, handle) {
        think(|| {
            known::module_gone(*handle);
            Some(())
        });
    }
}

pub unsafe fn cuModuleLoad(real: &Functions, to: *mut *mut c_void, path: *const c_char) -> i32 {
    let found = think(|| {
        // SAFETY: the program's promise: a string that ends.
        let name = unsafe { path.as_ref().map(|p| CStr::from_ptr(p)) }?;
        let bytes = std::fs::read(OsStr::from_bytes(name.to_bytes())).ok()?;
        replacement(real, &bytes, &[])
    });
    // SAFETY: the program's call; the replacement lives through it.
    unsafe { module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoad)(to, path)) }
}
pub unsafe fn cuModuleLoadData(real: &Functions, to: *mut *mut c_void, at: *const c_void) -> i32 {
    // SAFETY: the program's promise.
    let found = think(|| unsafe { in_place_of(real, at, &[]) });
    // SAFETY: the program's call; the replacement lives through it.
    unsafe {
        module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoadData)(to, at))
    }
}
pub unsafe fn cuModuleLoadDataEx(
    real: &Functions,
    to: *mut *mut c_void,
    at: *const c_void,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the program's promise.
    let found = think(|| unsafe { in_place_of(real, at, &options(count, names, values)) });
    let load = |image| {
        // SAFETY: the program's call; the replacement lives through it.
        unsafe { (real.cuModuleLoadDataEx)(to, image, count, names, values) }
    };
    // SAFETY: as above.
    unsafe { module(to, found, load, || load(at)) }
}
pub unsafe fn cuModuleLoadFatBinary(real: &Functions, to: *mut *mut c_void, at: *const c_void) -> i32 {
    // SAFETY: the program's promise.
    let found = think(|| unsafe { in_place_of(real, at, &[]) });
    // SAFETY: the program's call; the replacement lives through it.
    unsafe {
        module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoadFatBinary)(to, at))
    }
}
pub unsafe fn cuModuleUnload(real: &Functions, handle: *mut c_void) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuModuleUnload)(handle) };
    forget(code, Some(&handle));
    code
}
pub unsafe fn cuModuleGetFunction(
    real: &Functions,
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuModuleGetFunction)(function, module, name) };
    // SAFETY: it has answered, so its arguments can be read.
    unsafe {
        named(code, function, name, |at, name| known::kernel_is(at, known::module(module).as_ref(), name))
    };
    code
}
/// A handle was given out for a name.
///
/// # Safety
/// If `code` is 0, `handle` holds a handle and `name` is a string.
pub unsafe fn named(
    code: i32,
    handle: *mut *mut c_void,
    name: *const c_char,
    is: impl FnOnce(*mut c_void, &str),
) {
    if code == 0 {
        think(|| {
            // SAFETY: the caller's promise.
            let (handle, name) = unsafe { (*handle, CStr::from_ptr(name)) };
            is(handle, name.to_str().unwrap_or_default());
            Some(())
        });
    }
}
