//! The exported symbols. Every row of the driver's table has its body here, or this does not compile.
#![allow(unsafe_code, reason = "a C interface: pointers come from the caller, as cuda.h says what they point to")]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::Mutex;

use prlx_driver::cuda::calls::{self, extra, jit};
use prlx_driver::tensor_map::{Swizzle, TensorMap};
use prlx_driver::{DevicePtr, Driver, LaunchConfig};
use prlx_emu::Emulator;
use prlx_trace::Dim3;
use prlx_trace::kernel::Param;
use prlx_trace::kernel::Scalar;

use crate::device::{Result, code, error, waiting, with};

/// Makes the exports: C functions that call those of [`body`], and never unwind.
macro_rules! exports {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*);)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// Pointers are as cuda.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> i32 {
            // SAFETY: the caller's promise is the callee's.
            catch_unwind(AssertUnwindSafe(|| unsafe { body::$name($($arg),*) })).unwrap_or(code::UNKNOWN)
        }
    )* };
}
prlx_driver::cuda_calls!(exports);

/// Puts a result where the caller wants it.
///
/// # Safety
/// `at` is null or may be written.
unsafe fn put<T>(at: *mut T, value: T) -> Result<()> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise; not null.
    unsafe { at.write_unaligned(value) };
    Ok(())
}

/// A string of the caller's.
///
/// # Safety
/// `at` is null or a string that ends.
unsafe fn text<'a>(at: *const c_char) -> Result<&'a str> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise; not null.
    unsafe { CStr::from_ptr(at) }.to_str().map_err(|_| code::NOT_FOUND)
}

/// The bytes of an image, whose length only its content says: text to its NUL, ELF to the end of its headers and sections.
///
/// # Safety
/// `at` is null or such an image.
unsafe fn image<'a>(at: *const c_void) -> Result<&'a [u8]> {
    if at.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: the caller's promise: text ends in NUL, and an ELF file is longer than the first NUL in its header.
    let head = unsafe { CStr::from_ptr(at.cast()) }.to_bytes();
    if !head.starts_with(b"\x7fELF") {
        return Ok(head);
    }
    let part = |offset: usize, size: usize| {
        let mut bytes = [0; 8];
        // SAFETY: within the headers of the file, where the caller's promise is that there are some.
        bytes[..size].copy_from_slice(unsafe { from_raw_parts(at.cast::<u8>().add(offset), size) });
        u64::from_le_bytes(bytes) as usize
    };
    let (segments, sections) = (part(32, 8) + part(54, 2) * part(56, 2), part(40, 8));
    let ends = (0..part(60, 2)).map(|i| {
        let header = sections + i * 64;
        // A section without bytes in the file (`SHT_NOBITS`) ends where it begins.
        part(header + 24, 8) + if part(header + 4, 4) == 8 { 0 } else { part(header + 32, 8) }
    });
    let end = ends.max().unwrap_or(64).max(segments).max(sections + part(60, 2) * 64);
    // SAFETY: as the headers say.
    Ok(unsafe { from_raw_parts(at.cast(), end) })
}

/// The parameter buffer that `extra` of a launch names.
///
/// # Safety
/// `list` is null or as cuda.h says.
unsafe fn buffer<'a>(list: *mut *mut c_void) -> Result<&'a [u8]> {
    let (mut at, mut size, mut i) = (std::ptr::null::<u8>(), 0, 0);
    // SAFETY: pairs of a key and a value, up to a key that ends the list; each value points to what its key says.
    unsafe {
        while !list.is_null() && *list.add(i) as usize != extra::END {
            let value = *list.add(i + 1);
            match *list.add(i) as usize {
                extra::BUFFER => at = value.cast(),
                extra::SIZE => size = *value.cast::<usize>(),
                _ => return Err(code::INVALID_VALUE),
            }
            i += 2;
        }
        Ok(if at.is_null() { &[] } else { from_raw_parts(at, size) })
    }
}

/// The parameter buffer, from a list of where each parameter is.
///
/// # Safety
/// `list` has a pointer for each of `params`, to as many bytes as it has.
unsafe fn gathered(params: &[Param], list: *mut *mut c_void) -> Vec<u8> {
    let mut buffer = vec![0; params.last().map_or(0, |p| (p.offset + p.size) as usize)];
    for (i, p) in params.iter().enumerate() {
        // SAFETY: the caller's promise.
        let bytes = unsafe { from_raw_parts((*list.add(i)).cast::<u8>(), p.size as usize) };
        buffer[p.offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }
    buffer
}

/// Sizes of host allocations, by address.
static HOST: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// How host memory of so many bytes lies.
fn host(bytes: usize) -> Result<Layout> {
    Layout::from_size_align(bytes, 4096).ok().filter(|l| l.size() > 0).ok_or(code::INVALID_VALUE)
}

/// For tests: holds a stream's work back (`held` is not 0), or lets it go on; as a kernel that spins on a flag does.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_mock_hold(stream: u64, held: i32) -> i32 {
    with("prlx_mock_hold", |d| d.hold(stream, held != 0))
}

