//! Tensor maps: what the program encodes is kept, so that a captured launch can encode it again.
//!
//! # Limitations
//! Maps that a kernel or the program makes by other means are not known.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::c_void;

use prlx_driver::cuda::{Functions, TiledMapCall};
use prlx_driver::tensor_map::BYTES;

use crate::panic_guard::guard;
use crate::recording;

#[expect(clippy::too_many_arguments, reason = "as cuda.h has it")]
pub unsafe fn cuTensorMapEncodeTiled(
    real: &Functions,
    map: *mut c_void,
    element: i32,
    rank: u32,
    at: *mut c_void,
    sizes: *const u64,
    strides: *const u64,
    tile: *const u32,
    steps: *const u32,
    interleave: i32,
    swizzle: i32,
    promotion: i32,
    fill: i32,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    let code = unsafe {
        (real.cuTensorMapEncodeTiled)(
            map, element, rank, at, sizes, strides, tile, steps, interleave, swizzle, promotion, fill,
        )
    };
    if code == 0 {
        guard(|| {
            let call = TiledMapCall { element, rank, sizes, strides, tile, steps, interleave, swizzle, fill };
            // SAFETY: the driver accepted the arguments, so the arrays have their lengths (P1), and it wrote
            // the map.
            let (described, bytes) = unsafe { (call.map()?, *map.cast::<[u8; BYTES]>()) };
            recording::tensor_map_encoded(bytes, at.addr() as u64, described);
            Some(())
        });
    }
    code
}
