//! Options of a load that change the code.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]

use std::ffi::c_void;
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::jit;

/// Options of a load that change code, as an assembler takes them.
///
/// # Safety
/// `count` options, each with its value.
pub unsafe fn options(count: u32, options: *mut i32, values: *mut *mut c_void) -> Vec<String> {
    if count == 0 || options.is_null() || values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
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
