//! Copies the memory behind the pointers among a launch's parameters to the host, before and after the
//! launch.
//!
//! A pointer is an 8-byte word at a multiple of 8 within one parameter whose value lies in an allocation. Its
//! range extends to the next such pointer, or to the end of the allocation.
//!
//! # Invariants
//! - The device has finished all earlier work of the context when memory is copied.
//! - At most `most` bytes are copied, shared fairly among the ranges.
//!
//! # Limitations
//! Both copies wait for the device, so launches of the program lose their overlap.

use super::calls::pointer;
use super::pointee_digest::{range_sizes, shares, starts};
use crate::cuda::library::open::Library;
use crate::cuda::library::pointers::PointerLookup;
use crate::launch_file::CapturedBuffer;
use crate::queue::Failure;

/// Waits for the device and copies the memory behind a launch's pointers. `params` is the parameter buffer,
/// and `places` has offset and size of each parameter. The launch's context must be the calling thread's
/// current one, and no stream may be in capture.
///
/// # Errors
/// If the driver refuses, as after a fault.
pub fn before(
    library: Library,
    params: &[u8],
    places: &[(usize, usize)],
    most: u64,
) -> Result<Vec<CapturedBuffer>, Failure> {
    library.with_relaxed_capture(|| {
        let mut found = PointerLookup::new(library).pointers(params, places);
        // The driver copies host memory that it does not know about only by other calls.
        found.retain(|(_, _, info)| info.readable && (info.kind == pointer::DEVICE || info.managed));
        let starts = starts(found.iter());
        let sizes = range_sizes(&starts);
        let copied = shares(most, &sizes);
        library.synchronize()?;
        let copy = |(offset, address, info): (u32, u64, super::PointerInfo)| {
            let i = starts.partition_point(|(start, _)| *start < address);
            let (size, bytes) = (sizes.get(i).copied(), copied.get(i).copied());
            let mut before = vec![0; usize::try_from(bytes.unwrap_or_default()).unwrap_or_default()];
            library.read(address, &mut before)?;
            let (allocation, size) = (info.start, size.unwrap_or_default());
            Ok(CapturedBuffer { offset, address, allocation, size, before, after: None })
        };
        found.into_iter().map(copy).collect()
    })
}

/// Waits for the device and copies the same memory again. Buffers keep `after` empty if the launch failed.
pub fn after(library: Library, buffers: &mut [CapturedBuffer]) {
    library.with_relaxed_capture(|| {
        if library.synchronize().is_err() {
            return;
        }
        for b in buffers {
            let mut bytes = vec![0; b.before.len()];
            b.after = library.read(b.address, &mut bytes).is_ok().then_some(bytes);
        }
    });
}
