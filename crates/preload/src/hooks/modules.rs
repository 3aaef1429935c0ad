//! Modules (`cuModule*`). A module is rewritten when the program loads it.
//!
//! # Invariants
//! A module that cannot be replaced is loaded unchanged.
//!
//! # Limitations
//! Of the options of a load, only the register limit, the optimisation level and debug code reach the
//! assembler.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;

use prlx_driver::cuda::Functions;

use crate::hooks::jit_options::options;
use crate::hooks::replacement::{replacement, replacement_in_memory};
use crate::panic_guard::guard;
use crate::rewrite::replacement::Replacement;
use crate::{handles, log};

/// Loads a module: its replacement with `load`, or the original if there is none or the driver rejects it.
///
/// # Safety
/// `module` is the output of the program's call, which `load` and `original` make.
unsafe fn load_module(
    module: *mut *mut c_void,
    replacement: Option<Replacement>,
    load: impl FnOnce(*const c_void) -> i32,
    original: impl FnOnce() -> i32,
) -> i32 {
    let Some(replacement) = replacement else {
        let code = original();
        // SAFETY: null, or the call's output (P1), which the driver has written after success (P4).
        new_handle(code, unsafe { module.as_ref() });
        return code;
    };
    let code = load(replacement.image.as_ptr().cast());
    if code != 0 {
        guard(|| {
            log::warn_once(&format!(
                "the driver does not load a rewritten module (error {code}): it runs unchanged"
            ));
            Some(())
        });
        let code = original();
        // SAFETY: as above.
        new_handle(code, unsafe { module.as_ref() });
        return code;
    }
    // SAFETY: as above.
    let handle = unsafe { module.as_ref() };
    new_handle(code, handle);
    if let Some(handle) = handle {
        guard(|| {
            handles::add_module(*handle, replacement.module);
            Some(())
        });
    }
    code
}

/// Removes what is known of a handle after the driver, with result `code`, has given it to a new module or
/// has unloaded its module.
fn new_handle(code: i32, handle: Option<&*mut c_void>) {
    if let (0, Some(handle)) = (code, handle) {
        guard(|| {
            handles::remove_module(*handle);
            Some(())
        });
    }
}

pub unsafe fn cuModuleLoad(real: &Functions, to: *mut *mut c_void, path: *const c_char) -> i32 {
    let found = guard(|| {
        // SAFETY: the path is null or a string (P1).
        let name = unsafe { path.as_ref().map(|p| CStr::from_ptr(p)) }?;
        let bytes = std::fs::read(OsStr::from_bytes(name.to_bytes())).ok()?;
        replacement(real, &bytes, &[])
    });
    // SAFETY: the driver's functions (P2) with the program's arguments (P1), or with an image that lives
    // through the call (P6).
    unsafe {
        load_module(to, found, |image| (real.cuModuleLoadData)(to, image), || (real.cuModuleLoad)(to, path))
    }
}

pub unsafe fn cuModuleLoadData(real: &Functions, to: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: the image is null, or as the driver takes it (P1).
    let found = guard(|| unsafe { replacement_in_memory(real, image, &[]) });
    // SAFETY: as in `cuModuleLoad`.
    unsafe {
        let load = |image| (real.cuModuleLoadData)(to, image);
        load_module(to, found, load, || load(image))
    }
}

pub unsafe fn cuModuleLoadDataEx(
    real: &Functions,
    to: *mut *mut c_void,
    image: *const c_void,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the image is null, or as the driver takes it; there are `count` options and values (P1).
    let found = guard(|| unsafe { replacement_in_memory(real, image, &options(count, names, values)) });
    // SAFETY: as in `cuModuleLoad`.
    unsafe {
        let load = |image| (real.cuModuleLoadDataEx)(to, image, count, names, values);
        load_module(to, found, load, || load(image))
    }
}

pub unsafe fn cuModuleLoadFatBinary(real: &Functions, to: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: the image is null, or as the driver takes it (P1).
    let found = guard(|| unsafe { replacement_in_memory(real, image, &[]) });
    // SAFETY: as in `cuModuleLoad`.
    unsafe {
        load_module(
            to,
            found,
            |image| (real.cuModuleLoadData)(to, image),
            || (real.cuModuleLoadFatBinary)(to, image),
        )
    }
}

pub unsafe fn cuModuleUnload(real: &Functions, handle: *mut c_void) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuModuleUnload)(handle) };
    new_handle(code, Some(&handle));
    code
}

pub unsafe fn cuModuleGetFunction(
    real: &Functions,
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuModuleGetFunction)(function, module, name) };
    // SAFETY: after success the driver has written the handle and read the name (P4).
    unsafe {
        note_lookup(code, function, name, |handle, name| {
            handles::add_kernel(handle, handles::module(module).as_ref(), name)
        })
    };
    code
}

/// Calls `note` with the handle that a lookup by name has returned, if the lookup succeeded.
///
/// # Safety
/// If `code` is 0, `handle` points to a handle and `name` to a string.
pub unsafe fn note_lookup(
    code: i32,
    handle: *mut *mut c_void,
    name: *const c_char,
    note: impl FnOnce(*mut c_void, &str),
) {
    if code == 0 {
        guard(|| {
            // SAFETY: the code is 0, so the caller promises both.
            let (handle, name) = unsafe { (*handle, CStr::from_ptr(name)) };
            note(handle, name.to_str().unwrap_or_default());
            Some(())
        });
    }
}
