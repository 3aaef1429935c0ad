//! Time limits and sizes of the recorder.

use std::time::Duration;

/// Maximum time that a launch waits for memory, without the time in which launches before it are delivered.
pub const MAX_LAUNCH_WAIT: Duration = Duration::from_secs(1);

/// Maximum time that a launch waits while launches before it are delivered and none of them has been.
pub(super) const MAX_DELIVERY_WAIT: Duration = Duration::from_secs(4);

/// Maximum time that a launch waits for memory while no other launch ends.
pub(super) const STALL: Duration = Duration::from_millis(200);

/// Maximum time of one call of `Recorder::wait_for_copies`.
pub const MAX_COPY_WAIT: Duration = Duration::from_millis(100);

/// Time that `Recorder::wait_for_copies` may take besides a tenth of the run time.
pub(super) const GRACE: Duration = Duration::from_millis(200);

/// Maximum time that a launch waits for the copy of its context. After a longer copy, launches do not wait
/// until it is done.
pub(super) const UPLOAD: Duration = Duration::from_millis(500);

/// A copy of a context is polled without pauses for this long.
pub(super) const SPIN: Duration = Duration::from_micros(200);

/// Maximum number of launches per stream that are queried one by one, if the last one has not ended.
pub(super) const NOTICED: usize = 16;

/// Reason for not recording a launch whose module has no room for its tables.
pub(super) const NO_TABLES: &str = "there was no room for the tables of its module; --memory makes more";

/// Maximum time for zeroing the memory at the start. A busy machine takes seconds.
pub(super) const START: Duration = Duration::from_secs(20);

/// Number of copies of graph contexts that may be in progress before more staging memory is allocated.
/// Allocating may wait for the device.
pub(super) const STAGING: usize = 32;

/// Bytes of each of these copies.
pub(super) const STAGED: usize = 32 << 10;

/// Maximum number of bytes that are copied to the host at once. Pinned memory takes long to allocate.
pub(super) const COPY_PART: u64 = 32 << 20;

/// Maximum number of launches that share an event with a later one.
pub(super) const SHARING: usize = 15;

/// Launches of kernels that take longer than this have events of their own, in nanoseconds. An event costs
/// the stream some 2 us.
pub(super) const BRIEF: u64 = 200_000;

/// Pause between two rounds of a thread that has nothing to do.
pub(super) const IDLE: Duration = Duration::from_millis(10);
