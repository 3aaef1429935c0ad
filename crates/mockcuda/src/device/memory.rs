//! Memory of the device, and host memory that the device reaches.

use prlx_driver::{DevicePtr, Driver, TensorMap};

use crate::codes::code;
use crate::codes::{Result, code_of};
use crate::device::state::Device;
use crate::work::Work;

impl Device {
    /// Allocates device memory. Breaks a capture that allows no such call.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        self.unsafe_during_capture()?;
        self.alloc_during_capture(bytes)
    }

    /// Allocates device memory, also while a stream is captured.
    pub fn alloc_during_capture(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let at = self.emulator.alloc(bytes as u64, 256).map_err(|e| code_of(&e))?.0;
        self.allocated.insert(at);
        Ok(at)
    }

    /// Frees device memory after all work is done.
    pub fn free(&mut self, at: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_during_capture()?;
        if !self.allocated.contains(&at) {
            return Err(code::INVALID_VALUE);
        }
        self.wait_for_all()?;
        self.free_now(at)
    }

    /// Frees device memory without waiting.
    pub(crate) fn free_now(&mut self, at: u64) -> Result<()> {
        if !self.allocated.remove(&at) {
            return Err(code::INVALID_VALUE);
        }
        self.emulator.free(DevicePtr(at)).map_err(|e| code_of(&e))
    }

    /// Waits as a blocking copy does: for the legacy stream, and what that waits for.
    fn wait_for_legacy_stream(&mut self) -> Result<()> {
        self.ready()?;
        self.implicit()?;
        self.unsafe_during_capture()?;
        let legacy = self.stream(0, false)?;
        self.put(legacy, Work::Nothing)?;
        self.wait_for(legacy, u64::MAX)?;
        self.ready()
    }

    /// Copies host bytes to the device, after waiting.
    pub fn write(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        self.wait_for_legacy_stream()?;
        self.emulator.write(DevicePtr(to), bytes).map_err(|_| code::INVALID_VALUE)
    }

    /// Copies device bytes to the host, after waiting.
    pub fn read(&mut self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.wait_for_legacy_stream()?;
        self.emulator.read(DevicePtr(from), bytes).map_err(|_| code::INVALID_VALUE)
    }

    /// Encodes a tensor map of memory at `at`.
    pub fn tensor_map(&mut self, at: u64, map: &TensorMap) -> Result<[u8; 128]> {
        self.ready()?;
        self.emulator.tensor_map(DevicePtr(at), map).map_err(|_| code::INVALID_VALUE)
    }

    /// Sets device bytes, after waiting.
    pub fn fill(&mut self, to: u64, value: u8, bytes: usize) -> Result<()> {
        self.wait_for_legacy_stream()?;
        self.emulator.fill(DevicePtr(to), bytes as u64, value).map_err(|_| code::INVALID_VALUE)
    }

    /// Fails unless first and last byte are memory of the device.
    pub fn check_allocated(&mut self, at: u64, bytes: usize) -> Result<()> {
        let last = at.wrapping_add((bytes as u64).saturating_sub(1));
        let mut readable = |at: u64| self.emulator.read(DevicePtr(at), &mut [0]).is_ok();
        if readable(at) && readable(last) { Ok(()) } else { Err(code::INVALID_VALUE) }
    }

    /// Allocates pinned host memory and returns its address.
    pub fn pin(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        self.unsafe_during_capture()?;
        let memory = vec![0u128; bytes.div_ceil(16).max(1)].into_boxed_slice();
        let at = memory.as_ptr() as u64;
        self.pinned.insert(at, memory);
        Ok(at)
    }

    /// Frees pinned host memory after all work is done.
    pub fn unpin(&mut self, at: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_during_capture()?;
        self.wait_for_all()?;
        self.pinned.remove(&at).map(drop).ok_or(code::INVALID_VALUE)
    }

    /// Registers host memory. The device sees zeros there at first, whatever the host memory contains.
    pub fn register(&mut self, at: usize, bytes: usize) -> Result<()> {
        self.ready()?;
        self.unsafe_during_capture()?;
        let memory = self.emulator.alloc(bytes.max(1) as u64, 1 << 12).map_err(|e| code_of(&e))?;
        self.emulator.fill(memory, bytes as u64, 0).map_err(|e| code_of(&e))?;
        self.registered.insert(at, (memory, bytes));
        Ok(())
    }

    /// Device address of registered host memory.
    pub fn registered(&self, at: usize) -> Result<u64> {
        self.ready()?;
        self.registered.get(&at).map(|(memory, _)| memory.0).ok_or(code::INVALID_VALUE)
    }

    /// Whether an allocation of the device stands for registered host memory.
    pub fn is_registered(&self, at: u64) -> bool {
        self.registered.values().any(|(memory, _)| memory.0 == at)
    }

    /// Ends the registration of host memory after all work is done.
    pub fn unregister(&mut self, at: usize) -> Result<()> {
        self.ready()?;
        self.unsafe_during_capture()?;
        self.wait_for_all()?;
        let (memory, _) = self.registered.remove(&at).ok_or(code::INVALID_VALUE)?;
        self.emulator.free(memory).map_err(|e| code_of(&e))
    }

    /// Whether these host bytes lie in one pinned allocation.
    pub fn is_pinned(&self, at: u64, bytes: usize) -> bool {
        let below = self.pinned.range(..=at).next_back();
        below.is_some_and(|(from, memory)| at + bytes as u64 <= from + memory.len() as u64 * 16)
    }
}
