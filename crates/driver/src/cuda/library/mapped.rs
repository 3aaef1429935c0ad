//! Host memory that kernels write to: what they wrote is there whatever becomes of them and of their context.
//!
//! # Invariants
//! The memory stays mapped as long as the device may write to it. Misses: a read beside a kernel that runs
//! sees some of its stores and not others.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ptr::null_mut;

use memmap2::MmapMut;

use crate::cuda::library::failure::Failure;
use crate::cuda::library::open::Library;

/// `CU_MEMHOSTREGISTER_PORTABLE` and `…_DEVICEMAP`: every context may use it, and the device gets an address
/// for it.
const DEVICE_MAP: u32 = 1 | 2;

/// `CUDA_ERROR_OUT_OF_MEMORY`.
const OUT_OF_MEMORY: i32 = 2;

/// Host memory that the device reaches, zero at first.
pub struct MappedBuffer {
    library: Library,
    memory: Option<MmapMut>,
    bytes: usize,
    device: u64,
}

impl MappedBuffer {
    /// So many bytes, not 0.
    pub fn new(library: Library, bytes: usize) -> Result<MappedBuffer, Failure> {
        let mut memory =
            MmapMut::map_anon(bytes).map_err(|_| library.failure("cuMemHostRegister_v2", OUT_OF_MEMORY))?;
        let at = memory.as_mut_ptr();
        call!(library.cuMemHostRegister_v2(at.cast(), bytes, DEVICE_MAP))?;
        let mut mapped = MappedBuffer { library, memory: Some(memory), bytes, device: 0 };
        call!(library.cuMemHostGetDevicePointer_v2(&mut mapped.device, at.cast(), 0))?;
        Ok(mapped)
    }

    /// Where the device sees its begin.
    pub fn device(&self) -> u64 {
        self.device
    }

    fn at(&self) -> *const u8 {
        self.memory.as_ref().map_or(null_mut(), |m| m.as_ptr())
    }

    /// What is there from the device's address `at` on; whether all of that is in here.
    pub fn read(&self, at: u64, to: &mut [u8]) -> bool {
        let from = at.checked_sub(self.device).and_then(|n| usize::try_from(n).ok());
        let Some(from) = from.filter(|n| n.checked_add(to.len()).is_some_and(|end| end <= self.bytes)) else {
            return false;
        };
        for (i, byte) in to.iter_mut().enumerate() {
            // SAFETY: within the mapping, as was just seen; volatile, for a kernel may be writing there.
            *byte = unsafe { self.at().add(from + i).read_volatile() };
        }
        true
    }

    /// A copy of so many bytes from there on; `None` where they are not all in here, or there is no room for
    /// them.
    pub fn copy(&self, at: u64, bytes: u64) -> Option<Vec<u8>> {
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
        // Refused after a fault: the driver may still hold the pages, which then stay for as long as the
        // process.
        if call!(library.cuMemHostUnregister(at.cast())).is_err() {
            self.memory.take().into_iter().for_each(std::mem::forget);
        }
    }
}
