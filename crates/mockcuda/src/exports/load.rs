//! Modules, libraries, kernels, their attributes, and the linker.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use prlx_driver::cuda::calls::{input, jit};
use prlx_driver::cuda::image;

use super::pointers::{put, put_all, text};
use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::with;
use crate::device::state::Kernel;

/// Bytes of an image.
///
/// # Safety
/// `at` is null or points to an image that lives as long as `'a`.
unsafe fn bytes<'a>(at: *const c_void) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise is that of `image::bytes`.
    unsafe { image::bytes(at) }.map_err(|e| match e {
        image::Unreadable::Null => code::INVALID_VALUE,
        image::Unreadable::Relocatable => code::NOT_SUPPORTED,
    })
}
/// Bytes of the file with this path.
///
/// # Safety
/// `path` is null or a string that ends with NUL.
unsafe fn file(path: *const c_char) -> Result<Vec<u8>> {
    // SAFETY: the caller's promise is that of `text`.
    std::fs::read(unsafe { text(path)? }).map_err(|_| code::FILE_NOT_FOUND)
}

pub unsafe fn cuModuleLoad(module: *mut *mut c_void, path: *const c_char) -> i32 {
    with("cuModuleLoad", |d| {
        // SAFETY: `path` is null or a string (E1).
        let loaded = d.load(&unsafe { file(path)? }).map_err(|e| e.0)?;
        // SAFETY: `module` is an output of this call (E1, E2).
        unsafe { put(module, loaded as *mut c_void) }
    })
}
pub unsafe fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: the call has the same arguments with the same meaning (E1).
    unsafe { cuModuleLoadDataEx(module, image, 0, null_mut(), null_mut()) }
}
pub unsafe fn cuModuleLoadFatBinary(module: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: the call has the same arguments with the same meaning (E1).
    unsafe { cuModuleLoadDataEx(module, image, 0, null_mut(), null_mut()) }
}
pub unsafe fn cuModuleLoadDataEx(
    module: *mut *mut c_void,
    data: *const c_void,
    count: u32,
    options: *mut i32,
    values: *mut *mut c_void,
) -> i32 {
    with("cuModuleLoadDataEx", |d| {
        // SAFETY: `data` is null or an image (E1).
        match d.load(unsafe { bytes(data)? }) {
            // SAFETY: `module` is an output of this call (E1, E2).
            Ok(handle) => unsafe { put(module, handle as *mut c_void) },
            Err((code, message)) => {
                // SAFETY: there are `count` options, each with its value (E1).
                let value = |option: i32| unsafe {
                    (0..count as usize).find(|&i| *options.add(i) == option).map(|i| *values.add(i))
                };
                if let (Some(log), Some(size)) = (value(jit::ERROR_LOG), value(jit::ERROR_LOG_SIZE)) {
                    let message = message.bytes().take((size as usize).saturating_sub(1)).chain([0]);
                    for (i, byte) in message.enumerate() {
                        // SAFETY: `log` has `size` bytes, and no more are written (E1, E2).
                        unsafe { put(log.cast::<u8>().wrapping_add(i), byte)? };
                    }
                }
                Err(code)
            }
        }
    })
}
pub unsafe fn cuModuleUnload(module: *mut c_void) -> i32 {
    with("cuModuleUnload", |d| d.unload(module as u64))
}
pub unsafe fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    with("cuModuleGetFunction", |d| {
        // SAFETY: `function` is an output of this call (E1, E2); `name` is null or a string (E1).
        unsafe { put(function, d.function(module as u64, text(name)?)? as *mut c_void) }
    })
}
pub unsafe fn cuModuleGetFunctionCount(count: *mut u32, module: *mut c_void) -> i32 {
    // SAFETY: `count` is an output of this call (E1, E2).
    with("cuModuleGetFunctionCount", |d| unsafe { put(count, d.names(module as u64)?.len() as u32) })
}
pub unsafe fn cuModuleEnumerateFunctions(
    functions: *mut *mut c_void,
    count: u32,
    module: *mut c_void,
) -> i32 {
    with("cuModuleEnumerateFunctions", |d| {
        let names = d.names(module as u64)?;
        let all = names.iter().map(|n| d.function(module as u64, n)).collect::<Result<Vec<_>>>()?;
        // SAFETY: `functions` has room for `count` handles (E1).
        unsafe { put_all(functions, count as usize, &all) }
    })
}
pub unsafe fn cuModuleGetGlobal_v2(
    at: *mut u64,
    size: *mut usize,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: `at` and `size` are null or outputs (E1); `name` is null or a string (E1).
    with("cuModuleGetGlobal_v2", |d| unsafe { put_variable(at, size, d.global(module as u64, text(name)?)?) })
}
/// Writes address and size of a variable.
///
/// # Safety
/// Both pointers are null or outputs.
unsafe fn put_variable(at: *mut u64, size: *mut usize, found: (u64, usize)) -> Result<()> {
    // SAFETY: the caller promises outputs where they are not null (E2).
    unsafe {
        if !at.is_null() {
            put(at, found.0)?;
        }
        if !size.is_null() {
            put(size, found.1)?;
        }
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "as cuda.h has it")]
pub unsafe fn cuLibraryLoadData(
    library: *mut *mut c_void,
    image: *const c_void,
    _: *mut i32,
    _: *mut *mut c_void,
    _: u32,
    _: *mut i32,
    _: *mut *mut c_void,
    _: u32,
) -> i32 {
    // SAFETY: `library` is an output of this call (E1, E2); `image` is null or an image (E1).
    with("cuLibraryLoadData", |d| unsafe { put(library, d.library(bytes(image)?)? as *mut c_void) })
}
#[expect(clippy::too_many_arguments, reason = "as cuda.h has it")]
pub unsafe fn cuLibraryLoadFromFile(
    library: *mut *mut c_void,
    path: *const c_char,
    _: *mut i32,
    _: *mut *mut c_void,
    _: u32,
    _: *mut i32,
    _: *mut *mut c_void,
    _: u32,
) -> i32 {
    // SAFETY: `library` is an output of this call (E1, E2); `path` is null or a string (E1).
    with("cuLibraryLoadFromFile", |d| unsafe { put(library, d.library(&file(path)?)? as *mut c_void) })
}
pub unsafe fn cuLibraryUnload(library: *mut c_void) -> i32 {
    with("cuLibraryUnload", |d| d.library_unload(library as u64))
}
pub unsafe fn cuLibraryGetKernel(kernel: *mut *mut c_void, library: *mut c_void, name: *const c_char) -> i32 {
    with("cuLibraryGetKernel", |d| {
        // SAFETY: `kernel` is an output of this call (E1, E2); `name` is null or a string (E1).
        unsafe { put(kernel, d.library_kernel(library as u64, text(name)?)? as *mut c_void) }
    })
}
pub unsafe fn cuLibraryGetKernelCount(count: *mut u32, library: *mut c_void) -> i32 {
    with("cuLibraryGetKernelCount", |d| {
        let module = d.library_module(library as u64)?;
        // SAFETY: `count` is an output of this call (E1, E2).
        unsafe { put(count, d.names(module)?.len() as u32) }
    })
}
pub unsafe fn cuLibraryEnumerateKernels(kernels: *mut *mut c_void, count: u32, library: *mut c_void) -> i32 {
    with("cuLibraryEnumerateKernels", |d| {
        let module = d.library_module(library as u64)?;
        let names = d.names(module)?;
        let all = names.iter().map(|n| d.library_kernel(library as u64, n)).collect::<Result<Vec<_>>>()?;
        // SAFETY: `kernels` has room for `count` handles (E1).
        unsafe { put_all(kernels, count as usize, &all) }
    })
}
pub unsafe fn cuLibraryGetModule(module: *mut *mut c_void, library: *mut c_void) -> i32 {
    with("cuLibraryGetModule", |d| {
        d.ready()?;
        // SAFETY: `module` is an output of this call (E1, E2).
        unsafe { put(module, d.library_module(library as u64)? as *mut c_void) }
    })
}
pub unsafe fn cuLibraryGetGlobal(
    at: *mut u64,
    size: *mut usize,
    library: *mut c_void,
    name: *const c_char,
) -> i32 {
    with("cuLibraryGetGlobal", |d| {
        let module = d.library_module(library as u64)?;
        // SAFETY: `at` and `size` are null or outputs (E1); `name` is null or a string (E1).
        unsafe { put_variable(at, size, d.global(module, text(name)?)?) }
    })
}
pub unsafe fn cuLibraryGetManaged(_: *mut u64, _: *mut usize, library: *mut c_void, _: *const c_char) -> i32 {
    with("cuLibraryGetManaged", |d| d.library_module(library as u64).and(Err(code::NOT_FOUND)))
}
pub unsafe fn cuLibraryGetUnifiedFunction(
    _: *mut *mut c_void,
    library: *mut c_void,
    _: *const c_char,
) -> i32 {
    with("cuLibraryGetUnifiedFunction", |d| d.library_module(library as u64).and(Err(code::NOT_FOUND)))
}

