//! What recording the launches of a program needs of a GPU's API: streams, events, copies beside the
//! program's work, and memory that outlives a fault.
//!
//! CUDA implements [`Queue`] ([`CudaQueue`](crate::cuda::CudaQueue)). An API that does so as well gets the
//! recorder of programs ([`crate::record::program`]). [`Driver`](crate::Driver) is the other interface to a
//! device, for one launch at a time.
//!
//! # Invariants
//! - No call waits for work of the program, except those that allocate or free memory.
//! - Every call may be made by any thread that has [entered](Queue::enter) the context.
//!
//! # Limitations
//! Copies that a buffer started are awaited together.

pub(crate) mod failure;
pub(crate) mod handles;

use prlx_trace::WarpSize;

pub use failure::Failure;
pub use handles::{Context, Event, Function, Stream};

/// The asynchronous calls of a GPU's API, for one context.
pub trait Queue: Send + Sync {
    /// Number of lanes of a warp.
    fn warp_size(&self) -> WarpSize;
    /// Makes the context the calling thread's current one, until [`Queue::leave`].
    ///
    /// # Errors
    /// If the context does not exist any more.
    fn enter(&self) -> Result<(), Failure>;
    /// Makes the context current again that was current before [`Queue::enter`].
    fn leave(&self);
    /// Makes calls of this thread harmless for a capture of streams that is in progress in this process.
    /// Returns what [`Queue::end_quiet`] needs; `None` if there is nothing to restore.
    fn begin_quiet(&self) -> Option<i32>;
    /// Restores what was the case before [`Queue::begin_quiet`].
    fn end_quiet(&self, before: i32);

    /// Creates a stream that waits for no other stream, and whose work goes first.
    ///
    /// # Errors
    /// If the call fails.
    fn create_stream(&self) -> Result<Stream, Failure>;
    /// Whether this is the context's default stream, which exists as long as the context and is never
    /// captured.
    fn is_default(&self, stream: Stream) -> bool;
    /// Makes later work in `stream` wait for an event.
    ///
    /// # Errors
    /// If the call fails.
    fn make_stream_wait(&self, stream: Stream, event: Event) -> Result<(), Failure>;

    /// Creates an event whose time can be read.
    ///
    /// # Errors
    /// If the call fails.
    fn create_event(&self) -> Result<Event, Failure>;
    /// Records an event in a stream.
    ///
    /// # Errors
    /// If the call fails.
    fn record_event(&self, event: Event, stream: Stream) -> Result<(), Failure>;
    /// Whether all work before the event has ended.
    ///
    /// # Errors
    /// If the call, or earlier work in the context, failed.
    fn event_passed(&self, event: Event) -> Result<bool, Failure>;
    /// Nanoseconds between two events that have passed.
    ///
    /// # Errors
    /// If the call fails.
    fn elapsed_between(&self, start: Event, end: Event) -> Result<u64, Failure>;

    /// Allocates `bytes` bytes of device memory, and returns its address. `bytes` must not be 0.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn alloc(&self, bytes: usize) -> Result<u64, Failure>;
    /// Frees an allocation. This may wait for the device.
    ///
    /// # Errors
    /// If the call fails.
    fn free(&self, at: u64) -> Result<(), Failure>;
    /// Allocates host memory that kernels can access. `bytes` must not be 0.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn host_memory(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Failure>;
    /// Makes a buffer for copies of up to `bytes` bytes, which must not be 0.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn copy_buffer(&self, bytes: usize) -> Result<Box<dyn CopyBuffer>, Failure>;

    /// Loads a module and returns one of its kernels.
    ///
    /// # Errors
    /// If the module does not load, or has no such kernel.
    fn load_kernel(&self, image: &[u8], name: &str) -> Result<Function, Failure>;
    /// Starts a kernel in a stream: CTAs in both dimensions, threads of a CTA, and the bytes of each
    /// parameter.
    ///
    /// # Errors
    /// If the call fails.
    fn start_kernel(
        &self,
        kernel: Function,
        stream: Stream,
        grid: [u32; 2],
        threads: u32,
        params: &[&[u8]],
    ) -> Result<(), Failure>;
}

/// Host memory that kernels can access. Its content survives a fault of a kernel and the loss of the context.
pub trait HostMemory: Send + Sync {
    /// Address of the first byte on the device.
    fn device(&self) -> u64;
    /// Copies `bytes` bytes from device address `at` on. Returns `None` if they are not all in this memory,
    /// or if there is no memory for the copy.
    fn copy(&self, at: u64, bytes: u64) -> Option<Vec<u8>>;
}

/// Memory through which copies between host and device pass, and the state of the last copies.
pub trait CopyBuffer: Send {
    /// Size of the buffer in bytes.
    fn size(&self) -> usize;
    /// Whether the last copies have ended; true if there were none.
    ///
    /// # Errors
    /// If the copies, or earlier work in the context, failed.
    fn done(&mut self) -> Result<bool, Failure>;
    /// Starts copying parts of device memory into this buffer, one after the other: address and bytes of
    /// each.
    ///
    /// # Errors
    /// If copies are in progress, the parts do not fit, or a call fails.
    fn copy_from_device(&mut self, stream: Stream, parts: &[(u64, usize)]) -> Result<(), Failure>;
    /// Starts copying bytes to device memory: address and content of each part.
    ///
    /// # Errors
    /// The same as [`CopyBuffer::copy_from_device`].
    fn copy_to_device(&mut self, stream: Stream, parts: &[(u64, &[u8])]) -> Result<(), Failure>;
    /// Starts zeroing parts of device memory: address and bytes of each.
    ///
    /// # Errors
    /// If copies are in progress, or a call fails.
    fn zero_device(&mut self, stream: Stream, parts: &[(u64, usize)]) -> Result<(), Failure>;
    /// The bytes that the last copies transferred; `None` while copies may be in progress.
    fn bytes(&self) -> Option<&[u8]>;
    /// Appends the bytes that the last copies transferred; nothing while copies may be in progress.
    fn append_to(&self, to: &mut Vec<u8>);
}

/// Waits for the copies in progress. Calls `pause` between two checks, until it returns false. Returns
/// whether the copies have ended.
pub(crate) fn wait(buffer: &mut dyn CopyBuffer, mut pause: impl FnMut() -> bool) -> Result<bool, Failure> {
    while !buffer.done()? {
        if !pause() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// As long as this value exists, calls of its thread are harmless for captures of streams.
pub(crate) struct Quiet<'a> {
    queue: &'a dyn Queue,
    before: Option<i32>,
}

/// Makes calls of this thread harmless for captures, until the result is dropped.
pub(crate) fn quiet(queue: &dyn Queue) -> Quiet<'_> {
    Quiet { queue, before: queue.begin_quiet() }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            self.queue.end_quiet(before);
        }
    }
}
