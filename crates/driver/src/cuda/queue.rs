//! CUDA's streams, events and copies, as the recorder of programs uses them.

use prlx_trace::WarpSize;

use crate::cuda::library::mapped::MappedBuffer;
use crate::cuda::library::open::Library;
use crate::cuda::library::pinned::PinnedBuffer;
use crate::cuda::library::streams::{RELAXED, is_legacy};
use crate::queue::{Context, CopyBuffer, Event, Failure, Function, HostMemory, Queue, Stream};

/// A CUDA context as a [`Queue`].
#[derive(Clone, Copy)]
pub struct CudaQueue {
    library: Library,
    context: Context,
}

impl CudaQueue {
    /// The calls for this context.
    pub fn new(library: Library, context: Context) -> CudaQueue {
        CudaQueue { library, context }
    }
}

impl Queue for CudaQueue {
    fn warp_size(&self) -> WarpSize {
        WarpSize::W32
    }
    fn enter(&self) -> Result<(), Failure> {
        self.library.push_context(self.context)
    }
    fn leave(&self) {
        // It fails only if the context was destroyed, and then no thread has it any more.
        let _ = self.library.pop_context();
    }
    fn begin_quiet(&self) -> Option<i32> {
        self.library.exchange_capture_mode(RELAXED).ok()
    }
    fn end_quiet(&self, before: i32) {
        let _ = self.library.exchange_capture_mode(before);
    }
    fn create_stream(&self) -> Result<Stream, Failure> {
        self.library.create_stream()
    }
    fn is_default(&self, stream: Stream) -> bool {
        is_legacy(stream)
    }
    fn make_stream_wait(&self, stream: Stream, event: Event) -> Result<(), Failure> {
        self.library.make_stream_wait(stream, event)
    }
    fn create_event(&self) -> Result<Event, Failure> {
        self.library.create_timed_event()
    }
    fn record_event(&self, event: Event, stream: Stream) -> Result<(), Failure> {
        self.library.record_event(event, stream)
    }
    fn event_passed(&self, event: Event) -> Result<bool, Failure> {
        self.library.event_passed(event)
    }
    fn elapsed_between(&self, start: Event, end: Event) -> Result<u64, Failure> {
        self.library.elapsed_between(start, end)
    }
    fn alloc(&self, bytes: usize) -> Result<u64, Failure> {
        self.library.alloc(bytes)
    }
    fn free(&self, at: u64) -> Result<(), Failure> {
        self.library.free(at)
    }
    fn host_memory(&self, bytes: usize) -> Result<Box<dyn HostMemory>, Failure> {
        Ok(Box::new(MappedBuffer::new(self.library, bytes)?))
    }
    fn copy_buffer(&self, bytes: usize) -> Result<Box<dyn CopyBuffer>, Failure> {
        Ok(Box::new(PinnedBuffer::new(self.library, bytes)?))
    }
    fn load_kernel(&self, image: &[u8], name: &str) -> Result<Function, Failure> {
        self.library.function(self.library.load(image)?, name)
    }
    fn start_kernel(
        &self,
        kernel: Function,
        stream: Stream,
        grid: [u32; 2],
        threads: u32,
        params: &[&[u8]],
    ) -> Result<(), Failure> {
        self.library.launch_in_stream(kernel, stream, grid, threads, params)
    }
}