pub unsafe fn cuKernelGetFunction(function: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    with("cuKernelGetFunction", |d| {
        d.ready()?;
        d.library_of(kernel as u64)?;
        // SAFETY: `function` is an output of this call (E1, E2).
        unsafe { put(function, d.function_of(kernel as u64) as *mut c_void) }
    })
}
pub unsafe fn cuKernelGetLibrary(library: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: `library` is an output of this call (E1, E2).
    with("cuKernelGetLibrary", |d| unsafe { put(library, d.library_of(kernel as u64)? as *mut c_void) })
}
pub unsafe fn cuKernelGetName(name: *mut *const c_char, kernel: *mut c_void) -> i32 {
    // SAFETY: `name` is an output of this call (E1, E2).
    with("cuKernelGetName", |d| unsafe { put(name, d.kernel(kernel as u64)?.c_name.as_ptr()) })
}
pub unsafe fn cuKernelGetParamInfo(
    kernel: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    // SAFETY: `offset` and `size` are outputs; `size` may be null (E1).
    with("cuKernelGetParamInfo", |d| unsafe { put_parameter(d.kernel(kernel as u64)?, index, offset, size) })
}
/// Writes offset and size of a kernel's parameter.
///
/// # Safety
/// `at` is null or an output; `size` is null or an output.
unsafe fn put_parameter(kernel: &Kernel, index: usize, at: *mut usize, size: *mut usize) -> Result<()> {
    let param = kernel.params.get(index).ok_or(code::INVALID_VALUE)?;
    // SAFETY: the caller promises outputs (E2).
    unsafe {
        put(at, param.offset as usize)?;
        if size.is_null() { Ok(()) } else { put(size, param.size as usize) }
    }
}
pub unsafe fn cuKernelGetAttribute(value: *mut i32, attribute: i32, kernel: *mut c_void, device: i32) -> i32 {
    with("cuKernelGetAttribute", |d| {
        d.device(device)?;
        // SAFETY: `value` is an output of this call (E1, E2).
        unsafe { put(value, d.function_attribute(attribute, kernel as u64)?) }
    })
}
pub unsafe fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: *mut c_void, device: i32) -> i32 {
    with("cuKernelSetAttribute", |d| {
        d.device(device)?;
        d.set_function_attribute(kernel as u64, attribute, value)
    })
}
pub unsafe fn cuFuncGetModule(module: *mut *mut c_void, function: *mut c_void) -> i32 {
    // SAFETY: `module` is an output of this call (E1, E2).
    with("cuFuncGetModule", |d| unsafe { put(module, d.kernel(function as u64)?.module as *mut c_void) })
}
pub unsafe fn cuFuncGetName(name: *mut *const c_char, function: *mut c_void) -> i32 {
    // SAFETY: `name` is an output of this call (E1, E2).
    with("cuFuncGetName", |d| unsafe { put(name, d.kernel(function as u64)?.c_name.as_ptr()) })
}
pub unsafe fn cuFuncGetParamInfo(
    function: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    // SAFETY: `offset` and `size` are outputs; `size` may be null (E1).
    with("cuFuncGetParamInfo", |d| unsafe { put_parameter(d.kernel(function as u64)?, index, offset, size) })
}
pub unsafe fn cuFuncGetAttribute(value: *mut i32, attribute: i32, function: *mut c_void) -> i32 {
    // SAFETY: `value` is an output of this call (E1, E2).
    with("cuFuncGetAttribute", |d| unsafe { put(value, d.function_attribute(attribute, function as u64)?) })
}
pub unsafe fn cuFuncSetAttribute(function: *mut c_void, attribute: i32, value: i32) -> i32 {
    with("cuFuncSetAttribute", |d| d.set_function_attribute(function as u64, attribute, value))
}
pub unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    ctas: *mut i32,
    function: *mut c_void,
    threads: i32,
    _: usize,
) -> i32 {
    with("cuOccupancyMaxActiveBlocksPerMultiprocessor", |d| {
        // SAFETY: `ctas` is an output of this call (E1, E2).
        unsafe { put(ctas, d.max_resident_ctas(function as u64, threads)?) }
    })
}

