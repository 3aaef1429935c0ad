//! The capture mode of each thread.

use std::cell::Cell;

use prlx_driver::cuda::calls::capture as mode;

use crate::codes::{Result, code};

thread_local! {
    /// The calling thread's mode, the same for all devices.
    pub(super) static MODE: Cell<i32> = const { Cell::new(mode::GLOBAL) };
}

/// Sets the calling thread's mode and returns the previous one.
pub fn exchange_mode(to: i32) -> Result<i32> {
    if (mode::GLOBAL..=mode::RELAXED).contains(&to) { Ok(MODE.replace(to)) } else { Err(code::INVALID_VALUE) }
}
