//! Copies beside the program's own work, through host memory that the copy engines reach.
//!
//! # Invariants
//! While a copy may be under way, its host memory is neither read nor written.
//! # Limitations
//! It is never freed, for drivers wait for the whole device then; it goes with the context.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ptr::{NonNull, null_mut};

use crate::cuda::library::failure::Failure;
use crate::cuda::library::handles::{Event, Stream};
use crate::cuda::library::open::Library;

/// `CU_MEMHOSTALLOC_PORTABLE`: every context may use it.
const PORTABLE: u32 = 1;

/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: i32 = 1;

/// Host memory for copies, and whether some are under way.
pub struct PinnedBuffer {
    library: Library,
    event: Event,
    at: NonNull<u8>,
    size: usize,
    state: CopyState,
    /// Bytes that the last copies put there.
    filled: usize,
}

/// What is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyState {
    /// Nothing.
    Idle,
    /// Something that nothing will tell the end of: the driver failed before the event was behind it.
    Lost,
    /// What stands before the event.
    Marked,
}

// SAFETY: the memory is this value's alone, and every thread may name an event.
unsafe impl Send for PinnedBuffer {}

impl PinnedBuffer {
    /// So many, not 0, each with room for `size` bytes, from one allocation.
    pub fn several(library: Library, count: usize, size: usize) -> Result<Vec<PinnedBuffer>, Failure> {
        let PinnedBuffer { event, at, .. } = PinnedBuffer::new(library, count * size)?;
        let part = |i: usize| {
            let event = if i == 0 { event } else { library.create_event()? };
            // SAFETY: `count` parts of `size` bytes were allocated, and each is one value's alone.
            let at = unsafe { at.add(i * size) };
            Ok(PinnedBuffer { library, event, at, size, state: CopyState::Idle, filled: 0 })
        };
        (0..count).map(part).collect()
    }

    /// With room for `size` bytes, not 0.
    pub fn new(library: Library, size: usize) -> Result<PinnedBuffer, Failure> {
        let event = library.create_event()?;
        let mut at = null_mut();
        let allocated = call!(library.cuMemHostAlloc(&mut at, size, PORTABLE));
        let allocated = allocated.map(|()| NonNull::new(at.cast::<u8>()));
        match allocated {
            Ok(Some(at)) => {
                // SAFETY: it was just allocated, of this size; the bytes are initialised here, once.
                unsafe { at.write_bytes(0, size) };
                Ok(PinnedBuffer { library, event, at, size, state: CopyState::Idle, filled: 0 })
            }
            other => {
                let _ = library.destroy_event(event);
                Err(other.err().unwrap_or_else(|| library.failure("cuMemHostAlloc", INVALID_VALUE)))
            }
        }
    }

    /// How many bytes there is room for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the last copies are done; true if there were none.
    pub fn done(&mut self) -> Result<bool, Failure> {
        if self.state == CopyState::Marked && self.library.event_passed(self.event)? {
            self.state = CopyState::Idle;
        }
        Ok(self.state == CopyState::Idle)
    }

    /// Waits for copies under way with `pause` between looks, until it says that it is enough. Whether they
    /// are done.
    pub fn wait(&mut self, mut pause: impl FnMut() -> bool) -> Result<bool, Failure> {
        while !self.done()? {
            if !pause() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Lets `stream` copy parts of device memory here, one behind the other: their addresses and bytes.
    /// Refused while copies are under way, and when they don't fit.
    pub fn copy_from_device(&mut self, stream: Stream, parts: &[(u64, usize)]) -> Result<(), Failure> {
        let library = self.begin_copies("cuMemcpyDtoHAsync_v2", parts.iter().map(|p| p.1))?;
        for &(from, bytes) in parts.iter().filter(|p| p.1 > 0) {
            // SAFETY: `start` saw that all parts fit.
            let to = unsafe { self.at.add(self.filled) };
            self.state = CopyState::Lost;
            call!(library.cuMemcpyDtoHAsync_v2(to.as_ptr().cast(), from, bytes, stream.0))?;
            self.filled += bytes;
        }
        self.end_copies(stream)
    }

    /// Lets `stream` copy bytes to addresses of device memory. Refused like [`PinnedBuffer::copy_from_device`].
    pub fn copy_to_device(&mut self, stream: Stream, parts: &[(u64, &[u8])]) -> Result<(), Failure> {
        let library = self.begin_copies("cuMemcpyHtoDAsync_v2", parts.iter().map(|p| p.1.len()))?;
        for &(to, bytes) in parts.iter().filter(|p| !p.1.is_empty()) {
            // SAFETY: `start` saw that all parts fit and that nothing is under way, so nobody else has this
            // memory.
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

    /// Lets `stream` zero parts of device memory: addresses and bytes. Refused while copies are under way.
    pub fn zero_device(&mut self, stream: Stream, parts: &[(u64, usize)]) -> Result<(), Failure> {
        let library = self.begin_copies("cuMemsetD8Async", [])?;
        for &(at, bytes) in parts.iter().filter(|p| p.1 > 0) {
            self.state = CopyState::Lost;
            call!(library.cuMemsetD8Async(at, 0, bytes, stream.0))?;
        }
        self.end_copies(stream)
    }

    /// What the last copies put here; `None` while they may be under way.
    pub fn bytes(&self) -> Option<&[u8]> {
        // SAFETY: initialised when it was allocated; nothing is under way, and starting something takes `&mut
        // self`.
        (self.state == CopyState::Idle)
            .then(|| unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.filled) })
    }

    /// Looks whether parts of so many bytes can be copied now.
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

    /// Puts the event behind what was started.
    fn end_copies(&mut self, stream: Stream) -> Result<(), Failure> {
        self.library.record_event(self.event, stream)?;
        self.state = CopyState::Marked;
        Ok(())
    }
}
