//! `dlsym` of this library.
//!
//! # Invariants
//! For any name that is not a driver function it jumps to the C library's `dlsym` with the caller's return
//! address, on which `RTLD_NEXT` depends. A function that the driver lacks is not found here either.
#![allow(unsafe_code, reason = "symbols of the dynamic loader")]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use crate::interpose::driver_functions::{find, real_dlsym, seen};
use crate::interpose::exports::address;
use crate::panic_guard;

/// What [`dlsym`] does: jumps there, or answers.
#[repr(C)]
pub struct Choice {
    jump: *mut c_void,
    answer: *mut c_void,
}

/// The C library's `dlsym`, but for the driver's functions that we stand in for.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {choose}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "test rax, rax",
        "jz 2f",
        "jmp rax",
        "2:",
        "mov rax, rdx",
        "ret",
        choose = sym choose,
    )
}

/// # Safety
/// As `dlsym`.
unsafe extern "C" fn choose(handle: *mut c_void, name: *const c_char) -> Choice {
    let jump = Choice { jump: real_dlsym(), answer: null_mut() };
    // SAFETY: a name that ends; its first bytes are looked at in order.
    let driver = unsafe { !name.is_null() && *name == b'c' as c_char && *name.add(1) == b'u' as c_char };
    if !driver || panic_guard::inside() {
        return jump;
    }
    // SAFETY: a name that ends.
    let text = unsafe { CStr::from_ptr(name) };
    let Some(ours) = text.to_str().ok().map(address).filter(|a| !a.is_null()) else { return jump };
    let mut real = find(handle, text);
    if real == ours {
        // The caller looks everywhere, and we come first: it is there if it is there behind us.
        real = find(libc::RTLD_NEXT, text);
    }
    if real.is_null() {
        return Choice { jump: null_mut(), answer: null_mut() };
    }
    seen(real);
    Choice { jump: null_mut(), answer: ours }
}
