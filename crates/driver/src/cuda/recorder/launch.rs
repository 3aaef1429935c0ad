//! A launch on its way through the recorder, as callers see it.

use std::sync::Arc;
use std::time::Instant;

use prlx_plan::Plan;
use prlx_trace::device::HiddenParameter;
use prlx_trace::launch::Launch;
use prlx_trace::mark::Marks;
use prlx_trace::{Recording, TableContents};

use crate::cuda::library::handles::Event;
use crate::cuda::recorder::state::{HostTimes, Placement};

/// A launch that was recorded, or was to be.
#[derive(Clone, PartialEq, Debug)]
pub struct Finished {
    /// The launch, with totals and streams; with [`Launch::skipped`], if there are none.
    pub recording: Recording,
    /// What a probe program's records hold.
    pub tallies: Vec<TableContents>,
    /// What its markers left, if it has any.
    pub marks: Option<Marks>,
    /// What was wrong with the bytes that the kernel left.
    pub damage: Vec<String>,
    /// What the host did, and when.
    pub host_times: HostTimes,
}

/// A launch that is not handed on yet.
pub struct Running {
    /// What was put into its code.
    pub plan: Arc<Plan>,
    /// What is known of it.
    pub launch: Launch,
    /// What its markers have left.
    pub marks: Marks,
}

/// A launch between `begin` and `queued`. It goes to either `Recorder::queued` or `Recorder::cancel`.
#[must_use]
#[derive(Debug)]
pub struct Ticket {
    /// The hidden parameter.
    pub hidden: HiddenParameter,
    /// When the driver was called for the launch, and when it answered, if that was looked at.
    pub called: Option<[Instant; 2]>,
    pub(super) place: Placement,
    pub(super) start: Option<Event>,
}

/// Why a launch is not recorded: it is made with 0 as its hidden parameter. It is handed on all the same,
/// saying why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnrecordedReason {
    /// Its code can't be recorded by this recorder.
    Refused,
    /// There is no room for it.
    Full,
    /// The recording has ended, or its context is dead.
    Ended,
    /// This process was forked from the one that records. Only this is not handed on.
    Forked,
}

/// The memory of a recorder: bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecorderMemory {
    /// Of the device, taken at once; the host's memory holds half as much for copies.
    pub device: u64,
    /// How many of them are for the tables of probe programs.
    pub tables: u64,
    /// They are the host's own, which the device reaches: slower, and still there when a fault has taken the
    /// context.
    pub kept: bool,
    /// Of the host, for what was copied and is not handed on.
    pub host: u64,
}
