//! Memory of the host that kernels access in place, as the arrays of a Python program.

#![allow(unsafe_code, reason = "kernels access memory that belongs to the caller")]

use std::ptr::NonNull;

use prlx_driver::{DevicePtr, Error, ErrorKind};

use super::emulator::Emulator;
use crate::mem::{Owner, Region};

/// Where memory of the host may be mapped: from here up to the device's own allocations.
pub const HOST_MEMORY: DevicePtr = DevicePtr(0x1000_0000_0000);

impl Emulator {
    /// Maps `bytes` bytes of the host's memory at the device address `at`; messages call them `name`.
    /// [`Emulator::unmap_host`] ends the mapping.
    ///
    /// # Errors
    /// If `start` is not a multiple of 8, something else is near `at`, or the device's memory limit does not
    /// allow as many bytes.
    ///
    /// # Safety
    /// The memory must stay allocated and writable until it is unmapped or the device is dropped. Other
    /// threads must not access it while a kernel runs.
    pub unsafe fn map_host(
        &mut self,
        at: DevicePtr,
        start: NonNull<u8>,
        bytes: u64,
        name: &str,
    ) -> Result<(), Error> {
        self.require(bytes)?;
        // SAFETY: the caller keeps the memory as long as the mapping, which holds the region.
        let region = unsafe { Region::borrowed(start, bytes) };
        let region = region.ok_or_else(|| {
            Error::new(ErrorKind::Memory, format!("`{name}`: host memory must begin at a multiple of 8"))
        })?;
        if self.memory_mut().map(at.0, region, Owner::User(name.into())) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Memory, format!("`{name}`: something is mapped near {:#x}", at.0)))
    }

    /// Ends a mapping that begins at exactly `at`.
    pub fn unmap_host(&mut self, at: DevicePtr) {
        self.memory_mut().unmap(at.0);
    }
}
