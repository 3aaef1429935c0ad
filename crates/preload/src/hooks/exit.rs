//! Ends of the program that ask nobody: `_exit`, `_Exit`, `quick_exit`. The recording is ended first.
//!
//! # Invariants
//! The program ends with its own code, whatever goes wrong here, after a bounded time; in a child that was
//! forked, of its own memory or of the parent's, nothing is done. Misses: the bare system call; other
//! preloaded libraries that stand in for `_exit`; signals: what was brought in by then is in the file.
#![allow(unsafe_code, reason = "the C library's functions, in their place")]

use std::ffi::c_int;

use crate::interpose::driver_functions::behind;
use crate::recording;

/// Ends the process, as the C library does: looking for its function might wait for a lock that nobody will
/// release.
fn end(status: c_int) -> ! {
    recording::leave();
    loop {
        // SAFETY: the system's call; it does not come back.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// The C library's, after the recording is ended.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    end(status)
}

/// The same.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the C library's own name")]
pub unsafe extern "C" fn _Exit(status: c_int) -> ! {
    end(status)
}

/// The same; the C library's then does what was registered.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quick_exit(status: c_int) -> ! {
    recording::leave();
    let real = behind(c"quick_exit");
    if !real.is_null() {
        // SAFETY: that is its type.
        let real: unsafe extern "C" fn(c_int) -> ! = unsafe { std::mem::transmute(real) };
        // SAFETY: the program's call.
        unsafe { real(status) }
    }
    end(status)
}
