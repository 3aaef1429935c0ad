//! Memory, on the device and on the host, and copies.

use std::ffi::c_void;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use prlx_driver::DevicePtr;
use prlx_driver::cuda::TiledMapCall;
use prlx_driver::cuda::calls::pointer;

use super::pointers::put;
use crate::codes::code;
use crate::device::dispatch::with;
use crate::work::{HostBytes, Work};

pub unsafe fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> i32 {
    // SAFETY: `at` is an output of this call (E1, E2).
    with("cuMemAlloc_v2", |d| unsafe { put(at, d.alloc(bytes)?) })
}
pub unsafe fn cuMemFree_v2(at: u64) -> i32 {
    with("cuMemFree_v2", |d| d.free(at))
}
pub unsafe fn cuMemAllocAsync(at: *mut u64, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemAllocAsync", |d| {
        let stream = d.stream(stream as u64, false)?;
        if d.streams.all[&stream].capture.is_some() {
            return Err(code::NOT_SUPPORTED);
        }
        // SAFETY: `at` is an output of this call (E1, E2).
        unsafe { put(at, d.alloc_during_capture(bytes)?) }
    })
}
pub unsafe fn cuMemFreeAsync(at: u64, stream: *mut c_void) -> i32 {
    free_async("cuMemFreeAsync", at, stream, false)
}
pub unsafe fn cuMemFreeAsync_ptsz(at: u64, stream: *mut c_void) -> i32 {
    free_async("cuMemFreeAsync_ptsz", at, stream, true)
}
fn free_async(name: &'static str, at: u64, stream: *mut c_void, per_thread: bool) -> i32 {
    with(name, |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, per_thread)?;
        d.check_allocated(at, 1)?;
        d.put(stream, Work::Free(at))
    })
}
// The device has no memory pools, no address ranges without memory, and none of other processes.
pub unsafe fn cuMemPoolTrimTo(_: *mut c_void, _: usize) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuMemPoolDestroy(_: *mut c_void) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuMemUnmap(_: u64, _: usize) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuIpcCloseMemHandle(_: u64) -> i32 {
    code::NOT_SUPPORTED
}
pub unsafe fn cuMemHostAlloc(at: *mut *mut c_void, bytes: usize, _: u32) -> i32 {
    // SAFETY: `at` is an output of this call (E1, E2).
    with("cuMemHostAlloc", |d| unsafe { put(at, d.pin(bytes)? as *mut c_void) })
}
pub unsafe fn cuMemHostRegister_v2(at: *mut c_void, bytes: usize, _: u32) -> i32 {
    with("cuMemHostRegister_v2", |d| d.register(at.expose_provenance(), bytes))
}
pub unsafe fn cuMemHostGetDevicePointer_v2(to: *mut u64, at: *mut c_void, _: u32) -> i32 {
    // SAFETY: `to` is an output of this call (E1, E2).
    with("cuMemHostGetDevicePointer_v2", |d| unsafe { put(to, d.registered(at.addr())?) })
}
pub unsafe fn cuMemHostUnregister(at: *mut c_void) -> i32 {
    with("cuMemHostUnregister", |d| d.unregister(at.addr()))
}
pub unsafe fn cuPointerGetAttributes(
    count: u32,
    attributes: *mut i32,
    data: *mut *mut c_void,
    at: u64,
) -> i32 {
    with("cuPointerGetAttributes", |d| {
        d.ready()?;
        let found = d.emulator.allocation(DevicePtr(at));
        let (start, size) = found.map_or((0, 0), |(start, size)| (start.0, size));
        let known = u32::from(found.is_some());
        let kind = if d.is_registered(start) { pointer::HOST } else { pointer::DEVICE };
        // SAFETY: there are `count` attributes and as many outputs (E1).
        let asked = unsafe {
            from_raw_parts(attributes, count as usize).iter().zip(from_raw_parts(data, count as usize))
        };
        for (attribute, to) in asked {
            // SAFETY: `to` is an output of the type that cuda.h gives this attribute (E1, E2).
            unsafe {
                match *attribute {
                    pointer::MEMORY_TYPE => put(to.cast(), kind * known)?,
                    pointer::IS_MANAGED => put(to.cast(), 0u8)?,
                    pointer::DEVICE_ORDINAL => put(to.cast(), if known == 1 { d.ordinal() } else { -2 })?,
                    pointer::RANGE_START | pointer::MAPPING_START => put(to.cast(), start)?,
                    pointer::RANGE_SIZE | pointer::MAPPING_SIZE => put(to.cast(), size)?,
                    pointer::MAPPED => put(to.cast(), known as u8)?,
                    // Read and write.
                    pointer::ACCESS_FLAGS => put(to.cast(), 3 * known)?,
                    _ => return Err(code::INVALID_VALUE),
                }
            }
        }
        Ok(())
    })
}
pub unsafe fn cuMemFreeHost(at: *mut c_void) -> i32 {
    with("cuMemFreeHost", |d| d.unpin(at as u64))
}
pub unsafe fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> i32 {
    // SAFETY: `from` has `bytes` readable bytes (E1).
    with("cuMemcpyHtoD_v2", |d| d.write(to, unsafe { from_raw_parts(from.cast(), bytes) }))
}
pub unsafe fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> i32 {
    // SAFETY: `to` has `bytes` writable bytes (E1), which the caller has initialised.
    with("cuMemcpyDtoH_v2", |d| d.read(from, unsafe { from_raw_parts_mut(to.cast(), bytes) }))
}
pub unsafe fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemcpyHtoDAsync_v2", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.check_allocated(to, bytes)?;
        // The device reads pinned memory when the copy runs. Other memory is copied now. A graph reads it at
        // each launch.
        let late = d.is_pinned(from as u64, bytes) || d.streams.all[&stream].capture.is_some();
        let bytes = match late {
            true => HostBytes::At(from.expose_provenance(), bytes),
            // SAFETY: `from` has `bytes` readable bytes (E1).
            false => HostBytes::Copied(unsafe { from_raw_parts(from.cast(), bytes) }.to_vec()),
        };
        d.put(stream, Work::Write { to, bytes })
    })
}
pub unsafe fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemcpyDtoHAsync_v2", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.check_allocated(from, bytes)?;
        let late = d.is_pinned(to as u64, bytes) || d.streams.all[&stream].capture.is_some();
        // Memory that is not pinned is written before the call returns.
        if !late {
            d.wait_for(stream, u64::MAX)?;
        }
        d.put(stream, Work::Read { to: to.expose_provenance(), from, bytes })?;
        if !late {
            d.finish(stream, u64::MAX);
        }
        Ok(())
    })
}
pub unsafe fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemcpyDtoDAsync_v2", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.check_allocated(from, bytes)?;
        d.check_allocated(to, bytes)?;
        d.put(stream, Work::Copy { to, from, bytes })
    })
}
pub unsafe fn cuMemsetD8_v2(to: u64, value: u8, bytes: usize) -> i32 {
    with("cuMemsetD8_v2", |d| d.fill(to, value, bytes))
}
pub unsafe fn cuMemsetD8Async(to: u64, value: u8, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemsetD8Async", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.check_allocated(to, bytes)?;
        d.put(stream, Work::Fill { to, value, bytes })
    })
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
        let call = TiledMapCall { element, rank, sizes, strides, tile, steps, interleave, swizzle, fill };
        // SAFETY: each array has as many numbers as cuda.h says (E1).
        let map = unsafe { call.map() }.filter(|_| (to as usize).is_multiple_of(64));
        let map = map.ok_or(code::INVALID_VALUE)?;
        // SAFETY: `to` is an output of 128 bytes (E1, E2).
        unsafe { put(to.cast(), d.tensor_map(at as u64, &map)?) }
    })
}
