//! Types that describe a launch on its way through the recorder.

use std::sync::Arc;
use std::time::Instant;

use prlx_plan::Plan;
use prlx_trace::device::HiddenParameter;
use prlx_trace::launch::Launch;
use prlx_trace::mark::Marks;
use prlx_trace::{Recording, TableContents};

use crate::queue::Event;
use crate::record::program::state::{HostTimes, Placement};

/// A launch as the sink receives it, recorded or not.
#[derive(Clone, PartialEq, Debug)]
pub struct Finished {
    /// The launch with totals and streams, or with [`Launch::skipped`] set if it has none.
    pub recording: Recording,
    /// Contents of a probe program's records.
    pub tallies: Vec<TableContents>,
    /// Tracks of the launch, if it has markers.
    pub marks: Option<Marks>,
    /// Faults found in the recorded bytes.
    pub damage: Vec<String>,
    /// Times by the host's clock.
    pub host_times: HostTimes,
}

/// A launch that is not delivered yet.
pub struct Running {
    /// The plan of its module.
    pub plan: Arc<Plan>,
    /// The launch as far as it is known.
    pub launch: Launch,
    /// Tracks that its markers have written so far.
    pub marks: Marks,
}

/// A launch between `begin` and `queued`. Pass it to either `Recorder::queued` or `Recorder::cancel`.
#[must_use]
#[derive(Debug)]
pub struct Ticket {
    /// Hidden parameter with which the program's launch must be made.
    pub hidden: HiddenParameter,
    /// When the driver was called for the launch, and when it returned, if the caller measured it.
    pub called: Option<[Instant; 2]>,
    pub(super) place: Placement,
    pub(super) start: Option<Event>,
    /// It has no event of its own.
    pub(super) shares: bool,
}

/// Why a launch is not recorded. It is made with an empty hidden parameter. The sink still receives it, with
/// the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnrecordedReason {
    /// This recorder cannot record its code.
    Refused,
    /// There is no memory left for it.
    Full,
    /// The recording has ended, or its context failed.
    Ended,
    /// This process was forked from the recording process. Only such launches are not delivered.
    Forked,
}

/// Memory budget of a recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecorderMemory {
    /// Device memory in bytes, allocated once. Half as much host memory is allocated for copies.
    pub device: u64,
    /// Part of `device` for the tables of probe programs, in bytes.
    pub tables: u64,
    /// Whether `device` bytes of host memory are used instead. They are slower for kernels, and survive a
    /// fault.
    pub on_host: bool,
    /// Host memory in bytes for launches that are copied and not yet delivered.
    pub host: u64,
}
