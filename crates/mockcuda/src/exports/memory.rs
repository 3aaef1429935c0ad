//! Memory, on the device and on the host, and copies.

use std::ffi::c_void;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use prlx_driver::DevicePtr;
use prlx_driver::cuda::calls::{self, pointer};
use prlx_driver::tensor_map::{Swizzle, TensorMap};
use prlx_trace::kernel::Scalar;

use super::pointers::put;
use crate::codes::code;
use crate::device::dispatch::with;
use crate::work::Host;
use crate::work::Work;

pub unsafe fn cuMemAlloc_v2(at: *mut u64, bytes: usize) -> i32 {
    // SAFETY: as the module says.
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
        // SAFETY: as the module says.
        unsafe { put(at, d.take(bytes)?) }
    })
}
pub unsafe fn cuMemFreeAsync(at: u64, stream: *mut c_void) -> i32 {
    with("cuMemFreeAsync", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.allocated(at, 1)?;
        d.put(stream, Work::Free(at))
    })
}
pub unsafe fn cuMemHostAlloc(at: *mut *mut c_void, bytes: usize, _: u32) -> i32 {
    // SAFETY: as the module says.
    with("cuMemHostAlloc", |d| unsafe { put(at, d.pin(bytes)? as *mut c_void) })
}
pub unsafe fn cuMemHostRegister_v2(at: *mut c_void, bytes: usize, _: u32) -> i32 {
    with("cuMemHostRegister_v2", |d| d.register(at.expose_provenance(), bytes))
}
pub unsafe fn cuMemHostGetDevicePointer_v2(to: *mut u64, at: *mut c_void, _: u32) -> i32 {
    // SAFETY: as the module says.
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
        let held = u32::from(found.is_some());
        // SAFETY: as the module says: `count` of both, with places as large as each attribute is.
        let asked = unsafe {
            from_raw_parts(attributes, count as usize).iter().zip(from_raw_parts(data, count as usize))
        };
        for (attribute, to) in asked {
            // SAFETY: as above.
            unsafe {
                match *attribute {
                    pointer::MEMORY_TYPE => put(to.cast(), pointer::DEVICE * held)?,
                    pointer::IS_MANAGED => put(to.cast(), 0u8)?,
                    pointer::DEVICE_ORDINAL => put(to.cast(), if held == 1 { d.ordinal() } else { -2 })?,
                    pointer::RANGE_START | pointer::MAPPING_START => put(to.cast(), start)?,
                    pointer::RANGE_SIZE | pointer::MAPPING_SIZE => put(to.cast(), size)?,
                    pointer::MAPPED => put(to.cast(), held as u8)?,
                    // Read and write.
                    pointer::ACCESS_FLAGS => put(to.cast(), 3 * held)?,
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
    // SAFETY: as the module says: so many bytes.
    with("cuMemcpyHtoD_v2", |d| d.write(to, unsafe { from_raw_parts(from.cast(), bytes) }))
}
pub unsafe fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> i32 {
    // SAFETY: as the module says: so many bytes, which the caller has initialised.
    with("cuMemcpyDtoH_v2", |d| d.read(from, unsafe { from_raw_parts_mut(to.cast(), bytes) }))
}
pub unsafe fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemcpyHtoDAsync_v2", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.allocated(to, bytes)?;
        // Memory that the device reaches is read when it is time; other memory is copied at once. A graph
        // reads it each time.
        let late = d.is_pinned(from as u64, bytes) || d.streams.all[&stream].capture.is_some();
        let bytes = match late {
            true => Host::At(from.expose_provenance(), bytes),
            // SAFETY: as the module says: so many bytes.
            false => Host::Copied(unsafe { from_raw_parts(from.cast(), bytes) }.to_vec()),
        };
        d.put(stream, Work::Write { to, bytes })
    })
}
pub unsafe fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, bytes: usize, stream: *mut c_void) -> i32 {
    with("cuMemcpyDtoHAsync_v2", |d| {
        d.ready()?;
        let stream = d.stream(stream as u64, false)?;
        d.allocated(from, bytes)?;
        let late = d.is_pinned(to as u64, bytes) || d.streams.all[&stream].capture.is_some();
        // Memory that the device does not reach is written before the call returns.
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
        d.allocated(from, bytes)?;
        d.allocated(to, bytes)?;
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
        d.allocated(to, bytes)?;
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
