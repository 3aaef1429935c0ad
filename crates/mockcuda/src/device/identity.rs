//! Starting the driver, and what devices report about themselves.

use std::sync::atomic::Ordering;

use prlx_driver::cuda::calls::attribute;

use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::{DEVICES, OWNER};
use crate::device::state::{Device, SHARED_OPTIN, STARTED, THREADS};

impl Device {
    pub fn init(&mut self) -> Result<()> {
        OWNER.get_or_init(std::process::id);
        STARTED.store(true, Ordering::Release);
        Ok(())
    }

    pub fn count(&self) -> Result<i32> {
        Device::started().map(|()| DEVICES.len() as i32)
    }

    pub fn device(&self, ordinal: i32) -> Result<i32> {
        Device::started()?;
        let known = usize::try_from(ordinal).is_ok_and(|i| i < DEVICES.len());
        if known { Ok(ordinal) } else { Err(code::INVALID_DEVICE) }
    }

    pub fn name(&self, device: i32) -> Result<&'static str> {
        self.device(device).map(|_| "mock device")
    }

    pub fn attribute(&self, attribute: i32, device: i32) -> Result<i32> {
        self.device(device)?;
        match attribute {
            attribute::WARP_SIZE => Ok(32),
            attribute::THREADS => Ok(THREADS as i32),
            attribute::PROCESSORS => Ok(4),
            attribute::MAJOR => Ok(self.capability.0),
            attribute::MINOR => Ok(self.capability.1),
            attribute::MAX_SHARED_OPTIN => Ok(SHARED_OPTIN as i32),
            _ => Err(code::INVALID_VALUE),
        }
    }

    pub fn memory(&self, device: i32) -> Result<usize> {
        self.device(device).map(|_| 16 << 30)
    }
}
