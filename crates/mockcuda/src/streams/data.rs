//! Streams and events as data.

use std::collections::{BTreeMap, VecDeque};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::work::Work;

/// A stream.
#[derive(Default)]
pub struct Stream {
    pub(crate) waiting: VecDeque<Item>,
    /// The last number that was put in.
    pub(crate) last: u64,
    /// Neither waits for the legacy stream nor makes it wait.
    pub(crate) free: bool,
    /// A test holds its work back, as a kernel does that spins on a flag.
    pub(crate) held: bool,
    /// The capture that it takes part in, and the nodes that its next one comes after.
    pub capture: Option<(u64, Vec<u64>)>,
}

/// A piece of work.
pub(crate) struct Item {
    pub(crate) number: u64,
    /// What must be done before: in that stream, up to that number.
    pub(crate) after: Vec<(u64, u64)>,
    pub(crate) work: Work,
    /// Of a kernel that is to take long: when it was run.
    pub(crate) since: Option<Instant>,
}

/// An event.
#[derive(Default)]
pub struct Event {
    /// Where it was put last.
    pub(crate) at: Option<(u64, u64)>,
    /// When it passed, nanoseconds.
    pub(crate) time: u64,
    /// The capture that it was put into last, and the nodes it stands behind.
    pub(crate) captured: Option<(u64, Vec<u64>)>,
}

/// All of them.
#[derive(Default)]
pub struct Streams {
    pub all: BTreeMap<u64, Stream>,
    pub events: BTreeMap<u64, Event>,
    /// The threads' own default streams.
    pub(crate) own: BTreeMap<u64, ThreadId>,
    pub(crate) number: u64,
    /// How long a kernel takes at least.
    pub slow: Duration,
}

impl Streams {
    pub fn new(slow: Duration) -> Streams {
        Streams { slow, ..Streams::default() }
    }
}
