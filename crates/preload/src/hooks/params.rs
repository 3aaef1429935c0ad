//! The parameters of a launch with the hidden parameter behind them.
//!
//! # Invariants
//! The program's own parameters go to the driver as they came, in the form they came in.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::extra;
use prlx_driver::session::MODULE_NOT_REWRITTEN;
use prlx_trace::device::HiddenParameter;

use crate::handles::Found;
use crate::panic_guard::guard;
use crate::recording::launch_shape::Shape;
use crate::recording::launches::{Hidden, Parameters};
use crate::{handles, recording};

/// What a handle stands for. Handles that came by ways that are not ours are asked for their module and name.
pub fn kernel(real: &Functions, handle: *mut c_void) -> Found {
    if let Some(found) = handles::kernel(handle) {
        return found;
    }
    if !handles::any() {
        return None;
    }
    let (mut module, mut name) = (null_mut(), std::ptr::null());
    // SAFETY: a handle that the program launches, and places for the answers; a name lives as long as its
    // module.
    unsafe {
        let told =
            (real.cuFuncGetModule)(&mut module, handle) == 0 && (real.cuFuncGetName)(&mut name, handle) == 0;
        if told && !name.is_null() {
            let name = CStr::from_ptr(name).to_str().unwrap_or_default();
            handles::kernel_is(handle, handles::module(module).as_ref(), name);
        }
    }
    handles::kernel(handle).flatten()
}

/// What a kernel is called that is nobody's; who was forgotten is asked again.
fn name(real: &Functions, handle: *mut c_void) -> Option<Arc<str>> {
    handles::name(handle).or_else(|| {
        let mut name = std::ptr::null();
        // SAFETY: a handle that the program launches, and a place for the answer, which lives as long as its
        // module.
        unsafe {
            if (real.cuFuncGetName)(&mut name, handle) != 0 || name.is_null() {
                return None;
            }
            handles::name_is(handle, CStr::from_ptr(name).to_str().ok()?);
        }
        handles::name(handle)
    })
}

/// Bytes of parameters, at most: no kernel has more (PTX ISA 8.1).
const MOST: usize = 32764;

/// What a kernel with one more parameter is for.
#[derive(Clone, Copy)]
pub enum Use<'a> {
    /// A launch into a stream; with the last, no stream is the thread's own.
    Launch(&'a Shape, *mut c_void, bool),
    /// A graph's node; with a context that it has already.
    Node(Option<u64>),
    /// Something that is not recorded.
    Other,
}

/// Room for a launch's parameters, with one more.
#[derive(Default)]
pub struct Room {
    pointers: Vec<*mut c_void>,
    buffer: Vec<u8>,
    size: usize,
    list: [*mut c_void; 5],
    /// What the hidden parameter says.
    handed: Vec<u8>,
    hidden: Option<Hidden>,
    /// What the kernel is, and its parameters as PTX lays them out and as they are recorded.
    pub found: Found,
    /// See above.
    pub params: Vec<u8>,
}

impl Room {
    /// The parameters of a launch as they go to the driver, which live as long as the room and are not moved.
    ///
    /// # Safety
    /// `params` and `extra` are those of a launch of `handle`.
    pub unsafe fn extend(
        &mut self,
        real: &Functions,
        handle: *mut c_void,
        params: *mut *mut c_void,
        list: *mut *mut c_void,
        what: Use<'_>,
    ) -> (*mut *mut c_void, *mut *mut c_void) {
        self.found = guard(|| {
            let known = kernel(real, handle);
            let found = known.clone().filter(|(_, k)| k.skipped.is_none());
            if let (None, Use::Launch(shape, stream, own)) = (&found, what) {
                let name = name(real, handle);
                // Of a module that was rewritten, but for this kernel.
                let why =
                    known.and_then(|(_, k)| k.skipped).unwrap_or_else(|| MODULE_NOT_REWRITTEN.to_owned());
                // SAFETY: the caller's promise.
                let params = || unsafe { parameters(real, handle, params, list) };
                self.hidden = recording::passed(real, (name.as_deref(), &why), shape, stream, own, params);
            }
            found
        });
        let Some((module, kernel)) = self.found.clone() else { return (params, list) };
        let count = kernel.params.len();
        let one_by_one = !params.is_null() || list.is_null();
        // SAFETY: the caller's promise: a pointer for each parameter, or a list that ends, of pairs.
        unsafe {
            if one_by_one {
                if params.is_null() && count > 0 {
                    // The driver says what is wrong with this.
                    return (params, list);
                }
                if count > 0 {
                    self.pointers.extend_from_slice(std::slice::from_raw_parts(params, count));
                }
                self.params = vec![0; kernel.params.iter().map(|(at, size)| at + size).max().unwrap_or(0)];
                for (pointer, (at, size)) in self.pointers.iter().zip(&kernel.params) {
                    if !pointer.is_null() {
                        let bytes = std::slice::from_raw_parts(pointer.cast::<u8>(), *size);
                        self.params[*at..at + size].copy_from_slice(bytes);
                    }
                }
            } else {
                let Some(from) = buffer(list) else { return (params, list) };
                // Where the machine code has it, which the driver knows; else as PTX lays it out.
                let (mut end, mut width) = (0, 0);
                if (real.cuFuncGetParamInfo)(handle, count, &mut end, &mut width) != 0
                    || width != HiddenParameter::SIZE
                {
                    end = kernel.end;
                }
                self.buffer.extend_from_slice(&from[..from.len().min(end)]);
                self.buffer.resize(end, 0);
                self.params.clone_from(&self.buffer);
                self.params.resize(kernel.params.iter().map(|(at, size)| at + size).max().unwrap_or(0), 0);
            }
        }
        self.params = kernel.recorded(std::mem::take(&mut self.params));
        let bytes = self.params.clone();
        self.hidden = guard(|| match what {
            Use::Launch(shape, stream, own) => {
                recording::begin(real, (&module, &kernel), shape, bytes, stream, own)
            }
            Use::Node(had) => had.or_else(|| recording::node(real)).map(Hidden::Node),
            Use::Other => None,
        });
        self.handed = self.hidden.as_ref().map(Hidden::handed).unwrap_or_default().to_bytes();
        if one_by_one {
            self.pointers.push(self.handed.as_mut_ptr().cast());
            return (self.pointers.as_mut_ptr(), null_mut());
        }
        self.buffer.extend_from_slice(&self.handed);
        self.size = self.buffer.len();
        let number = std::ptr::without_provenance_mut;
        let (at, size) = (self.buffer.as_mut_ptr().cast(), (&raw mut self.size).cast());
        self.list = [number(extra::BUFFER), at, number(extra::SIZE), size, number(extra::END)];
        (null_mut(), self.list.as_mut_ptr())
    }

