//! Modules, libraries, the linker, and what can be asked of kernels.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use prlx_driver::cuda::calls::{input, jit};
use prlx_driver::cuda::image;

use super::pointers::{put, put_all, text};
use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::with;

/// The bytes of an image.
///
/// # Safety
/// `at` is null or points to one.
unsafe fn bytes<'a>(at: *const c_void) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { image::bytes(at) }.map_err(|e| match e {
        image::Unreadable::Null => code::INVALID_VALUE,
        image::Unreadable::Relocatable => code::NOT_SUPPORTED,
    })
}
/// A file that ends as images do.
///
/// # Safety
/// `path` is null or a string that ends.
unsafe fn file(path: *const c_char) -> Result<Vec<u8>> {
    // SAFETY: the caller's promise.
    std::fs::read(unsafe { text(path)? }).map_err(|_| code::FILE_NOT_FOUND)
}

pub unsafe fn cuModuleLoad(module: *mut *mut c_void, path: *const c_char) -> i32 {
    with("cuModuleLoad", |d| {
        // SAFETY: as the module says.
        let loaded = d.load(&unsafe { file(path)? }).map_err(|e| e.0)?;
        // SAFETY: as the module says.
        unsafe { put(module, loaded as *mut c_void) }
    })
}
pub unsafe fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: as the module says.
    unsafe { cuModuleLoadDataEx(module, image, 0, null_mut(), null_mut()) }
}
pub unsafe fn cuModuleLoadFatBinary(module: *mut *mut c_void, image: *const c_void) -> i32 {
    // SAFETY: as the module says.
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
        // SAFETY: as the module says.
        match d.load(unsafe { bytes(data)? }) {
            // SAFETY: as the module says.
            Ok(handle) => unsafe { put(module, handle as *mut c_void) },
            Err((code, said)) => {
                // SAFETY: as the module says: `count` options, each with its value.
                let value = |option: i32| unsafe {
                    (0..count as usize).find(|&i| *options.add(i) == option).map(|i| *values.add(i))
                };
                if let (Some(log), Some(size)) = (value(jit::ERROR_LOG), value(jit::ERROR_LOG_SIZE)) {
                    let said = said.bytes().take((size as usize).saturating_sub(1)).chain([0]);
                    for (i, byte) in said.enumerate() {
                        // SAFETY: as the module says: a buffer of that size.
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
        // SAFETY: as the module says.
        unsafe { put(function, d.function(module as u64, text(name)?)? as *mut c_void) }
    })
}
pub unsafe fn cuModuleGetFunctionCount(count: *mut u32, module: *mut c_void) -> i32 {
    // SAFETY: as the module says.
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
        // SAFETY: as the module says: room for `count`.
        unsafe { put_all(functions, count as usize, &all) }
    })
}
pub unsafe fn cuModuleGetGlobal_v2(
    at: *mut u64,
    size: *mut usize,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    // SAFETY: as the module says.
    with("cuModuleGetGlobal_v2", |d| unsafe { variable(at, size, d.global(module as u64, text(name)?)?) })
}
/// # Safety
/// Both are null or may be written.
unsafe fn variable(at: *mut u64, size: *mut usize, found: (u64, usize)) -> Result<()> {
    // SAFETY: the caller's promise; null: nobody wants to know.
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
    // SAFETY: as the module says.
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
    // SAFETY: as the module says.
    with("cuLibraryLoadFromFile", |d| unsafe { put(library, d.library(&file(path)?)? as *mut c_void) })
}
pub unsafe fn cuLibraryUnload(library: *mut c_void) -> i32 {
    with("cuLibraryUnload", |d| d.library_unload(library as u64))
}
pub unsafe fn cuLibraryGetKernel(kernel: *mut *mut c_void, library: *mut c_void, name: *const c_char) -> i32 {
    with("cuLibraryGetKernel", |d| {
        // SAFETY: as the module says.
        unsafe { put(kernel, d.library_kernel(library as u64, text(name)?)? as *mut c_void) }
    })
}
pub unsafe fn cuLibraryGetKernelCount(count: *mut u32, library: *mut c_void) -> i32 {
    with("cuLibraryGetKernelCount", |d| {
        let module = d.library_module(library as u64)?;
        // SAFETY: as the module says.
        unsafe { put(count, d.names(module)?.len() as u32) }
    })
}
pub unsafe fn cuLibraryEnumerateKernels(kernels: *mut *mut c_void, count: u32, library: *mut c_void) -> i32 {
    with("cuLibraryEnumerateKernels", |d| {
        let module = d.library_module(library as u64)?;
        let names = d.names(module)?;
        let all = names.iter().map(|n| d.library_kernel(library as u64, n)).collect::<Result<Vec<_>>>()?;
        // SAFETY: as the module says: room for `count`.
        unsafe { put_all(kernels, count as usize, &all) }
    })
}
pub unsafe fn cuLibraryGetModule(module: *mut *mut c_void, library: *mut c_void) -> i32 {
    with("cuLibraryGetModule", |d| {
        d.ready()?;
        // SAFETY: as the module says.
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
        // SAFETY: as the module says.
        unsafe { variable(at, size, d.global(module, text(name)?)?) }
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
        // SAFETY: as the module says.
        unsafe { put(function, d.function_of(kernel as u64) as *mut c_void) }
    })
}
pub unsafe fn cuKernelGetLibrary(library: *mut *mut c_void, kernel: *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuKernelGetLibrary", |d| unsafe { put(library, d.library_of(kernel as u64)? as *mut c_void) })
}
pub unsafe fn cuKernelGetName(name: *mut *const c_char, kernel: *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuKernelGetName", |d| unsafe { put(name, d.kernel(kernel as u64)?.c_name.as_ptr()) })
}
pub unsafe fn cuKernelGetParamInfo(
    kernel: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    // SAFETY: as the module says.
    with("cuKernelGetParamInfo", |d| unsafe { parameter(d.kernel(kernel as u64)?, index, offset, size) })
}
/// # Safety
/// `offset` may be written, and `size` if it is not null.
unsafe fn parameter(
    kernel: &crate::device::state::Kernel,
    index: usize,
    at: *mut usize,
    size: *mut usize,
) -> Result<()> {
    let one = kernel.params.get(index).ok_or(code::INVALID_VALUE)?;
    // SAFETY: the caller's promise.
    unsafe {
        put(at, one.offset as usize)?;
        if size.is_null() { Ok(()) } else { put(size, one.size as usize) }
    }
}
pub unsafe fn cuKernelGetAttribute(value: *mut i32, attribute: i32, kernel: *mut c_void, device: i32) -> i32 {
    with("cuKernelGetAttribute", |d| {
        d.device(device)?;
        // SAFETY: as the module says.
        unsafe { put(value, d.needs(attribute, kernel as u64)?) }
    })
}
pub unsafe fn cuKernelSetAttribute(attribute: i32, value: i32, kernel: *mut c_void, device: i32) -> i32 {
    with("cuKernelSetAttribute", |d| {
        d.device(device)?;
        d.allow(kernel as u64, attribute, value)
    })
}
pub unsafe fn cuFuncGetModule(module: *mut *mut c_void, function: *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuFuncGetModule", |d| unsafe { put(module, d.kernel(function as u64)?.module as *mut c_void) })
}
pub unsafe fn cuFuncGetName(name: *mut *const c_char, function: *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuFuncGetName", |d| unsafe { put(name, d.kernel(function as u64)?.c_name.as_ptr()) })
}
pub unsafe fn cuFuncGetParamInfo(
    function: *mut c_void,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> i32 {
    // SAFETY: as the module says.
    with("cuFuncGetParamInfo", |d| unsafe { parameter(d.kernel(function as u64)?, index, offset, size) })
}
pub unsafe fn cuFuncGetAttribute(value: *mut i32, attribute: i32, function: *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuFuncGetAttribute", |d| unsafe { put(value, d.needs(attribute, function as u64)?) })
}
pub unsafe fn cuFuncSetAttribute(function: *mut c_void, attribute: i32, value: i32) -> i32 {
    with("cuFuncSetAttribute", |d| d.allow(function as u64, attribute, value))
}
pub unsafe fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    ctas: *mut i32,
    function: *mut c_void,
    threads: i32,
    _: usize,
) -> i32 {
    with("cuOccupancyMaxActiveBlocksPerMultiprocessor", |d| {
        // SAFETY: as the module says.
        unsafe { put(ctas, d.resident(function as u64, threads)?) }
    })
}

pub unsafe fn cuLinkCreate_v2(_: u32, _: *mut i32, _: *mut *mut c_void, state: *mut *mut c_void) -> i32 {
    // SAFETY: as the module says.
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
        // SAFETY: as the module says: so many bytes.
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
        // SAFETY: as the module says.
        d.link_add(state as u64, &unsafe { file(path)? })
    })
}
pub unsafe fn cuLinkComplete(state: *mut c_void, cubin: *mut *mut c_void, size: *mut usize) -> i32 {
    with("cuLinkComplete", |d| {
        let linked = d.linked(state as u64)?;
        // SAFETY: as the module says; null: nobody wants to know.
        unsafe {
            put(cubin, linked.as_ptr().cast_mut().cast())?;
            if size.is_null() { Ok(()) } else { put(size, linked.as_bytes_with_nul().len()) }
        }
    })
}
pub unsafe fn cuLinkDestroy(state: *mut c_void) -> i32 {
    with("cuLinkDestroy", |d| d.link_destroy(state as u64))
}