/// For tests: a thread of the application begins (`on` is not 0) or ends to capture in the global mode. The end gives
/// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if a call broke the capture.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_mock_capture(on: i32) -> i32 {
    const INVALIDATED: i32 = 901;
    with("prlx_mock_capture", |d| {
        match on {
            0 => d.captures = d.captures.saturating_sub(1),
            _ => d.captures += 1,
        }
        if on == 0 && std::mem::take(&mut d.broken) { Err(INVALIDATED) } else { Ok(()) }
    })
}

/// What each call does. Safety: pointers are as cuda.h says.
mod body {
    use super::*;

    pub unsafe fn cuInit(flags: u32) -> i32 {
        with("cuInit", |d| if flags == 0 { d.init() } else { Err(code::INVALID_VALUE) })
    }
    pub unsafe fn cuDriverGetVersion(version: *mut i32) -> i32 {
        // SAFETY: as the module says.
        with("cuDriverGetVersion", |_| unsafe { put(version, 13000) })
    }
    pub unsafe fn cuGetErrorName(number: i32, to: *mut *const c_char) -> i32 {
        let name = error(number).map(|e| e[0].as_ptr()).ok_or(code::INVALID_VALUE);
        // SAFETY: as the module says.
        name.and_then(|name| unsafe { put(to, name) }).err().unwrap_or(0)
    }
    pub unsafe fn cuGetErrorString(number: i32, to: *mut *const c_char) -> i32 {
        let words = error(number).map(|e| e[1].as_ptr()).ok_or(code::INVALID_VALUE);
        // SAFETY: as the module says.
        words.and_then(|words| unsafe { put(to, words) }).err().unwrap_or(0)
    }
    pub unsafe fn cuDeviceGetCount(count: *mut i32) -> i32 {
        // SAFETY: as the module says.
        with("cuDeviceGetCount", |d| unsafe { put(count, d.count()?) })
    }
    pub unsafe fn cuDeviceGet(device: *mut i32, ordinal: i32) -> i32 {
        // SAFETY: as the module says.
        with("cuDeviceGet", |d| unsafe { put(device, d.device(ordinal)?) })
    }
    pub unsafe fn cuDeviceGetName(name: *mut c_char, len: i32, device: i32) -> i32 {
        with("cuDeviceGetName", |d| {
            let text = d.name(device)?.bytes().take(usize::try_from(len).unwrap_or(0).saturating_sub(1));
            for (i, byte) in text.chain([0]).enumerate() {
                // SAFETY: as the module says: `len` bytes.
                unsafe { put(name.wrapping_add(i), byte as c_char)? };
            }
            Ok(())
        })
    }
    pub unsafe fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) -> i32 {
        // SAFETY: as the module says.
        with("cuDeviceGetAttribute", |d| unsafe { put(value, d.attribute(attribute, device)?) })
    }
    pub unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) -> i32 {
        // SAFETY: as the module says.
        with("cuDeviceTotalMem_v2", |d| unsafe { put(bytes, d.memory(device)?) })
    }
    pub unsafe fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> i32 {
        // SAFETY: as the module says.
        with("cuDevicePrimaryCtxRetain", |d| unsafe { put(context, d.retain(device)? as *mut c_void) })
    }
    pub unsafe fn cuDevicePrimaryCtxRelease_v2(device: i32) -> i32 {
        with("cuDevicePrimaryCtxRelease_v2", |d| d.release(device))
    }
    pub unsafe fn cuCtxSetCurrent(context: *mut c_void) -> i32 {
        with("cuCtxSetCurrent", |d| d.enter(context as u64))
    }
    pub unsafe fn cuCtxSetLimit(limit: i32, _value: usize) -> i32 {
        waiting("cuCtxSetLimit", |d| match limit {
            // Stacks of the CPU device have no size of their own.
            calls::limit::STACK_SIZE => d.synchronize(),
            _ => Some(Err(code::INVALID_VALUE)),
        })
    }
    pub unsafe fn cuCtxGetCurrent(context: *mut *mut c_void) -> i32 {
        // SAFETY: as the module says.
        with("cuCtxGetCurrent", |d| unsafe { put(context, d.current()? as *mut c_void) })
    }
    pub unsafe fn cuCtxSynchronize() -> i32 {
        waiting("cuCtxSynchronize", |d| d.synchronize())
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
            match d.load(unsafe { image(data)? }) {
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
    pub unsafe fn cuModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) -> i32 {
        with("cuModuleGetFunction", |d| {
            // SAFETY: as the module says.
            unsafe { put(function, d.function(module as u64, text(name)?)? as *mut c_void) }
        })
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
        _shared: usize,
    ) -> i32 {
        // SAFETY: as the module says.
        with("cuOccupancyMaxActiveBlocksPerMultiprocessor", |d| unsafe {
            put(ctas, d.resident(function as u64, threads)?)
        })
    }
    pub unsafe fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> i32 {
        // SAFETY: as the module says.
        with("cuMemAlloc_v2", |d| unsafe { put(at, d.alloc(bytes)?) })
    }
    pub unsafe fn cuMemFree_v2(at: u64) -> i32 {
        waiting("cuMemFree_v2", |d| d.free(at))
    }
    pub unsafe fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> i32 {
        // SAFETY: as the module says: so many bytes.
        let from = unsafe { from_raw_parts(from.cast(), bytes) };
        waiting("cuMemcpyHtoD_v2", |d| d.at_once(|e| e.write(DevicePtr(to), from)))
    }
    pub unsafe fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> i32 {
        // SAFETY: as the module says: so many bytes, which the caller has initialised.
        let to = unsafe { from_raw_parts_mut(to.cast(), bytes) };
        waiting("cuMemcpyDtoH_v2", |d| d.at_once(|e| e.read(DevicePtr(from), to)))
    }
    pub unsafe fn cuMemsetD8_v2(to: u64, value: u8, bytes: usize) -> i32 {
        waiting("cuMemsetD8_v2", |d| d.at_once(|e| e.fill(DevicePtr(to), bytes as u64, value)))
    }
    pub unsafe fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, _: u32) -> i32 {
        with("cuMemHostAlloc", |d| {
            d.host_alloc()?;
            // SAFETY: the layout is not empty.
            let at = unsafe { std::alloc::alloc_zeroed(host(bytes)?) };
            if at.is_null() {
                return Err(code::OUT_OF_MEMORY);
            }
            HOST.lock().unwrap_or_else(|e| e.into_inner()).insert(at as usize, bytes);
            // SAFETY: as the module says.
            unsafe { put(to, at.cast()) }
        })
    }
    pub unsafe fn cuMemFreeHost(at: *mut c_void) -> i32 {
        with("cuMemFreeHost", |_| {
            let known = HOST.lock().unwrap_or_else(|e| e.into_inner()).remove(&(at as usize));
            let layout = host(known.ok_or(code::INVALID_VALUE)?)?;
            // SAFETY: it was allocated like this, and is forgotten now.
            unsafe { std::alloc::dealloc(at.cast(), layout) };
            Ok(())
        })
    }
    pub unsafe fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> i32 {
        let from = from as usize;
        let copy = move |e: &mut Emulator| {
            // SAFETY: as the module says: so many bytes, until the copy is done.
            let from = unsafe { from_raw_parts(from as *const u8, bytes) };
            e.write(DevicePtr(to), from).map(|()| 0)
        };
        with("cuMemcpyHtoDAsync_v2", |d| d.later(stream as u64, Box::new(copy)))
    }
    pub unsafe fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void) -> i32 {
        let to = to as usize;
        let copy = move |e: &mut Emulator| {
            // SAFETY: as the module says: so many bytes, until the copy is done, which the caller has initialised.
            let to = unsafe { from_raw_parts_mut(to as *mut u8, bytes) };
            e.read(DevicePtr(from), to).map(|()| 0)
        };
        with("cuMemcpyDtoHAsync_v2", |d| d.later(stream as u64, Box::new(copy)))
    }
    pub unsafe fn cuMemsetD8Async(to: u64, value: u8, bytes: usize, stream: *mut c_void) -> i32 {
        let fill = move |e: &mut Emulator| e.fill(DevicePtr(to), bytes as u64, value).map(|()| 0);
        with("cuMemsetD8Async", |d| d.later(stream as u64, Box::new(fill)))
    }
    pub unsafe fn cuThreadExchangeStreamCaptureMode(mode: *mut i32) -> i32 {
        with("cuThreadExchangeStreamCaptureMode", |d| {
            if mode.is_null() {
                return Err(code::INVALID_VALUE);
            }
            // SAFETY: as the module says; not null.
            unsafe { put(mode, d.exchange(*mode)?) }
        })
    }
    pub unsafe fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: u32, _: i32) -> i32 {
        // SAFETY: as the module says.
        with("cuStreamCreateWithPriority", |d| unsafe { put(stream, d.stream(flags)? as *mut c_void) })
    }
    pub unsafe fn cuStreamDestroy_v2(stream: *mut c_void) -> i32 {
        waiting("cuStreamDestroy_v2", |d| d.stream_end(stream as u64))
    }
    pub unsafe fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _: u32) -> i32 {
        with("cuStreamWaitEvent", |d| d.stream_wait(stream as u64, event as u64))
    }
    #[expect(clippy::too_many_arguments, reason = "as cuda.h has it")]
    pub unsafe fn cuTensorMapEncodeTiled(
        to: *mut c_void,
        element: i32,
        rank: u32,
        at: *mut c_void,
        sizes: *const u64,
        strides: *const u64,
        tile: *const u32,
        steps: *const u32,
        interleave: i32,
        swizzle: i32,
        _promotion: i32,
        fill: i32,
    ) -> i32 {
        with("cuTensorMapEncodeTiled", |d| {
            let known = calls::TENSOR_TYPES.iter().find(|(_, n)| *n == element);
            let ty = known.and_then(|(name, _)| Scalar::ALL.iter().find(|s| s.name() == *name));
            let swizzle = usize::try_from(swizzle).ok().and_then(|i| Swizzle::ALL.get(i));
            let (Some(ty), Some(swizzle), 1..=5, 0, 0 | 1) = (ty, swizzle, rank, interleave, fill) else {
                return Err(code::INVALID_VALUE);
            };
            if !(to as usize).is_multiple_of(64)
                || sizes.is_null()
                || strides.is_null()
                || tile.is_null()
                || steps.is_null()
            {
                return Err(code::INVALID_VALUE);
            }
            let n = rank as usize;
            // SAFETY: as the module says: `rank` numbers each, but of strides one less.
            let map = unsafe {
                TensorMap {
                    ty: *ty,
                    sizes: from_raw_parts(sizes, n).to_vec(),
                    strides: from_raw_parts(strides, n - 1).to_vec(),
                    tile: from_raw_parts(tile, n).to_vec(),
                    steps: from_raw_parts(steps, n).to_vec(),
                    swizzle: swizzle.1,
                    nan: fill == 1,
                }
            };
            // SAFETY: as the module says: 128 bytes.
            unsafe { put(to.cast(), d.tensor_map(at as u64, &map)?) }
        })
    }
    pub unsafe fn cuLaunchKernelEx(
        config: *const calls::LaunchConfig,
        function: *mut c_void,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> i32 {
        with("cuLaunchKernelEx", |d| {
            if config.is_null() || !params.is_null() && !extra.is_null() {
                return Err(code::INVALID_VALUE);
            }
            // SAFETY: as the module says.
            let config = unsafe { &*config };
            let dims = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
            let attributes = match config.count {
                0 => &[],
                // SAFETY: as the module says: so many attributes.
                n => unsafe { from_raw_parts(config.attributes, n as usize) },
            };
            let mut cluster = Dim3::default();
            for attribute in attributes {
                match attribute.id {
                    calls::CLUSTER_DIMENSION => {
                        cluster = dims([attribute.value[0], attribute.value[1], attribute.value[2]])
                    }
                    _ => return Err(code::NOT_SUPPORTED),
                }
            }
            let shape = LaunchConfig {
                grid: dims(config.grid),
                block: dims(config.block),
                cluster,
                shared: config.shared,
                seed: 0,
            };
            // SAFETY: as the module says.
            let params = match params.is_null() {
                // SAFETY: as the module says.
                true => unsafe { buffer(extra)? }.to_vec(),
                // SAFETY: as the module says.
                false => unsafe { gathered(d.params(function as u64)?, params) },
            };
            d.launch(function as u64, &shape, &params, config.stream as u64)
        })
    }
    pub unsafe fn cuEventCreate(event: *mut *mut c_void, _: u32) -> i32 {
        // SAFETY: as the module says.
        with("cuEventCreate", |d| unsafe { put(event, d.event()? as *mut c_void) })
    }
    pub unsafe fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> i32 {
        with("cuEventRecord", |d| d.record(event as u64, stream as u64))
    }
    pub unsafe fn cuEventQuery(event: *mut c_void) -> i32 {
        with("cuEventQuery", |d| d.query(event as u64))
    }
    pub unsafe fn cuEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) -> i32 {
        // SAFETY: as the module says.
        with("cuEventElapsedTime", |d| unsafe { put(milliseconds, d.elapsed(start as u64, end as u64)?) })
    }
    pub unsafe fn cuEventDestroy_v2(event: *mut c_void) -> i32 {
        with("cuEventDestroy_v2", |d| d.stop(event as u64))
    }
}