    /// The context that the hidden parameter leads to.
    pub fn context(&self) -> u64 {
        self.hidden.as_ref().map(Hidden::handed).unwrap_or_default().context
    }

    /// The driver, which was called then, has answered.
    pub fn done(self, code: i32, called: Instant) -> i32 {
        if let Some(hidden) = self.hidden {
            let now = Instant::now();
            guard(|| {
                recording::queued(hidden, code, [called, now]);
                Some(())
            });
        }
        code
    }
}

/// The parameters of a launch of a kernel that is not ours, as the driver tells of them; `None`: it does not.
///
/// # Safety
/// `params` and `list` are those of a launch of `handle`.
unsafe fn parameters(
    real: &Functions,
    handle: *mut c_void,
    params: *mut *mut c_void,
    list: *mut *mut c_void,
) -> Option<Parameters> {
    let ask = [real.cuFuncGetParamInfo, real.cuKernelGetParamInfo];
    // SAFETY: a handle that the program launches.
    let places = ask.into_iter().find_map(|ask| unsafe { places(ask, handle) })?;
    let mut bytes = vec![0; places.iter().map(|(at, size)| at + size).max().unwrap_or(0)];
    if params.is_null() {
        // SAFETY: the caller's promise.
        let from = unsafe { buffer(list) }?;
        // What lies between parameters is nothing.
        for (at, size) in places.iter().filter(|(at, size)| at + size <= from.len()) {
            bytes[*at..at + size].copy_from_slice(&from[*at..at + size]);
        }
    } else {
        for (i, (at, size)) in places.iter().enumerate() {
            // SAFETY: the caller's promise: a pointer for each parameter, to as many bytes as it has.
            unsafe {
                let from = (*params.add(i)).cast::<u8>();
                if !from.is_null() {
                    bytes[*at..at + size].copy_from_slice(std::slice::from_raw_parts(from, *size));
                }
            }
        }
    }
    Some((bytes, places))
}

/// Where a kernel's parameters lie, and how large they are, as the driver says; `None`: it does not.
///
/// # Safety
/// The handle is what `ask` takes, or what it refuses.
unsafe fn places(
    ask: unsafe extern "C" fn(*mut c_void, usize, *mut usize, *mut usize) -> i32,
    handle: *mut c_void,
) -> Option<Vec<(usize, usize)>> {
    /// `CUDA_ERROR_INVALID_VALUE`: there is no parameter of that number.
    const NO_MORE: i32 = 1;
    let mut places: Vec<(usize, usize)> = Vec::new();
    loop {
        let (mut at, mut size) = (0, 0);
        // SAFETY: the caller's promise, and places for the answers.
        match unsafe { ask(handle, places.len(), &mut at, &mut size) } {
            0 if at < MOST && size <= MOST - at && places.len() < MOST => places.push((at, size)),
            NO_MORE => return Some(places),
            _ => return None,
        }
    }
}

/// The buffer that a launch's list names; `None` if there is something else in the list.
///
/// # Safety
/// A list of pairs that ends, or null; the buffer outlives what comes of it.
unsafe fn buffer<'a>(list: *mut *mut c_void) -> Option<&'a [u8]> {
    let (mut at, mut size, mut i) = (std::ptr::null::<u8>(), 0, 0);
    // SAFETY: the caller's promise.
    unsafe {
        while !list.is_null() && (*list.add(i)).addr() != extra::END {
            let value = *list.add(i + 1);
            match (*list.add(i)).addr() {
                extra::BUFFER => at = value.cast_const().cast(),
                extra::SIZE => size = *value.cast::<usize>(),
                _ => return None,
            }
            i += 2;
        }
        Some(if at.is_null() { &[] } else { std::slice::from_raw_parts(at, size) })
    }
}
