//! Streams and events as data.

use std::collections::{BTreeMap, VecDeque};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::work::Work;

/// A stream with its queue.
#[derive(Default)]
pub struct Stream {
    /// Work that has not run, oldest first.
    pub(crate) waiting: VecDeque<QueuedWork>,
    /// Number of the work that was queued last.
    pub(crate) last: u64,
    /// Whether it is independent of the legacy stream (`CU_STREAM_NON_BLOCKING`).
    pub(crate) non_blocking: bool,
    /// Whether a test holds its work back, as a kernel does that spins on a flag.
    pub(crate) on_hold: bool,
    /// The capture that it is part of, and the nodes that its next node comes after.
    pub capture: Option<(u64, Vec<u64>)>,
}

/// Work in a stream's queue.
pub(crate) struct QueuedWork {
    /// Ascends over all streams of the device.
    pub(crate) number: u64,
    /// Work of other streams that runs before: all of that stream, up to that number.
    pub(crate) after: Vec<(u64, u64)>,
    pub(crate) work: Work,
    /// When its kernel ran, if kernels have a minimum time. It leaves the queue after that time.
    pub(crate) ran: Option<Instant>,
}

/// An event of the driver.
#[derive(Default)]
pub struct Event {
    /// Stream and work number of its last record.
    pub(crate) at: Option<(u64, u64)>,
    /// When it passed, by the device's clock, in nanoseconds.
    pub(crate) time: u64,
    /// The capture in which it was recorded last, and the nodes that come before it.
    pub(crate) captured: Option<(u64, Vec<u64>)>,
}

/// Streams and events of a device, by handle.
#[derive(Default)]
pub struct Streams {
    /// Streams, including default streams that were used.
    pub all: BTreeMap<u64, Stream>,
    pub events: BTreeMap<u64, Event>,
    /// Per-thread default streams, with their threads.
    pub(crate) per_thread: BTreeMap<u64, ThreadId>,
    /// Number of the work that was queued last.
    pub(crate) number: u64,
    /// Minimum time of a kernel (`PRLX_MOCK_KERNEL_MICROS`).
    pub min_kernel_time: Duration,
}

impl Streams {
    /// No streams and events yet.
    pub fn new(min_kernel_time: Duration) -> Streams {
        Streams { min_kernel_time, ..Streams::default() }
    }
}
