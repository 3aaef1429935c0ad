//! The parameters of a launch with the hidden parameter behind them.
//!
//! # Invariants
//! The program's own parameters reach the driver unchanged, in the form in which the program passed them: an
//! array of pointers, or one buffer.
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
use prlx_trace::device::HiddenParameter;

use crate::handles::{RewrittenKernel, UnchangedKernel};
use crate::panic_guard::guard;
use crate::recording::launch_shape::Shape;
use crate::recording::launches::{HiddenParam, Params};
use crate::{handles, recording};

/// The kernel behind a handle. A handle that the program got by a call that is not hooked is looked up by its
/// module and name.
pub fn kernel(real: &Functions, handle: *mut c_void) -> RewrittenKernel {
    if let Some(found) = handles::kernel(handle) {
        return found;
    }
    if !handles::any() {
        return None;
    }
    let (mut module, mut name) = (null_mut(), std::ptr::null());
    // SAFETY: the driver's functions (P2) with a handle that the program launches (P5); outputs are local
    // variables (P3). The name lives as long as its module (P4).
    unsafe {
        let found =
            (real.cuFuncGetModule)(&mut module, handle) == 0 && (real.cuFuncGetName)(&mut name, handle) == 0;
        if found && !name.is_null() {
            let name = CStr::from_ptr(name).to_str().unwrap_or_default();
            handles::add_kernel(handle, handles::module(module).as_ref(), name);
        }
    }
    handles::kernel(handle).flatten()
}

/// The kernel of an unchanged module behind a handle. Looked up again if the table of kernels forgot it.
fn unchanged(real: &Functions, handle: *mut c_void) -> Arc<UnchangedKernel> {
    handles::unchanged(handle).unwrap_or_else(|| {
        // SAFETY: the driver's functions (P2) with a handle that the program launches (P5); the output is a
        // local variable (P3). The function that does not take this kind of handle refuses it. The name lives
        // as long as its module (P4).
        let name = [real.cuFuncGetName, real.cuKernelGetName].into_iter().find_map(|ask| unsafe {
            let mut name = std::ptr::null();
            let known = ask(&mut name, handle) == 0 && !name.is_null();
            known.then(|| CStr::from_ptr(name).to_str().ok()).flatten()
        });
        handles::add_unchanged(handle, name)
    })
}

/// Maximum size of a kernel's parameters in bytes (PTX ISA 8.1, Kernel Function Parameters).
const MAX_PARAM_BYTES: usize = 32764;

/// What patched parameters are for.
#[derive(Clone, Copy)]
pub enum Purpose<'a> {
    /// A launch into a stream.
    Launch {
        /// How the kernel is launched.
        shape: &'a Shape,
        /// The stream's handle, as the program passed it.
        stream: *mut c_void,
        /// Whether the null stream stands for the thread's own default stream (`_ptsz` calls).
        per_thread: bool,
    },
    /// A kernel node of a graph. `context` is the address of the node's context if it already has one.
    Node {
        /// Device address of the context.
        context: Option<u64>,
    },
    /// A launch that is not recorded.
    Unrecorded,
}

/// The parameters of one launch with the hidden parameter behind them. The driver's call gets pointers into
/// this value.
#[derive(Default)]
pub struct PatchedParams {
    /// One pointer for each parameter, if the program passed such an array.
    pointers: Vec<*mut c_void>,
    /// The parameters, if the program passed one buffer.
    buffer: Vec<u8>,
    /// Size of `buffer`, for `extra`.
    size: usize,
    /// The `extra` list that names `buffer`.
    extra: [*mut c_void; 5],
    /// Bytes of the hidden parameter.
    hidden_bytes: Vec<u8>,
    hidden: Option<HiddenParam>,
    /// The kernel; `None` if it is not rewritten.
    pub kernel: RewrittenKernel,
    /// The program's parameters as PTX lays them out, in the form in which they are recorded.
    pub params: Vec<u8>,
}

