//! Initialises the driver, and reports names and attributes of devices.

use std::sync::atomic::Ordering;

use prlx_driver::cuda::calls::attribute;

use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::{DEVICES, OWNER};
use crate::device::state::{Device, MAX_SHARED, STARTED, THREADS_PER_SM};

impl Device {
    /// Initialises the driver (`cuInit`).
    pub fn init(&mut self) -> Result<()> {
        OWNER.get_or_init(std::process::id);
        STARTED.store(true, Ordering::Release);
        Ok(())
    }

    /// Number of all devices.
    pub fn count(&self) -> Result<i32> {
        Device::check_started().map(|()| DEVICES.len() as i32)
    }

    /// Returns `ordinal` if there is such a device.
    pub fn device(&self, ordinal: i32) -> Result<i32> {
        Device::check_started()?;
        let known = usize::try_from(ordinal).is_ok_and(|i| i < DEVICES.len());
        if known { Ok(ordinal) } else { Err(code::INVALID_DEVICE) }
    }

    /// Name of a device.
    pub fn name(&self, device: i32) -> Result<&'static str> {
        self.device(device).map(|_| "mock device")
    }

    /// A device attribute (`CUdevice_attribute`). Only those that PRLX asks for are known.
    pub fn attribute(&self, attribute: i32, device: i32) -> Result<i32> {
        self.device(device)?;
        match attribute {
            attribute::WARP_SIZE => Ok(32),
            attribute::THREADS => Ok(THREADS_PER_SM as i32),
            attribute::PROCESSORS => Ok(4),
            attribute::MAJOR => Ok(self.capability.0),
            attribute::MINOR => Ok(self.capability.1),
            attribute::MAX_SHARED_OPTIN => Ok(MAX_SHARED as i32),
            _ => Err(code::INVALID_VALUE),
        }
    }

    /// Bytes of memory that the device reports.
    pub fn memory(&self, device: i32) -> Result<usize> {
        self.device(device).map(|_| 16 << 30)
    }
}
