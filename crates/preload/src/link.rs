//! The linker (`cuLink*`): what it makes is not touched, for programs keep it; if it came from one PTX, that is known when it is
//! loaded.
//!
//! Holds: what is remembered is bounded.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]
#![allow(clippy::too_many_arguments, reason = "as cuda.h has them")]

use std::collections::HashMap;
use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::slice::from_raw_parts;
use std::sync::{LazyLock, Mutex, PoisonError};

use prlx_driver::cuda::calls::input;
use prlx_driver::cuda::{Functions, image};
use prlx_isa::image::Target;
use prlx_trace::kernel::Fidelity;
use xxhash_rust::xxh3::xxh3_128;

use crate::load::options;
use crate::source::Source;
use crate::think::think;

/// What went into a linking.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its PTX; the last, if there were several.
    ptx: String,
    inputs: usize,
    options: Vec<String>,
}
impl Link {
    /// The PTX that went into it, as the source of what came of it.
    ///
    /// # Errors
    /// Why that is not known.
    pub fn source(self, code: &[u8], device: Target) -> Result<Source, String> {
        if self.inputs != 1 || self.ptx.is_empty() {
            return Err(format!("it was linked from {} inputs", self.inputs));
        }
        let target = prlx_driver::assemble::target(&self.ptx, device).map_err(|e| e.message)?;
        let target = target.ok_or("its `.target` is not known")?;
        // What is loaded came from this PTX: there is no other source.
        let code = Some(code.to_vec());
        Ok(Source { ptx: self.ptx, target, options: self.options, code, fidelity: Fidelity::Source })
    }
}

/// Linkings.
#[derive(Default)]
struct Links {
    /// Those that go on, by handle.
    open: HashMap<usize, Link>,
    /// Those that are done, by the hash of what came of them; at most [`KEPT`].
    done: HashMap<u128, Link>,
}
static LINKS: LazyLock<Mutex<Links>> = LazyLock::new(Mutex::default);
const KEPT: usize = 1000;

/// What an image was linked from, if it was.
pub fn linked(bytes: &[u8]) -> Option<Link> {
    let links = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    if links.done.is_empty() { None } else { links.done.get(&xxh3_128(bytes)).cloned() }
}
fn link(change: impl FnOnce(&mut Links)) {
    change(&mut LINKS.lock().unwrap_or_else(PoisonError::into_inner));
}

pub unsafe fn cuLinkCreate_v2(
    real: &Functions,
    count: u32,
    names: *mut i32,
    values: *mut *mut c_void,
    state: *mut *mut c_void,
) -> i32 {
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkCreate_v2)(count, names, values, state) };
    if code == 0 {
        think(|| {
            // SAFETY: the driver has put it there; the program's options.
            let (state, options) = unsafe { (*state, options(count, names, values)) };
            link(|l| drop(l.open.insert(state.addr(), Link { options, ..Link::default() })));
            Some(())
        });
    }
    code
}
/// An input was added.
fn added(state: *mut c_void, kind: i32, bytes: impl FnOnce() -> Option<Vec<u8>>, more: Vec<String>) {
    think(|| {
        let text = (kind == input::PTX).then(bytes).flatten().and_then(|b| String::from_utf8(b).ok());
        let text = text.map(|t| t.trim_end_matches('\0').to_owned()).unwrap_or_default();
        link(|l| {
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
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkAddData_v2)(state, kind, data, size, name, count, names, values) };
    if code == 0 {
        // SAFETY: the program's promise: so many bytes, and its options.
        unsafe {
            added(
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
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkAddFile_v2)(state, kind, path, count, names, values) };
    if code == 0 {
        // SAFETY: the program's promise: a string that ends, and its options.
        unsafe {
            let file = || std::fs::read(OsStr::from_bytes(CStr::from_ptr(path).to_bytes())).ok();
            added(state, kind, file, options(count, names, values));
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
    // SAFETY: the program's call.
    let code = unsafe { (real.cuLinkComplete)(state, cubin, size) };
    if code == 0 {
        think(|| {
            // SAFETY: the driver has put an image there.
            let bytes = unsafe { image::bytes(*cubin) }.ok()?;
            let hash = xxh3_128(bytes);
            link(|l| {
                if let Some(link) = l.open.get(&state.addr()).filter(|_| l.done.len() < KEPT) {
                    l.done.insert(hash, link.clone());
                }
            });
            Some(())
        });
    }
    code
}
pub unsafe fn cuLinkDestroy(real: &Functions, state: *mut c_void) -> i32 {
    think(|| {
        link(|l| drop(l.open.remove(&state.addr())));
        Some(())
    });
    // SAFETY: the program's call.
    unsafe { (real.cuLinkDestroy)(state) }
}
