//! The driver itself, its errors, devices and contexts.

use std::ffi::{c_char, c_void};

use prlx_driver::cuda::calls;

use super::pointers::put;
use crate::codes::{code, error};
use crate::device::dispatch::{context_of, on_device, with};
use crate::device::state::Device;

pub unsafe fn cuInit(flags: u32) -> i32 {
    with("cuInit", |d| if flags == 0 { d.init() } else { Err(code::INVALID_VALUE) })
}

pub unsafe fn cuDriverGetVersion(version: *mut i32) -> i32 {
    // SAFETY: `version` is an output of this call (E1, E2).
    with("cuDriverGetVersion", |_| unsafe { put(version, VERSION) })
}

/// The CUDA version that the mock reports (13.0).
const VERSION: i32 = 13000;

pub unsafe fn cuGetErrorName(number: i32, to: *mut *const c_char) -> i32 {
    let name = error(number).map(|e| e[0].as_ptr()).ok_or(code::INVALID_VALUE);
    // SAFETY: `to` is an output of this call (E1, E2).
    name.and_then(|name| unsafe { put(to, name) }).err().unwrap_or(0)
}

pub unsafe fn cuGetErrorString(number: i32, to: *mut *const c_char) -> i32 {
    let text = error(number).map(|e| e[1].as_ptr()).ok_or(code::INVALID_VALUE);
    // SAFETY: `to` is an output of this call (E1, E2).
    text.and_then(|text| unsafe { put(to, text) }).err().unwrap_or(0)
}

pub unsafe fn cuDeviceGetCount(count: *mut i32) -> i32 {
    // SAFETY: `count` is an output of this call (E1, E2).
    with("cuDeviceGetCount", |d| unsafe { put(count, d.count()?) })
}

pub unsafe fn cuDeviceGet(device: *mut i32, ordinal: i32) -> i32 {
    // SAFETY: `device` is an output of this call (E1, E2).
    with("cuDeviceGet", |d| unsafe { put(device, d.device(ordinal)?) })
}

pub unsafe fn cuDeviceGetName(name: *mut c_char, len: i32, device: i32) -> i32 {
    with("cuDeviceGetName", |d| {
        let text = d.name(device)?.bytes().take(usize::try_from(len).unwrap_or(0).saturating_sub(1));
        for (i, byte) in text.chain([0]).enumerate() {
            // SAFETY: `name` has `len` bytes, and no more are written (E1, E2).
            unsafe { put(name.wrapping_add(i), byte as c_char)? };
        }
        Ok(())
    })
}

pub unsafe fn cuDeviceGetAttribute(value: *mut i32, attribute: i32, device: i32) -> i32 {
    // SAFETY: `value` is an output of this call (E1, E2).
    with("cuDeviceGetAttribute", |d| unsafe { put(value, d.attribute(attribute, device)?) })
}

pub unsafe fn cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) -> i32 {
    // SAFETY: `bytes` is an output of this call (E1, E2).
    with("cuDeviceTotalMem_v2", |d| unsafe { put(bytes, d.memory(device)?) })
}

/// Memory that is free, as if other programs had the rest. A recorder takes a part of what is free, and here
/// that is the host's, which takes long to zero.
const FREE: usize = 2 << 30;

pub unsafe fn cuMemGetInfo_v2(free: *mut usize, all: *mut usize) -> i32 {
    with("cuMemGetInfo_v2", |d| {
        d.ready()?;
        let memory = d.memory(0)?;
        // SAFETY: `free` and `all` are outputs of this call (E1, E2).
        unsafe {
            put(free, memory.min(FREE))?;
            put(all, memory)
        }
    })
}

pub unsafe fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: i32) -> i32 {
    // SAFETY: `context` is an output of this call (E1, E2).
    on_device(context_of(device), "cuDevicePrimaryCtxRetain", |d| unsafe {
        put(context, d.retain(device)? as *mut c_void)
    })
}

pub unsafe fn cuDevicePrimaryCtxRelease_v2(device: i32) -> i32 {
    on_device(context_of(device), "cuDevicePrimaryCtxRelease_v2", |d| d.release(device))
}

pub unsafe fn cuDevicePrimaryCtxRelease(device: i32) -> i32 {
    on_device(context_of(device), "cuDevicePrimaryCtxRelease", |d| d.release(device))
}

pub unsafe fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) -> i32 {
    on_device(context_of(device), "cuDevicePrimaryCtxGetState", |d| {
        let is = d.active(device)?;
        // SAFETY: `flags` and `active` are outputs of this call (E1, E2).
        unsafe {
            put(flags, 0)?;
            put(active, i32::from(is))
        }
    })
}

pub unsafe fn cuDevicePrimaryCtxReset_v2(device: i32) -> i32 {
    on_device(context_of(device), "cuDevicePrimaryCtxReset_v2", |d| d.reset(device))
}

pub unsafe fn cuDevicePrimaryCtxReset(device: i32) -> i32 {
    on_device(context_of(device), "cuDevicePrimaryCtxReset", |d| d.reset(device))
}

/// `cuCtxCreate_v2`, for programs. PRLX does not call it, so the driver's table does not have it.
///
/// # Safety
/// `context` is null or points to a writable pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxCreate_v2(context: *mut *mut c_void, _flags: u32, device: i32) -> i32 {
    on_device(context_of(device), "cuCtxCreate_v2", |d| {
        let created = d.create(device)?;
        d.enter(created)?;
        // SAFETY: `context` is an output (E2), as the caller promises.
        unsafe { put(context, created as *mut c_void) }
    })
}

pub unsafe fn cuCtxDestroy_v2(context: *mut c_void) -> i32 {
    on_device(context as u64, "cuCtxDestroy_v2", |d| d.destroy(context as u64))
}

pub unsafe fn cuCtxSetCurrent(context: *mut c_void) -> i32 {
    on_device(context as u64, "cuCtxSetCurrent", |d| d.enter(context as u64))
}

pub unsafe fn cuCtxSetLimit(limit: i32, _value: usize) -> i32 {
    with("cuCtxSetLimit", |d| match limit {
        // Stacks of the CPU device have no size of their own.
        calls::limit::STACK_SIZE => d.synchronize(),
        _ => Err(code::INVALID_VALUE),
    })
}

pub unsafe fn cuCtxGetCurrent(context: *mut *mut c_void) -> i32 {
    // SAFETY: `context` is an output of this call (E1, E2).
    with("cuCtxGetCurrent", |_| unsafe { put(context, Device::current() as *mut c_void) })
}

pub unsafe fn cuCtxGetDevice(device: *mut i32) -> i32 {
    with("cuCtxGetDevice", |d| {
        d.ready()?;
        // SAFETY: `device` is an output of this call (E1, E2).
        unsafe { put(device, d.ordinal()) }
    })
}

pub unsafe fn cuCtxPushCurrent_v2(context: *mut c_void) -> i32 {
    on_device(context as u64, "cuCtxPushCurrent_v2", |d| d.push(context as u64))
}

pub unsafe fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> i32 {
    with("cuCtxPopCurrent_v2", |d| {
        let popped = d.pop()? as *mut c_void;
        // SAFETY: `context` is null or an output (E1, E2).
        if context.is_null() { Ok(()) } else { unsafe { put(context, popped) } }
    })
}

pub unsafe fn cuCtxSynchronize() -> i32 {
    with("cuCtxSynchronize", |d| d.synchronize())
}

pub unsafe fn cuCtxSynchronize_v2(context: *mut c_void) -> i32 {
    on_device(context as u64, "cuCtxSynchronize_v2", |d| {
        d.check_context(context as u64)?;
        d.synchronize()
    })
}
