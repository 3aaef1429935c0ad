//! Host memory that kernels can access. Its content survives a fault of the kernel and the loss of the
//! context.
//!
//! # Invariants
//! The memory stays mapped as long as the device may write to it.
//!
//! # Limitations
//! A read while a kernel runs sees some of the kernel's stores and misses others.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ptr::null_mut;

use memmap2::MmapMut;

use crate::cuda::library::open::Library;
use crate::queue::{Failure, HostMemory};

/// Flags of `cuMemHostRegister`: usable in every context, with a device address
/// (`CU_MEMHOSTREGISTER_PORTABLE`, `CU_MEMHOSTREGISTER_DEVICEMAP`).
const DEVICE_MAP: u32 = 1 | 2;

/// Error code for a failed allocation (`CUDA_ERROR_OUT_OF_MEMORY`).
const OUT_OF_MEMORY: i32 = 2;

/// Host memory with a device address, initially zero.
pub struct MappedBuffer {
    library: Library,
    memory: Option<MmapMut>,
    bytes: usize,
    device: u64,
}

impl MappedBuffer {
    /// Allocates `bytes` bytes, which must not be 0.
    pub fn new(library: Library, bytes: usize) -> Result<MappedBuffer, Failure> {
        let mut memory =
            MmapMut::map_anon(bytes).map_err(|_| library.failure("cuMemHostRegister_v2", OUT_OF_MEMORY))?;
        let at = memory.as_mut_ptr();
        call!(library.cuMemHostRegister_v2(at.cast(), bytes, DEVICE_MAP))?;
        let mut mapped = MappedBuffer { library, memory: Some(memory), bytes, device: 0 };
        call!(library.cuMemHostGetDevicePointer_v2(&mut mapped.device, at.cast(), 0))?;
        Ok(mapped)
    }

    fn at(&self) -> *const u8 {
        self.memory.as_ref().map_or(null_mut(), |m| m.as_ptr())
    }

    /// Offset of device address `at`; `None` if not all of the `bytes` bytes there are in this buffer.
    fn offset(&self, at: u64, bytes: usize) -> Option<usize> {
        let from = at.checked_sub(self.device).and_then(|n| usize::try_from(n).ok())?;
        from.checked_add(bytes).filter(|end| *end <= self.bytes).map(|_| from)
    }

    /// The word at device address `at`, a multiple of 8, as the device stored it; `None` if it is not in this
    /// buffer.
    pub fn word(&self, at: u64) -> Option<u64> {
        let from = self.offset(at, 8).filter(|_| at.is_multiple_of(8))?;
        // SAFETY: C4: the mapping lives as long as `self`, and the range was checked above. Mappings begin at
        // multiples of the page size, so the word is aligned. The read is volatile because a kernel may write
        // to the same word.
        Some(u64::from_le(unsafe { self.at().add(from).cast::<u64>().read_volatile() }))
    }

    /// Copies the bytes from device address `at` on into `to`. Returns false if they are not all in this
    /// buffer.
    pub fn read(&self, at: u64, to: &mut [u8]) -> bool {
        let Some(from) = self.offset(at, to.len()) else {
            return false;
        };
        for (i, byte) in to.iter_mut().enumerate() {
            // SAFETY: C4: the mapping lives as long as `self`, and the range was checked above. The read is
            // volatile because a kernel may write to the same bytes.
            *byte = unsafe { self.at().add(from + i).read_volatile() };
        }
        true
    }
}

impl HostMemory for MappedBuffer {
    fn device(&self) -> u64 {
        self.device
    }

    fn copy(&self, at: u64, bytes: u64) -> Option<Vec<u8>> {
        let bytes = usize::try_from(bytes).ok()?;
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes).ok()?;
        copy.resize(bytes, 0);
        self.read(at, &mut copy).then_some(copy)
    }
}

impl Drop for MappedBuffer {
    fn drop(&mut self) {
        let library = self.library;
        let at = self.at().cast_mut();
        // After a fault the driver refuses, and may still hold the pages. They then stay mapped until the
        // process ends.
        if call!(library.cuMemHostUnregister(at.cast())).is_err() {
            self.memory.take().into_iter().for_each(std::mem::forget);
        }
    }
}
