//! Exits that run no exit handlers: `_exit`, `_Exit`, `quick_exit`. The recording is completed first.
//!
//! # Invariants
//! - The program ends with its own exit code, after a bounded time, whatever fails here.
//! - A forked child, also one that shares the parent's memory (`vfork`), ends at once.
//!
//! # Limitations
//! The bare system call, other preloaded libraries that define `_exit`, and signals are not intercepted. What
//! was written to the file by then stays readable.
#![allow(unsafe_code, reason = "the C library's functions, which this library defines in their place")]

use std::ffi::c_int;

use crate::interpose::driver_functions::next_symbol;
use crate::recording;

/// Completes the recording and ends the process by the system call that the C library uses. Looking up the
/// C library's function could wait for a lock that is never released.
fn end(status: c_int) -> ! {
    recording::flush_at_exit();
    loop {
        // SAFETY: exit_group takes any status, and does not return.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// Completes the recording, then ends the process.
///
/// # Safety
/// As the C library's, which takes any status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    end(status)
}

/// Completes the recording, then ends the process.
///
/// # Safety
/// As the C library's, which takes any status.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the C library's own name")]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    end(status)
}

/// Completes the recording, then calls the C library's function, which runs the handlers of `at_quick_exit`.
///
/// # Safety
/// As the C library's, which takes any status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    recording::flush_at_exit();
    let real = next_symbol(c"quick_exit");
    if !real.is_null() {
        // SAFETY: the next `quick_exit` is the C library's, which has this type (C11).
        let real: unsafe extern "C" fn(c_int) -> ! = unsafe { std::mem::transmute(real) };
        // SAFETY: it takes any status.
        unsafe { real(status) }
    }
    end(status)
}
