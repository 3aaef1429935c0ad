//! Functions that a recorded program may call, if it looks for them: Python's `prlx.torch` does.
#![allow(unsafe_code, reason = "an exported function needs a fixed name")]

use crate::panic_guard::guard;
use crate::recording;

/// Returns how many launches the process has made so far, which is the number of the next one. Returns 0
/// before the first module is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn prlx_launch_count() -> u64 {
    guard(recording::launch_count).unwrap_or_default()
}
