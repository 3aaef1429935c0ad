//! Memory of the device, and host memory that the device reaches.

use prlx_driver::{DevicePtr, Driver, TensorMap};

use crate::codes::code;
use crate::codes::{Result, of};
use crate::device::state::Device;
use crate::work::Work;

impl Device {
    pub fn alloc(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        self.unsafe_call()?;
        self.take(bytes)
    }

    /// Allocates, whatever is captured.
    pub fn take(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let at = self.emulator.alloc(bytes as u64, 256).map_err(|e| of(&e))?.0;
        self.allocated.insert(at);
        Ok(at)
    }

    pub fn free(&mut self, at: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        if !self.allocated.contains(&at) {
            return Err(code::INVALID_VALUE);
        }
        self.wait_for_all()?;
        self.give_back(at)
    }

    pub(crate) fn give_back(&mut self, at: u64) -> Result<()> {
        if !self.allocated.remove(&at) {
            return Err(code::INVALID_VALUE);
        }
        self.emulator.free(DevicePtr(at)).map_err(|e| of(&e))
    }

    /// Copies of the host wait as the legacy stream does.
    fn at_once(&mut self) -> Result<()> {
        self.ready()?;
        self.implicit()?;
        self.unsafe_call()?;
        let legacy = self.stream(0, false)?;
        self.put(legacy, Work::Nothing)?;
        self.wait_for(legacy, u64::MAX)?;
        self.ready()
    }

    pub fn write(&mut self, to: u64, bytes: &[u8]) -> Result<()> {
        self.at_once()?;
        self.emulator.write(DevicePtr(to), bytes).map_err(|_| code::INVALID_VALUE)
    }

    pub fn read(&mut self, from: u64, bytes: &mut [u8]) -> Result<()> {
        self.at_once()?;
        self.emulator.read(DevicePtr(from), bytes).map_err(|_| code::INVALID_VALUE)
    }

    pub fn tensor_map(&mut self, at: u64, map: &TensorMap) -> Result<[u8; 128]> {
        self.ready()?;
        self.emulator.tensor_map(DevicePtr(at), map).map_err(|_| code::INVALID_VALUE)
    }

    pub fn fill(&mut self, to: u64, value: u8, bytes: usize) -> Result<()> {
        self.at_once()?;
        self.emulator.fill(DevicePtr(to), bytes as u64, value).map_err(|_| code::INVALID_VALUE)
    }

    /// Whether all of it is memory of the device.
    pub fn allocated(&mut self, at: u64, bytes: usize) -> Result<()> {
        let last = at.wrapping_add((bytes as u64).saturating_sub(1));
        let mut held = |at: u64| self.emulator.read(DevicePtr(at), &mut [0]).is_ok();
        if held(at) && held(last) { Ok(()) } else { Err(code::INVALID_VALUE) }
    }

    pub fn pin(&mut self, bytes: usize) -> Result<u64> {
        self.ready()?;
        self.unsafe_call()?;
        let memory = vec![0u128; bytes.div_ceil(16).max(1)].into_boxed_slice();
        let at = memory.as_ptr() as u64;
        self.pinned.insert(at, memory);
        Ok(at)
    }

    pub fn unpin(&mut self, at: u64) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        self.wait_for_all()?;
        self.pinned.remove(&at).map(drop).ok_or(code::INVALID_VALUE)
    }

    /// Host memory from `at` on is the device's too. It counts as zeros.
    pub fn register(&mut self, at: usize, bytes: usize) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        let held = self.emulator.alloc(bytes.max(1) as u64, 1 << 12).map_err(|e| of(&e))?;
        self.emulator.fill(held, bytes as u64, 0).map_err(|e| of(&e))?;
        self.registered.insert(at, (held, bytes));
        Ok(())
    }

    pub fn registered(&self, at: usize) -> Result<u64> {
        self.ready()?;
        self.registered.get(&at).map(|(held, _)| held.0).ok_or(code::INVALID_VALUE)
    }

    pub fn unregister(&mut self, at: usize) -> Result<()> {
        self.ready()?;
        self.unsafe_call()?;
        self.wait_for_all()?;
        let (held, _) = self.registered.remove(&at).ok_or(code::INVALID_VALUE)?;
        self.emulator.free(held).map_err(|e| of(&e))
    }

    pub fn is_pinned(&self, at: u64, bytes: usize) -> bool {
        let below = self.pinned.range(..=at).next_back();
        below.is_some_and(|(from, memory)| at + bytes as u64 <= from + memory.len() as u64 * 16)
    }
}
