//! Modules. A module is rewritten when the program loads it.
//!
//! # Invariants
//! A module that cannot be replaced is loaded as it is.
//!
//! # Limitations
//! Of the options of a load, only the register limit, the optimisation level and debug code are passed to the
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
use crate::hooks::replacement::{in_place_of, replacement};
use crate::panic_guard::guard;
use crate::rewrite::replacement::Replacement;
use crate::{handles, log};

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
                guard(|| {
                    log::warn_once(&format!(
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
        guard(|| {
            handles::module_is(*at, r.module);
            Some(())
        });
    }
    code
}

/// A handle that was given out anew is of nothing that was known.
fn forget(code: i32, handle: Option<&*mut c_void>) {
    if let (0, Some(handle)) = (code, handle) {
        guard(|| {
            handles::module_gone(*handle);
            Some(())
        });
    }
}

pub unsafe fn cuModuleLoad(real: &Functions, to: *mut *mut c_void, path: *const c_char) -> i32 {
    let found = guard(|| {
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
    let found = guard(|| unsafe { in_place_of(real, at, &[]) });
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
    let found = guard(|| unsafe { in_place_of(real, at, &options(count, names, values)) });
    let load = |image| {
        // SAFETY: the program's call; the replacement lives through it.
        unsafe { (real.cuModuleLoadDataEx)(to, image, count, names, values) }
    };
    // SAFETY: as above.
    unsafe { module(to, found, load, || load(at)) }
}

pub unsafe fn cuModuleLoadFatBinary(real: &Functions, to: *mut *mut c_void, at: *const c_void) -> i32 {
    // SAFETY: the program's promise.
    let found = guard(|| unsafe { in_place_of(real, at, &[]) });
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
        named(code, function, name, |at, name| handles::kernel_is(at, handles::module(module).as_ref(), name))
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
        guard(|| {
            // SAFETY: the caller's promise.
            let (handle, name) = unsafe { (*handle, CStr::from_ptr(name)) };
            is(handle, name.to_str().unwrap_or_default());
            Some(())
        });
    }
}
