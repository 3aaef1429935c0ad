//! Reads any bytes as a file that contains kernels. Listing and extracting its images must not panic, and
//! must not use more memory than the compressed bytes account for. Seeds: `tests/images`.

use prlx_isa::image;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    for image in image::read(bytes).unwrap_or_default() {
        if image.size < 1 << 24 {
            let _ = (image.bytes().map(|b| b.len()), image.ptx(), image.kernels());
        }
    }
}
