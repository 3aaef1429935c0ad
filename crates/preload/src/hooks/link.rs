//! The driver's linker (`cuLink*`). The hooks note the inputs of each job.
//!
//! # Invariants
//! The result is not changed, because programs store it. A module that is loaded from it is rewritten.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "as cuda.h has them")]

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::input;
use prlx_driver::cuda::{Functions, image};
use xxhash_rust::xxh3::xxh3_128;

use crate::hooks::jit_options::options;
use crate::hooks::link_inputs::{Link, MAX_RESULTS, change_links};
use crate::panic_guard::guard;

pub unsafe fn cuLinkCreate_v2(
    real: &Functions,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
    state: *mut *mut c_void,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuLinkCreate_v2)(count, names, values, state) };
    if code == 0 {
        guard(|| {
            // SAFETY: after success the driver has written the handle and read the options (P4).
            let (state, options) = unsafe { (*state, options(count, names, values)) };
            change_links(|l| drop(l.open.insert(state.addr(), Link { options, ..Link::default() })));
            Some(())
        });
    }
    code
}

/// Notes an input that the driver has added to a job. `kind` is its `CUjitInputType`. `bytes` reads it; that
/// is only needed for PTX.
fn note_input(state: *mut c_void, kind: i32, bytes: impl FnOnce() -> Option<Vec<u8>>, more: Vec<String>) {
    guard(|| {
        let text = (kind == input::PTX).then(bytes).flatten().and_then(|b| String::from_utf8(b).ok());
        let text = text.map(|t| t.trim_end_matches('\0').to_owned()).unwrap_or_default();
        change_links(|l| {
            if let Some(link) = l.open.get_mut(&state.addr()) {
                link.inputs += 1;
                link.ptx = text;
                link.options.extend(more);
            }
        });
        Some(())
    });
}

pub unsafe fn cuLinkAddData_v2(
    real: &Functions,
    state: *mut c_void,
    kind: i32,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuLinkAddData_v2)(state, kind, data, size, name, count, names, values) };
    if code == 0 {
        // SAFETY: after success the driver has read `size` bytes of data and the options (P4).
        unsafe {
            note_input(
                state,
                kind,
                || (!data.is_null()).then(|| from_raw_parts(data.cast(), size).to_vec()),
                options(count, names, values),
            )
        };
    }
    code
}

pub unsafe fn cuLinkAddFile_v2(
    real: &Functions,
    state: *mut c_void,
    kind: i32,
    path: *const c_char,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuLinkAddFile_v2)(state, kind, path, count, names, values) };
    if code == 0 {
        // SAFETY: after success the driver has read the path, a string, and the options (P4).
        unsafe {
            let file = || std::fs::read(OsStr::from_bytes(CStr::from_ptr(path).to_bytes())).ok();
            note_input(state, kind, file, options(count, names, values));
        }
    }
    code
}

pub unsafe fn cuLinkComplete(
    real: &Functions,
    state: *mut c_void,
    cubin: *mut *mut c_void,
    size: *mut usize,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe { (real.cuLinkComplete)(state, cubin, size) };
    if code == 0 {
        guard(|| {
            // SAFETY: after success the driver has written the address of an image (P4), which lives until
            // the job is destroyed.
            let bytes = unsafe { image::bytes(*cubin) }.ok()?;
            let hash = xxh3_128(bytes);
            change_links(|l| {
                if let Some(link) = l.open.get(&state.addr()).filter(|_| l.completed.len() < MAX_RESULTS) {
                    l.completed.insert(hash, link.clone());
                }
            });
            Some(())
        });
    }
    code
}

pub unsafe fn cuLinkDestroy(real: &Functions, state: *mut c_void) -> i32 {
    guard(|| {
        change_links(|l| drop(l.open.remove(&state.addr())));
        Some(())
    });
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuLinkDestroy)(state) }
}
