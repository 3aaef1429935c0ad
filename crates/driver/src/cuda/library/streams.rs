//! Streams, events, and what keeps calls from breaking captures.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ptr::null_mut;

use crate::cuda::library::failure::Failure;
use crate::cuda::library::handles::{Context, Event, Stream};
use crate::cuda::library::open::Library;

/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
const RELAXED: i32 = 2;

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// `CU_EVENT_DISABLE_TIMING`.
const NO_TIMING: u32 = 2;

/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: i32 = 600;

/// Beyond every device's highest priority, so taken as that.
const HIGHEST: i32 = -1000;

impl Library {
    /// Does `work` in a context, and leaves the calling thread's as they were.
    pub fn with_context<T>(&self, context: Context, work: impl FnOnce() -> T) -> Result<T, Failure> {
        call!(self.cuCtxPushCurrent_v2(context.0))?;
        let result = work();
        let mut popped = null_mut();
        call!(self.cuCtxPopCurrent_v2(&mut popped))?;
        Ok(result)
    }

    /// Does `work`, whose calls break no capture that is under way in this process.
    pub fn with_relaxed_capture<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut mode = RELAXED;
        let set = call!(self.cuThreadExchangeStreamCaptureMode(&mut mode)).is_ok();
        let result = work();
        if set {
            let _ = call!(self.cuThreadExchangeStreamCaptureMode(&mut mode));
        }
        result
    }

    /// A stream that waits for no other, of the highest priority: its work is not kept behind that of others.
    pub fn create_stream(&self) -> Result<Stream, Failure> {
        let mut stream = null_mut();
        call!(self.cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, HIGHEST))?;
        Ok(Stream(stream))
    }
    /// Destroys a stream that [`Library::create_stream`] made; what is in it is still done.
    pub fn destroy_stream(&self, stream: Stream) -> Result<(), Failure> {
        call!(self.cuStreamDestroy_v2(stream.0))
    }
    /// Makes what follows in `stream` wait for what stood before the event.
    pub fn make_stream_wait(&self, stream: Stream, event: Event) -> Result<(), Failure> {
        call!(self.cuStreamWaitEvent(stream.0, event.0, 0))
    }

    /// An event without a clock.
    pub fn create_event(&self) -> Result<Event, Failure> {
        let mut event = null_mut();
        call!(self.cuEventCreate(&mut event, NO_TIMING))?;
        Ok(Event(event))
    }
    /// An event with a clock.
    pub fn create_timed_event(&self) -> Result<Event, Failure> {
        let mut event = null_mut();
        call!(self.cuEventCreate(&mut event, 0))?;
        Ok(Event(event))
    }
    /// Nanoseconds from one event to another; both have passed, and have clocks.
    pub fn elapsed_between(&self, start: Event, end: Event) -> Result<u64, Failure> {
        let mut milliseconds = 0f32;
        call!(self.cuEventElapsedTime(&mut milliseconds, start.0, end.0))?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
    /// Puts it into a stream, behind everything that is there.
    pub fn record_event(&self, event: Event, stream: Stream) -> Result<(), Failure> {
        call!(self.cuEventRecord(event.0, stream.0))
    }
    /// Whether everything is done that stood before it.
    pub fn event_passed(&self, event: Event) -> Result<bool, Failure> {
        match call!(self.cuEventQuery(event.0)) {
            Ok(()) => Ok(true),
            Err(e) if e.code == NOT_READY => Ok(false),
            Err(e) => Err(e),
        }
    }
    /// Destroys it.
    pub fn destroy_event(&self, event: Event) -> Result<(), Failure> {
        call!(self.cuEventDestroy_v2(event.0))
    }
}
