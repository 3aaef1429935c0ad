//! Copies between host and device that run beside the program's work, through pinned host memory.
//!
//! # Invariants
//! While a copy may be in progress, its host memory is neither read nor written.
//!
//! # Limitations
//! The memory is never freed, because freeing waits for the whole device. It is freed with the context.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

use crate::cuda::library::open::Library;
use crate::queue::handles::{Event, Stream};
use crate::queue::{CopyBuffer, Failure};
use crate::workers::WORKERS;

/// Flag of `cuMemHostAlloc`: usable in every context (`CU_MEMHOSTALLOC_PORTABLE`).
const PORTABLE: u32 = 1;

/// Bytes that one thread copies at a time.
const PIECE: usize = 1 << 20;

/// Error code for a call that this module refuses (`CUDA_ERROR_INVALID_VALUE`).
const INVALID_VALUE: i32 = 1;

/// Pinned host memory for copies, and the state of the last copies.
pub struct PinnedBuffer {
    library: Library,
    event: Event,
    at: NonNull<u8>,
    size: usize,
    state: CopyState,
    /// Number of bytes that the last copies transferred.
    filled: usize,
}

/// State of the last copies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyState {
    /// All copies have ended.
    Idle,
    /// A copy was started, but the driver failed before the event was recorded. Nothing will tell when it
    /// ends.
    Lost,
    /// Copies were started, and the event behind them was recorded.
    Marked,
}

// SAFETY: C4: the memory belongs to this value alone. C3: every thread may use an event.
unsafe impl Send for PinnedBuffer {}

impl PinnedBuffer {
    /// Makes a buffer of `size` bytes, which must not be 0.
    pub fn new(library: Library, size: usize) -> Result<PinnedBuffer, Failure> {
        let event = library.create_event()?;
        let mut at = null_mut();
        let allocated = call!(library.cuMemHostAlloc(&mut at, size, PORTABLE));
        let allocated = allocated.map(|()| NonNull::new(at.cast::<u8>()));
        match allocated {
            Ok(Some(at)) => {
                // SAFETY: the driver just allocated these `size` bytes, and no copy uses them. Writing them
                // initialises them.
                unsafe { at.write_bytes(0, size) };
                Ok(PinnedBuffer { library, event, at, size, state: CopyState::Idle, filled: 0 })
            }
            other => {
                let _ = library.destroy_event(event);
                Err(other.err().unwrap_or_else(|| library.failure("cuMemHostAlloc", INVALID_VALUE)))
            }
        }
    }

    /// Checks that no copy is in progress and that parts of these sizes fit.
    fn begin_copies(
        &mut self,
        call: &'static str,
        parts: impl IntoIterator<Item = usize>,
    ) -> Result<Library, Failure> {
        let all = parts.into_iter().try_fold(0usize, usize::checked_add);
        if !self.done()? || all.is_none_or(|n| n > self.size) {
            return Err(self.library.failure(call, INVALID_VALUE));
        }
        self.filled = 0;
        Ok(self.library)
    }

    /// Records the event behind the copies that were started.
    fn end_copies(&mut self, stream: Stream) -> Result<(), Failure> {
        self.library.record_event(self.event, stream)?;
        self.state = CopyState::Marked;
        Ok(())
    }
}

impl CopyBuffer for PinnedBuffer {
    fn size(&self) -> usize {
        self.size
    }

    fn done(&mut self) -> Result<bool, Failure> {
        if self.state == CopyState::Marked && self.library.event_passed(self.event)? {
            self.state = CopyState::Idle;
        }
        Ok(self.state == CopyState::Idle)
    }

    fn copy_from_device(&mut self, stream: Stream, parts: &[(u64, usize)]) -> Result<(), Failure> {
        let library = self.begin_copies("cuMemcpyDtoHAsync_v2", parts.iter().map(|p| p.1))?;
        for &(from, bytes) in parts.iter().filter(|p| p.1 > 0) {
            // SAFETY: `begin_copies` checked that all parts fit into the allocation.
            let to = unsafe { self.at.add(self.filled) };
            self.state = CopyState::Lost;
            call!(library.cuMemcpyDtoHAsync_v2(to.as_ptr().cast(), from, bytes, stream.0))?;
            self.filled += bytes;
        }
        self.end_copies(stream)
    }

    fn copy_to_device(&mut self, stream: Stream, parts: &[(u64, &[u8])]) -> Result<(), Failure> {
        let library = self.begin_copies("cuMemcpyHtoDAsync_v2", parts.iter().map(|p| p.1.len()))?;
        for &(to, bytes) in parts.iter().filter(|p| !p.1.is_empty()) {
            // SAFETY: `begin_copies` checked that all parts fit. C4: it also checked that no copy is in
            // progress, so nobody else uses this memory.
            let from = unsafe {
                let from = self.at.add(self.filled);
                from.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
                from
            };
            self.state = CopyState::Lost;
            call!(library.cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), bytes.len(), stream.0))?;
            self.filled += bytes.len();
        }
        self.end_copies(stream)
    }

    fn zero_device(&mut self, stream: Stream, parts: &[(u64, usize)]) -> Result<(), Failure> {
        let library = self.begin_copies("cuMemsetD8Async", [])?;
        for &(at, bytes) in parts.iter().filter(|p| p.1 > 0) {
            self.state = CopyState::Lost;
            call!(library.cuMemsetD8Async(at, 0, bytes, stream.0))?;
        }
        self.end_copies(stream)
    }

    fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: `new` initialised the memory. C4: no copy is in progress, and starting one needs `&mut
        // self`, which this borrow prevents.
        (self.state == CopyState::Idle)
            .then(|| unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.filled) })
    }

    /// Several threads copy, because memory that is new takes long to map.
    fn append_to(&self, to: &mut Vec<u8>) {
        let from = self.bytes().unwrap_or_default();
        to.reserve(from.len());
        let Some(room) = to.spare_capacity_mut().get_mut(..from.len()) else { return };
        let pieces = room.chunks_mut(PIECE).zip(from.chunks(PIECE)).collect();
        WORKERS.map(pieces, from.len(), |(to, from): (&mut [MaybeUninit<u8>], _)| {
            to.write_copy_of_slice(from);
        });
        // SAFETY: `room` is the `from.len()` bytes behind the length, and every piece of it was written.
        unsafe { to.set_len(to.len() + from.len()) };
    }
}
