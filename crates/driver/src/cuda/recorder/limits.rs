//! Time limits and sizes of the recorder.

use std::time::Duration;

/// The longest that a launch is kept waiting for room.
pub const MAX_LAUNCH_WAIT: Duration = Duration::from_secs(1);

/// The longest that it is when nothing ends meanwhile.
pub(super) const STALL: Duration = Duration::from_millis(200);

/// The longest that a program waits for launches to be copied after it has waited for them itself, and how
/// long it may besides its share of the time.
pub const MAX_COPY_WAIT: Duration = Duration::from_millis(100);

pub(super) const GRACE: Duration = Duration::from_millis(200);

/// The longest that a launch waits for its context to be copied, and how long it looks without a pause. When
/// a copy takes longer, nobody waits for it any more.
pub(super) const UPLOAD: Duration = Duration::from_millis(500);

pub(super) const SPIN: Duration = Duration::from_micros(200);

/// How many launches of a stream are asked after one by one when the last of them has not ended.
pub(super) const NOTICED: usize = 16;

/// Why a launch is not recorded whose module's tables have no room.
pub(super) const NO_TABLES: &str = "there was no room for the tables of its module; --memory makes more";

/// The longest that the memory's first zeroing is waited for: a machine that is busy with other things takes
/// seconds for it.
pub(super) const START: Duration = Duration::from_secs(20);

/// How many launches of graphs may have copies of contexts under way, and bytes of each, before more memory
/// for them is allocated: drivers may wait for the device then.
pub(super) const STAGING: usize = 32;

pub(super) const STAGED: usize = 32 << 10;

pub(super) const IDLE: Duration = Duration::from_millis(10);

/// Lanes in a warp.
pub(super) const WARP: u8 = 32;