impl PatchedParams {
    /// Adds the hidden parameter to a launch's parameters, if the kernel is rewritten, and begins to record
    /// the launch. Returns the `params` and `extra` for the driver; both are the program's own if nothing is
    /// added. The pointers are valid as long as `self` lives and is not moved.
    ///
    /// # Safety
    /// `params` and `extra` are those of a launch of the kernel `handle`.
    pub unsafe fn patch(
        &mut self,
        real: &Functions,
        handle: *mut c_void,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
        purpose: Purpose<'_>,
    ) -> (*mut *mut c_void, *mut *mut c_void) {
        self.kernel = guard(|| {
            let known = kernel(real, handle);
            let rewritten = known.clone().filter(|(_, k)| k.skipped.is_none());
            if let (None, Purpose::Launch { shape, stream, per_thread }) = (&rewritten, purpose) {
                let unchanged = unchanged(real, handle);
                // A rewritten module may leave out this kernel: then the kernel has its own reason.
                let why = known.and_then(|(_, k)| k.skipped).unwrap_or_else(recording::module_not_rewritten);
                // SAFETY: the caller's promise.
                let params = || unsafe { unchanged_params(real, handle, &unchanged, params, extra) };
                let kernel = (unchanged.name.as_deref(), why.as_str());
                self.hidden = recording::record_unchanged(real, kernel, shape, stream, per_thread, params);
            }
            rewritten
        });
        let Some((module, kernel)) = self.kernel.clone() else { return (params, extra) };
        let as_pointers = !params.is_null() || extra.is_null();
        // SAFETY: the caller's promise is what both functions require.
        let copied = unsafe {
            if as_pointers {
                self.copy_pointers(params, &kernel.params)
            } else {
                self.copy_buffer(real, handle, extra, kernel.hidden_offset, kernel.params.len())
            }
        };
        if copied.is_none() {
            // The driver reports what is wrong with these arguments.
            return (params, extra);
        }
        self.params.resize(kernel.params_size(), 0);
        self.params = kernel.recorded(std::mem::take(&mut self.params));
        let bytes = self.params.clone();
        self.hidden = guard(|| match purpose {
            Purpose::Launch { shape, stream, per_thread } => {
                recording::begin_launch(real, (&module, &kernel), shape, bytes, stream, per_thread)
            }
            Purpose::Node { context } => {
                context.or_else(|| recording::new_node_context(real)).map(HiddenParam::Node)
            }
            Purpose::Unrecorded => None,
        });
        self.hidden_bytes = self.hidden.as_ref().map(HiddenParam::value).unwrap_or_default().to_bytes();
        if as_pointers {
            self.pointers.push(self.hidden_bytes.as_mut_ptr().cast());
            return (self.pointers.as_mut_ptr(), null_mut());
        }
        self.buffer.extend_from_slice(&self.hidden_bytes);
        self.size = self.buffer.len();
        let key = std::ptr::without_provenance_mut;
        let (buffer, size) = (self.buffer.as_mut_ptr().cast(), (&raw mut self.size).cast());
        self.extra = [key(extra::BUFFER), buffer, key(extra::SIZE), size, key(extra::END)];
        (null_mut(), self.extra.as_mut_ptr())
    }

    /// Takes the program's array of pointers, and copies the parameters behind them. `None` if there is no
    /// array although the kernel has parameters.
    ///
    /// # Safety
    /// `params` is null, or has a pointer for each element of `layout`; each pointer is null, or points to as
    /// many bytes as the parameter has.
    unsafe fn copy_pointers(&mut self, params: *mut *mut c_void, layout: &[(usize, usize)]) -> Option<()> {
        if !layout.is_empty() {
            if params.is_null() {
                return None;
            }
            // SAFETY: not null, so the caller promises so many pointers.
            self.pointers.extend_from_slice(unsafe { std::slice::from_raw_parts(params, layout.len()) });
        }
        self.params = vec![0; layout.iter().map(|(at, size)| at + size).max().unwrap_or(0)];
        for (pointer, (at, size)) in self.pointers.iter().zip(layout) {
            if !pointer.is_null() {
                // SAFETY: not null, so the caller promises so many bytes.
                let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), *size) };
                self.params[*at..at + size].copy_from_slice(bytes);
            }
        }
        Some(())
    }

    /// Copies the program's parameter buffer, up to where the hidden parameter goes. `None` if `extra` names
    /// no buffer. `count` is the number of the program's parameters.
    ///
    /// # Safety
    /// `extra` is null, or a list as cuda.h describes it.
    unsafe fn copy_buffer(
        &mut self,
        real: &Functions,
        handle: *mut c_void,
        extra: *mut *mut c_void,
        hidden_offset: usize,
        count: usize,
    ) -> Option<()> {
        // SAFETY: the caller's promise.
        let from = unsafe { buffer(extra) }?;
        let (mut end, mut width) = (0, 0);
        // The machine code's own offset if the driver knows it; otherwise the offset in PTX's layout.
        // SAFETY: the driver's function (P2) with a handle that the program launches (P5); outputs are local
        // variables (P3).
        let code = unsafe { (real.cuFuncGetParamInfo)(handle, count, &mut end, &mut width) };
        if code != 0 || width != HiddenParameter::SIZE {
            end = hidden_offset;
        }
        self.buffer.extend_from_slice(&from[..from.len().min(end)]);
        self.buffer.resize(end, 0);
        self.params.clone_from(&self.buffer);
        Some(())
    }

    /// Device address of the launch's context in the hidden parameter; 0 if nothing is recorded.
    pub fn context(&self) -> u64 {
        self.hidden.as_ref().map(HiddenParam::value).unwrap_or_default().context
    }

    /// Tells the recording that the driver, which was called at `called`, has returned `code`. Returns
    /// `code`.
    pub fn launched(self, code: i32, called: Instant) -> i32 {
        if let Some(hidden) = self.hidden {
            let answered = Instant::now();
            guard(|| {
                recording::launch_queued(hidden, code, [called, answered]);
                Some(())
            });
        }
        code
    }
}

