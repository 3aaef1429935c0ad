//! `dlsym` of this library.
//!
//! # Invariants
//! - For a name that is not a hooked driver function, it jumps to the C library's `dlsym` and keeps the
//!   caller's return address, on which `RTLD_NEXT` depends.
//! - A function that the driver lacks is not found here either.
#![allow(unsafe_code, reason = "symbols of the dynamic loader")]

use std::arch::naked_asm;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use crate::hooks::compilers;
use crate::interpose::driver_functions::{find, note_driver_function, real_dlsym};
use crate::interpose::exports::address;
use crate::panic_guard;

/// What [`dlsym`] does next: it jumps to `jump`, or returns `answer` if `jump` is null.
#[repr(C)]
pub struct Choice {
    jump: *mut c_void,
    answer: *mut c_void,
}

/// The C library's `dlsym`, except that hooked driver functions are found in this library.
///
/// `choose` returns its two pointers in `rax` and `rdx` (System V ABI). The stack is aligned for its call:
/// the return address, two pushes and 8 bytes are 32 bytes.
///
/// # Safety
/// As the C library's: `name` is a string that ends in NUL.
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
/// `name` is null, or a string that ends in NUL.
unsafe extern "C" fn choose(handle: *mut c_void, name: *const c_char) -> Choice {
    let jump = Choice { jump: real_dlsym(), answer: null_mut() };
    // SAFETY: the caller passes null or a string. The second byte is read only if the first is not NUL.
    let begins = |with: &[u8; 2]| unsafe {
        !name.is_null() && *name == with[0] as c_char && *name.add(1) == with[1] as c_char
    };
    // Names of the driver's functions, and of compilers.
    if !(begins(b"cu") || begins(b"nv") || begins(b"__")) || panic_guard::inside() {
        return jump;
    }
    // SAFETY: not null, so it is the caller's string.
    let text = unsafe { CStr::from_ptr(name) };
    if text.to_str().is_ok_and(compilers::is_compiler) {
        let mut real = find(handle, text);
        if real == compilers::nvrtcCompileProgram as *const () as *mut c_void {
            // The caller searches all libraries, and this one comes first.
            real = find(libc::RTLD_NEXT, text);
        }
        return Choice { jump: null_mut(), answer: compilers::replacement(real) };
    }
    let Some(hook) = text.to_str().ok().map(address).filter(|a| !a.is_null()) else { return jump };
    let mut real = find(handle, text);
    if real == hook {
        // The caller searches all libraries, and this one comes first: the driver's function is behind it.
        real = find(libc::RTLD_NEXT, text);
    }
    if real.is_null() {
        return Choice { jump: null_mut(), answer: null_mut() };
    }
    note_driver_function(real);
    Choice { jump: null_mut(), answer: hook }
}
