//! Options of a module load that change its machine code.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]

use std::ffi::c_void;
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::jit;

/// The options that change code, in the form that an assembler takes: register limit, optimisation level and
/// debug code.
///
/// # Safety
/// Each pointer is null, or points to `count` options (`CUjit_option`) and their values.
pub unsafe fn options(count: u32, options: *mut i32, values: *mut *mut c_void) -> Vec<String> {
    if count == 0 || options.is_null() || values.is_null() {
        return Vec::new();
    }
    // SAFETY: neither is null, so the caller promises `count` elements of each.
    let pairs =
        unsafe { from_raw_parts(options, count as usize).iter().zip(from_raw_parts(values, count as usize)) };
    let option = |(option, value): (&i32, &*mut c_void)| match *option {
        jit::MAX_REGISTERS => Some(format!("-maxrregcount={}", value.addr() as u32)),
        jit::OPTIMIZATION => Some(format!("-O{}", value.addr() as u32)),
        jit::DEBUG if value.addr() as u32 != 0 => Some("-g".to_owned()),
        _ => None,
    };
    pairs.filter_map(option).collect()
}
