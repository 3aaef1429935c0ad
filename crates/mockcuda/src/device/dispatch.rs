//! Runs a driver call on the device of a context.

use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::Duration;

use crate::codes::Result;
use crate::codes::code;
use crate::device::state::{CONTEXT, Device};

/// Process that initialised the driver.
pub(crate) static OWNER: OnceLock<u32> = OnceLock::new();

/// All devices, by ordinal. `PRLX_MOCK_DEVICES` sets their number.
pub(crate) static DEVICES: LazyLock<Vec<Mutex<Device>>> = LazyLock::new(|| {
    let count = std::env::var("PRLX_MOCK_DEVICES").ok().and_then(|n| n.parse().ok()).unwrap_or(1u64);
    (0..count.max(1)).map(|ordinal| Mutex::new(Device::new(ordinal))).collect()
});

/// Runs the call `name` on the device of the thread's current context, as [`on_device`] does.
pub fn with(name: &str, body: impl FnMut(&mut Device) -> Result<()>) -> i32 {
    on_device(Device::current(), name, body)
}

/// The context that a device with this ordinal has, if the device exists.
pub fn context_of(ordinal: i32) -> u64 {
    CONTEXT + u64::try_from(ordinal).unwrap_or(u64::from(u32::MAX))
}

/// Runs the call `name` on the device of a context, or on the first device if there is no such context. If
/// `PRLX_MOCK_FAIL` names the call, it fails instead. `body` runs again as long as it returns [`code::BUSY`].
/// Returns the call's `CUresult`.
pub fn on_device(context: u64, name: &str, mut body: impl FnMut(&mut Device) -> Result<()>) -> i32 {
    // A driver does not work in a child that was forked after `cuInit`: another thread may have held the
    // lock.
    if OWNER.get().is_some_and(|pid| *pid != std::process::id()) {
        return code::NOT_INITIALIZED;
    }
    let ordinal = context.checked_sub(CONTEXT).and_then(|i| usize::try_from(i).ok());
    let device = ordinal.and_then(|i| DEVICES.get(i)).unwrap_or(&DEVICES[0]);
    loop {
        let mut device = device.lock().unwrap_or_else(|e| e.into_inner());
        let answer = match device.failing_calls.get(name) {
            Some(&code) => code,
            None => body(&mut device).err().unwrap_or(0),
        };
        drop(device);
        if answer != code::BUSY {
            return answer;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}
