//! Contexts: one for each device, and the calling thread's stack of contexts.

use prlx_driver::{DevicePtr, Driver};

use crate::codes::{Result, code};
use crate::device::state::{CURRENT, Device};
use crate::streams::data::Streams;

impl Device {
    pub fn retain(&mut self, device: i32) -> Result<u64> {
        self.device(device)?;
        self.retained += 1;
        Ok(self.context())
    }

    /// The last one destroys it, with all that is in it.
    pub fn release(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.retained = self.retained.checked_sub(1).ok_or(code::INVALID_CONTEXT)?;
        if self.retained == 0 { self.reset(device) } else { Ok(()) }
    }

    /// Whether there is a primary context.
    pub fn active(&self, device: i32) -> Result<bool> {
        self.device(device).map(|_| self.retained > 0 && !self.created)
    }

    /// A context of the program's own, where there is none yet: it stands for the device's primary one.
    pub fn create(&mut self, device: i32) -> Result<u64> {
        self.device(device)?;
        if self.retained > 0 {
            return Err(code::INVALID_CONTEXT);
        }
        (self.created, self.retained) = (true, 1);
        Ok(self.context())
    }

    /// Destroys a context of the program's own, with all that is in it; never the primary one.
    pub fn destroy(&mut self, context: u64) -> Result<()> {
        self.known(context)?;
        if !std::mem::take(&mut self.created) {
            return Err(code::INVALID_CONTEXT);
        }
        self.retained = 0;
        self.reset(self.ordinal())
    }

    /// Destroys what is in the context.
    pub fn reset(&mut self, device: i32) -> Result<()> {
        self.device(device)?;
        self.graphs_gone();
        self.streams = Streams::new(self.streams.slow);
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
        self.dead = None;
        Ok(())
    }

    pub fn known(&self, context: u64) -> Result<()> {
        Device::started()?;
        if context == 0 || context == self.context() && self.retained > 0 {
            Ok(())
        } else {
            Err(code::INVALID_CONTEXT)
        }
    }

    pub fn enter(&self, context: u64) -> Result<()> {
        self.known(context)?;
        CURRENT.with_borrow_mut(|c| {
            c.pop();
            c.push(context);
        });
        Ok(())
    }

    pub fn push(&self, context: u64) -> Result<()> {
        self.known(context)?;
        CURRENT.with_borrow_mut(|c| c.push(context));
        Ok(())
    }

    pub fn pop(&self) -> Result<u64> {
        Device::started()?;
        CURRENT.with_borrow_mut(|c| c.pop()).ok_or(code::INVALID_CONTEXT)
    }

    pub fn synchronize(&mut self) -> Result<()> {
        self.ready()?;
        if self.capturing() {
            self.unsafe_call()?;
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        self.wait_for_all()?;
        self.ready()
    }
}
