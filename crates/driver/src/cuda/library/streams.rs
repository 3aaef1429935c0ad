//! Streams and events, and calls that do not disturb stream captures.
#![allow(unsafe_code, reason = "calls of a foreign library through pointers that dlsym gave")]

use std::ptr::null_mut;

use crate::cuda::calls::stream;
use crate::cuda::library::open::Library;
use crate::queue::Failure;
use crate::queue::handles::{Context, Event, Stream};

/// Relaxed capture mode (`CU_STREAM_CAPTURE_MODE_RELAXED`).
pub const RELAXED: i32 = 2;

/// Stream flag: no synchronisation with the legacy default stream (`CU_STREAM_NON_BLOCKING`).
const NON_BLOCKING: u32 = 1;

/// Event flag: no timing (`CU_EVENT_DISABLE_TIMING`).
const NO_TIMING: u32 = 2;

/// Result of a query: the work has not ended (`CUDA_ERROR_NOT_READY`).
const NOT_READY: i32 = 600;

/// A priority beyond every device's range, which the driver replaces by the highest one.
const HIGHEST: i32 = -1000;

/// Whether a stream is the legacy default stream.
pub fn is_legacy(stream: Stream) -> bool {
    stream.0.addr() <= stream::LEGACY as usize
}

impl Library {
    /// Makes `context` the calling thread's current one.
    pub fn push_context(&self, context: Context) -> Result<(), Failure> {
        call!(self.cuCtxPushCurrent_v2(context.0))
    }
    /// Makes the context current again that was so before [`Library::push_context`].
    pub fn pop_context(&self) -> Result<(), Failure> {
        let mut popped = null_mut();
        call!(self.cuCtxPopCurrent_v2(&mut popped))
    }
    /// Runs `work` with `context` as the current context, and restores the calling thread's contexts.
    pub fn with_context<T>(&self, context: Context, work: impl FnOnce() -> T) -> Result<T, Failure> {
        self.push_context(context)?;
        let result = work();
        self.pop_context()?;
        Ok(result)
    }

    /// Sets how the calling thread's calls affect captures of streams. Returns what was set before.
    pub fn exchange_capture_mode(&self, mut mode: i32) -> Result<i32, Failure> {
        call!(self.cuThreadExchangeStreamCaptureMode(&mut mode))?;
        Ok(mode)
    }

    /// Whether a stream is being captured.
    pub fn is_captured(&self, stream: Stream) -> Result<bool, Failure> {
        let mut status = 0;
        call!(self.cuStreamIsCapturing(stream.0, &mut status))?;
        Ok(status != 0)
    }

    /// Runs `work` so that its calls do not invalidate a capture that is in progress in this process.
    pub fn with_relaxed_capture<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.exchange_capture_mode(RELAXED);
        let result = work();
        if let Ok(before) = before {
            let _ = self.exchange_capture_mode(before);
        }
        result
    }

    /// Creates a stream of the highest priority that synchronises with no other stream.
    pub fn create_stream(&self) -> Result<Stream, Failure> {
        let mut stream = null_mut();
        call!(self.cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, HIGHEST))?;
        Ok(Stream(stream))
    }
    /// Destroys a stream made by [`Library::create_stream`]. Work in it is still completed.
    pub fn destroy_stream(&self, stream: Stream) -> Result<(), Failure> {
        call!(self.cuStreamDestroy_v2(stream.0))
    }
    /// Makes later work in `stream` wait for an event.
    pub fn make_stream_wait(&self, stream: Stream, event: Event) -> Result<(), Failure> {
        call!(self.cuStreamWaitEvent(stream.0, event.0, 0))
    }

    /// Creates an event without timing.
    pub fn create_event(&self) -> Result<Event, Failure> {
        let mut event = null_mut();
        call!(self.cuEventCreate(&mut event, NO_TIMING))?;
        Ok(Event(event))
    }
    /// Creates an event with timing.
    pub fn create_timed_event(&self) -> Result<Event, Failure> {
        let mut event = null_mut();
        call!(self.cuEventCreate(&mut event, 0))?;
        Ok(Event(event))
    }
    /// Returns the nanoseconds between two events. Both must have timing and have passed.
    pub fn elapsed_between(&self, start: Event, end: Event) -> Result<u64, Failure> {
        let mut milliseconds = 0f32;
        call!(self.cuEventElapsedTime(&mut milliseconds, start.0, end.0))?;
        Ok((f64::from(milliseconds) * 1e6) as u64)
    }
    /// Records an event in a stream.
    pub fn record_event(&self, event: Event, stream: Stream) -> Result<(), Failure> {
        call!(self.cuEventRecord(event.0, stream.0))
    }
    /// Whether all work before the event has ended.
    pub fn event_passed(&self, event: Event) -> Result<bool, Failure> {
        match call!(self.cuEventQuery(event.0)) {
            Ok(()) => Ok(true),
            Err(e) if e.code == NOT_READY => Ok(false),
            Err(e) => Err(e),
        }
    }
    /// Destroys an event.
    pub fn destroy_event(&self, event: Event) -> Result<(), Failure> {
        call!(self.cuEventDestroy_v2(event.0))
    }
}
