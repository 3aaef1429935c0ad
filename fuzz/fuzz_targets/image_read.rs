//! Any bytes as a file that holds kernels: listing its images and taking everything out of them must not panic, nor take more
//! memory than its compressed bytes account for. Seeds: `tests/images`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prlx_isa::image;

fuzz_target!(|bytes: &[u8]| {
    for image in image::read(bytes).unwrap_or_default() {
        if image.size < 1 << 24 {
            let _ = (image.bytes().map(|b| b.len()), image.ptx(), image.kernels());
        }
    }
});
