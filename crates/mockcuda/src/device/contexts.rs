//! Contexts: one for each device, and the calling thread's stack of contexts.

use prlx_driver::{DevicePtr, Driver};

use crate::codes::{Result, code};
use crate::device::state::{CURRENT, Device};
use crate::streams::data::Streams;

impl Device {
    /// Retains the primary context and returns it (`cuDevicePrimaryCtxRetain`).
    pub fn retain(&mut self, device: i32) -> Result<u64> {
        self.device(device)?;
        self.retained += 1;
        Ok(self.context())
    }

    /// Releases the primary context. The last release destroys everything in it.
    pub fn release(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.retained = self.retained.checked_sub(1).ok_or(code::INVALID_CONTEXT)?;
        if self.retained == 0 { self.reset(device) } else { Ok(()) }
    }

    /// Whether the primary context exists.
    pub fn active(&self, device: i32) -> Result<bool> {
        self.device(device).map(|_| self.retained > 0 && !self.owned_by_program)
    }

    /// Creates a context (`cuCtxCreate`), if the device has none. It takes the place of the primary context.
    pub fn create(&mut self, device: i32) -> Result<u64> {
        self.device(device)?;
        if self.retained > 0 {
            return Err(code::INVALID_CONTEXT);
        }
        (self.owned_by_program, self.retained) = (true, 1);
        Ok(self.context())
    }

    /// Destroys a context that the program created, with everything in it. Refuses the primary context.
    pub fn destroy(&mut self, context: u64) -> Result<()> {
        self.check_context(context)?;
        if !std::mem::take(&mut self.owned_by_program) {
            return Err(code::INVALID_CONTEXT);
        }
        self.retained = 0;
        self.reset(self.ordinal())
    }

    /// Destroys everything in the context.
    pub fn reset(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.clear_graphs();
        self.streams = Streams::new(self.streams.min_kernel_time);
        for (_, module) in std::mem::take(&mut self.modules) {
            let _ = self.emulator.unload(module);
        }
        for at in std::mem::take(&mut self.allocated) {
            let _ = self.emulator.free(DevicePtr(at));
        }
        self.functions.clear();
        self.libraries.clear();
        self.kernels.clear();
        self.pinned.clear();
        self.registered.clear();
        self.sticky_error = None;
        Ok(())
    }

    /// Fails unless `context` is 0 or the device's context.
    pub fn check_context(&self, context: u64) -> Result<()> {
        Device::check_started()?;
        if context == 0 || context == self.context() && self.retained > 0 {
            Ok(())
        } else {
            Err(code::INVALID_CONTEXT)
        }
    }

    /// Makes a context the thread's current one (`cuCtxSetCurrent`).
    pub fn enter(&self, context: u64) -> Result<()> {
        self.check_context(context)?;
        CURRENT.with_borrow_mut(|c| {
            c.pop();
            c.push(context);
        });
        Ok(())
    }

    /// Pushes a context onto the thread's stack.
    pub fn push(&self, context: u64) -> Result<()> {
        self.check_context(context)?;
        CURRENT.with_borrow_mut(|c| c.push(context));
        Ok(())
    }

    /// Pops the thread's current context and returns it.
    pub fn pop(&self) -> Result<u64> {
        Device::check_started()?;
        CURRENT.with_borrow_mut(|c| c.pop()).ok_or(code::INVALID_CONTEXT)
    }

    /// Waits for all work of the context.
    pub fn synchronize(&mut self) -> Result<()> {
        self.ready()?;
        if self.capturing() {
            self.unsafe_during_capture()?;
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        self.wait_for_all()?;
        self.ready()
    }
}
