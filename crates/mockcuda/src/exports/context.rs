//! The driver itself, its errors, devices and contexts.

use std::ffi::{c_char, c_void};

use prlx_driver::cuda::calls;

use super::pointers::put;
use crate::codes::{code, error};
use crate::device::dispatch::{context_of, on, with};
use crate::device::state::Device;

pub unsafe fn cuInit(flags: u32) -> i32 {
    with("cuInit", |d| if flags == 0 { d.init() } else { Err(code::INVALID_VALUE) })
}

pub unsafe fn cuDriverGetVersion(version: *mut i32) -> i32 {
    // SAFETY: as the module says.
    with("cuDriverGetVersion", |_| unsafe { put(version, VERSION) })
}

/// The version that the mock says it is.
const VERSION: i32 = 13000;

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

pub unsafe fn cuMemGetInfo_v2(free: *mut usize, all: *mut usize) -> i32 {
    with("cuMemGetInfo_v2", |d| {
        d.ready()?;
        let memory = d.memory(0)?;
        // SAFETY: as the module says.
        unsafe {
            put(free, memory)?;
            put(all, memory)
        }
    })
}

pub unsafe fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> i32 {
    // SAFETY: as the module says.
    on(context_of(device), "cuDevicePrimaryCtxRetain", |d| unsafe {
        put(context, d.retain(device)? as *mut c_void)
    })
}

pub unsafe fn cuDevicePrimaryCtxRelease_v2(device: i32) -> i32 {
    on(context_of(device), "cuDevicePrimaryCtxRelease_v2", |d| d.release(device))
}

pub unsafe fn cuDevicePrimaryCtxRelease(device: i32) -> i32 {
    on(context_of(device), "cuDevicePrimaryCtxRelease", |d| d.release(device))
}

pub unsafe fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) -> i32 {
    on(context_of(device), "cuDevicePrimaryCtxGetState", |d| {
        let is = d.active(device)?;
        // SAFETY: as the module says.
        unsafe {
            put(flags, 0)?;
            put(active, i32::from(is))
        }
    })
}

pub unsafe fn cuDevicePrimaryCtxReset_v2(device: i32) -> i32 {
    on(context_of(device), "cuDevicePrimaryCtxReset_v2", |d| d.reset(device))
}

pub unsafe fn cuDevicePrimaryCtxReset(device: i32) -> i32 {
    on(context_of(device), "cuDevicePrimaryCtxReset", |d| d.reset(device))
}

/// Not in the driver's table, for PRLX has no use for it; programs do.
///
/// # Safety
/// `context` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(context: *mut *mut c_void, _flags: u32, device: i32) -> i32 {
    on(context_of(device), "cuCtxCreate_v2", |d| {
        let made = d.create(device)?;
        d.enter(made)?;
        // SAFETY: the caller's promise.
        unsafe { put(context, made as *mut c_void) }
    })
}

pub unsafe fn cuCtxDestroy_v2(context: *mut c_void) -> i32 {
    on(context as u64, "cuCtxDestroy_v2", |d| d.destroy(context as u64))
}

pub unsafe fn cuCtxSetCurrent(context: *mut c_void) -> i32 {
    on(context as u64, "cuCtxSetCurrent", |d| d.enter(context as u64))
}

pub unsafe fn cuCtxSetLimit(limit: i32, _value: usize) -> i32 {
    with("cuCtxSetLimit", |d| match limit {
        // Stacks of the CPU device have no size of their own.
        calls::limit::STACK_SIZE => d.synchronize(),
        _ => Err(code::INVALID_VALUE),
    })
}

pub unsafe fn cuCtxGetCurrent(context: *mut *mut c_void) -> i32 {
    // SAFETY: as the module says.
    with("cuCtxGetCurrent", |_| unsafe { put(context, Device::current() as *mut c_void) })
}

pub unsafe fn cuCtxGetDevice(device: *mut i32) -> i32 {
    with("cuCtxGetDevice", |d| {
        d.ready()?;
        // SAFETY: as the module says.
        unsafe { put(device, d.ordinal()) }
    })
}

pub unsafe fn cuCtxPushCurrent_v2(context: *mut c_void) -> i32 {
    on(context as u64, "cuCtxPushCurrent_v2", |d| d.push(context as u64))
}

pub unsafe fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> i32 {
    with("cuCtxPopCurrent_v2", |d| {
        let popped = d.pop()? as *mut c_void;
        // SAFETY: as the module says; null: nobody wants to know.
        if context.is_null() { Ok(()) } else { unsafe { put(context, popped) } }
    })
}

pub unsafe fn cuCtxSynchronize() -> i32 {
    with("cuCtxSynchronize", |d| d.synchronize())
}

pub unsafe fn cuCtxSynchronize_v2(context: *mut c_void) -> i32 {
    on(context as u64, "cuCtxSynchronize_v2", |d| {
        d.known(context as u64)?;
        d.synchronize()
    })
}