pub unsafe fn cuLinkCreate_v2(_: u32, _: *mut i32, _: *mut *mut c_void, state: *mut *mut c_void) -> i32 {
    // SAFETY: `state` is an output of this call (E1, E2).
    with("cuLinkCreate_v2", |d| unsafe { put(state, d.link()? as *mut c_void) })
}
#[expect(clippy::too_many_arguments, reason = "as cuda.h has it")]
pub unsafe fn cuLinkAddData_v2(
    state: *mut c_void,
    kind: i32,
    data: *mut c_void,
    size: usize,
    _: *const c_char,
    _: u32,
    _: *mut i32,
    _: *mut *mut c_void,
) -> i32 {
    with("cuLinkAddData_v2", |d| {
        if kind != input::PTX || data.is_null() {
            return Err(code::NOT_SUPPORTED);
        }
        // SAFETY: `data` has `size` bytes (E1), and is not null.
        d.link_add(state as u64, unsafe { std::slice::from_raw_parts(data.cast(), size) })
    })
}
pub unsafe fn cuLinkAddFile_v2(
    state: *mut c_void,
    kind: i32,
    path: *const c_char,
    _: u32,
    _: *mut i32,
    _: *mut *mut c_void,
) -> i32 {
    with("cuLinkAddFile_v2", |d| {
        if kind != input::PTX {
            return Err(code::NOT_SUPPORTED);
        }
        // SAFETY: `path` is null or a string (E1).
        d.link_add(state as u64, &unsafe { file(path)? })
    })
}
pub unsafe fn cuLinkComplete(state: *mut c_void, cubin: *mut *mut c_void, size: *mut usize) -> i32 {
    with("cuLinkComplete", |d| {
        let linked = d.linked(state as u64)?;
        // SAFETY: `cubin` is an output, and `size` null or an output (E1, E2).
        unsafe {
            put(cubin, linked.as_ptr().cast_mut().cast())?;
            if size.is_null() { Ok(()) } else { put(size, linked.as_bytes_with_nul().len()) }
        }
    })
}
pub unsafe fn cuLinkDestroy(state: *mut c_void) -> i32 {
    with("cuLinkDestroy", |d| d.link_destroy(state as u64))
}
