//! The devices of this machine, and whether a context is a device's primary one.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;
use std::ptr::null_mut;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::attribute;
use prlx_trace::process::Device;

/// Whether a context is its device's primary one.
pub(super) fn is_primary(real: &Functions, context: *mut c_void, ordinal: u32) -> bool {
    let device = ordinal as i32;
    let (mut primary, mut flags, mut active) = (null_mut(), 0, 0);
    // SAFETY: the driver's functions (P2); outputs are local variables (P3). Each retained context is
    // released.
    unsafe {
        if (real.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) != 0 || active == 0 {
            return false;
        }
        if (real.cuDevicePrimaryCtxRetain)(&mut primary, device) == 0 {
            (real.cuDevicePrimaryCtxRelease_v2)(device);
        }
    }
    primary == context
}

/// All devices, with the names and compute capabilities that the driver reports.
pub(super) fn devices(real: &Functions) -> Vec<Device> {
    let mut count = 0;
    // SAFETY: the driver's function (P2); the output is a local variable (P3).
    if unsafe { (real.cuDeviceGetCount)(&mut count) } != 0 {
        return Vec::new();
    }
    let device = |ordinal: i32| {
        let (mut major, mut minor, mut name) = (0, 0, [0u8; 256]);
        // SAFETY: the driver's functions (P2); outputs are local variables (P3). `name` has room for the 255
        // bytes that the call may write.
        unsafe {
            (real.cuDeviceGetAttribute)(&mut major, attribute::MAJOR, ordinal);
            (real.cuDeviceGetAttribute)(&mut minor, attribute::MINOR, ordinal);
            (real.cuDeviceGetName)(name.as_mut_ptr().cast(), 255, ordinal);
        }
        let name = name.split(|b| *b == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        Device {
            ordinal: ordinal as u32,
            name,
            uuid: String::new(),
            capability: (major as u32, minor as u32),
        }
    };
    (0..count).map(device).collect()
}
