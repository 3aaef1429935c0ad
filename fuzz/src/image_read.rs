//! Any bytes as a file that holds kernels: listing its images and taking everything out of them must not
//! panic, nor take more memory than its compressed bytes account for. Seeds: `tests/images`.

use prlx_isa::image;

/// Runs it.
pub fn run(bytes: &[u8]) {
    for image in image::read(bytes).unwrap_or_default() {
        if image.size < 1 << 24 {
            let _ = (image.bytes().map(|b| b.len()), image.ptx(), image.kernels());
        }
    }
}