/// The parameters of a launch of a kernel that is not rewritten. `None` if the driver does not know the
/// kernel's parameters.
///
/// # Safety
/// `params` and `extra` are those of a launch of the kernel `handle`, which is `kernel`.
unsafe fn unchanged_params(
    real: &Functions,
    handle: *mut c_void,
    kernel: &UnchangedKernel,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Option<Params> {
    let ask = [real.cuFuncGetParamInfo, real.cuKernelGetParamInfo];
    // SAFETY: the driver's functions (P2) with a handle that the program launches (P5). The function that
    // does not take this kind of handle refuses it.
    let asked = || ask.into_iter().find_map(|ask| unsafe { layout(ask, handle) });
    let layout = kernel.params.get_or_init(asked).as_ref()?;
    let mut bytes = vec![0; layout.iter().map(|(at, size)| at + size).max().unwrap_or(0)];
    if params.is_null() {
        // SAFETY: the caller's promise.
        let from = unsafe { buffer(extra) }?;
        // Bytes between parameters have no meaning and stay zero.
        for (at, size) in layout.iter().filter(|(at, size)| at + size <= from.len()) {
            bytes[*at..at + size].copy_from_slice(&from[*at..at + size]);
        }
    } else {
        for (i, (at, size)) in layout.iter().enumerate() {
            // SAFETY: the caller's promise: a pointer for each parameter, null or to as many bytes as it has.
            unsafe {
                let from = (*params.add(i)).cast::<u8>();
                if !from.is_null() {
                    bytes[*at..at + size].copy_from_slice(std::slice::from_raw_parts(from, *size));
                }
            }
        }
    }
    Some((bytes, layout.clone()))
}

/// Offset and size in bytes of each of a kernel's parameters. `None` if the driver does not know them.
///
/// # Safety
/// `ask` is one of the driver's functions (P2), and the driver knows `handle`.
unsafe fn layout(
    ask: unsafe extern "C" fn(*mut c_void, usize, *mut usize, *mut usize) -> i32,
    handle: *mut c_void,
) -> Option<Vec<(usize, usize)>> {
    /// `CUDA_ERROR_INVALID_VALUE`: the kernel has no parameter of that index.
    const NO_MORE: i32 = 1;
    let mut layout: Vec<(usize, usize)> = Vec::new();
    loop {
        let (mut at, mut size) = (0, 0);
        // SAFETY: the caller's promise; outputs are local variables (P3).
        match unsafe { ask(handle, layout.len(), &mut at, &mut size) } {
            0 if at < MAX_PARAM_BYTES && size <= MAX_PARAM_BYTES - at && layout.len() < MAX_PARAM_BYTES => {
                layout.push((at, size))
            }
            NO_MORE => return Some(layout),
            _ => return None,
        }
    }
}

/// The parameter buffer that the `extra` list of a launch names. It is empty if the list names none. `None`
/// if the list has an unknown key.
///
/// # Safety
/// `list` is null, or a list of keys and values up to `CU_LAUNCH_PARAM_END`. The buffer lives as long as
/// `'a`.
unsafe fn buffer<'a>(list: *mut *mut c_void) -> Option<&'a [u8]> {
    let (mut at, mut size, mut i) = (std::ptr::null::<u8>(), 0, 0);
    // SAFETY: the caller's promise: a value follows each key but the last. The size's value points to a
    // `size_t`, and the buffer has so many bytes.
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
