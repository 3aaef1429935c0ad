//! Streams and events: work waits in the order it was given, and is done when its turn and its time have come.
//!
//! Nothing runs by itself: every call of the driver first does what is due ([`Queues::next`]), in one order that follows
//! from the calls and the clock. Without `PRLX_MOCK_KERNEL_MICROS` and without held streams all work is due at once, so a
//! call does its own work.
//!
//! Holds: a stream's work is done in order; work in the legacy stream waits for all that went before into blocking streams,
//! and they for it; waits see the record that was the event's last when they were made.
//! Misses: the per-thread default stream is one for all threads; kernels of several streams take their time together but
//! are done one after the other.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::device::{Result, code};

/// The legacy default stream, as work is kept for it; callers may also say [`LEGACY_TOO`].
const LEGACY: u64 = 0;
const LEGACY_TOO: u64 = 1;
/// The per-thread default stream.
const PER_THREAD: u64 = 2;

/// A piece of work. `A` is what is done.
pub enum Work<A> {
    /// A kernel, which takes time.
    Kernel(A),
    /// Something that takes none.
    Copy(A),
    /// An event passes: which, and which record of it.
    Record(u64, u64),
    /// Waits for a record of an event.
    Wait(u64, u64),
}

struct Stream<A> {
    blocking: bool,
    held: bool,
    /// With its place in the order of all work.
    work: VecDeque<(u64, Work<A>)>,
    /// Since when the kernel at the front runs.
    since: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Event {
    /// How often it was put into a stream, and which of these records has passed.
    recorded: u64,
    passed: u64,
    /// When it passed, by the device's clock.
    time: u64,
}

/// All streams and events of a context.
pub struct Queues<A> {
    streams: BTreeMap<u64, Stream<A>>,
    events: BTreeMap<u64, Event>,
    given: u64,
    /// How long a kernel takes.
    slow: Duration,
}

impl<A> Queues<A> {
    pub fn new(slow: Duration) -> Queues<A> {
        let mut queues = Queues { streams: BTreeMap::new(), events: BTreeMap::new(), given: 0, slow };
        queues.stream(LEGACY, true);
        queues.stream(PER_THREAD, true);
        queues
    }
    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Queues::new(self.slow);
    }
    /// A new stream, under this handle.
    pub fn stream(&mut self, handle: u64, blocking: bool) {
        self.streams.insert(handle, Stream { blocking, held: false, work: VecDeque::new(), since: None });
    }
    fn known(&mut self, stream: u64) -> Result<&mut Stream<A>> {
        let stream = if stream == LEGACY_TOO { LEGACY } else { stream };
        self.streams.get_mut(&stream).ok_or(code::INVALID_HANDLE)
    }
    /// Holds a stream's work back, or lets it go on.
    pub fn hold(&mut self, stream: u64, held: bool) -> Result<()> {
        self.known(stream).map(|s| s.held = held)
    }
    /// Whether a stream is done with everything.
    pub fn idle(&mut self, stream: u64) -> Result<bool> {
        self.known(stream).map(|s| s.work.is_empty())
    }
    /// Whether everything is done that work given to the legacy stream now would wait for.
    pub fn legacy_idle(&self) -> bool {
        self.streams.values().all(|s| !s.blocking || s.work.is_empty())
    }
    /// Whether everything is done.
    pub fn all_idle(&self) -> bool {
        self.streams.values().all(|s| s.work.is_empty())
    }
    /// Forgets a stream whose work is done; says whether it was.
    pub fn destroy(&mut self, stream: u64) -> Result<bool> {
        let idle = self.idle(stream)?;
        if idle && stream > PER_THREAD {
            self.streams.remove(&stream);
        }
        Ok(idle)
    }
    /// Puts work into a stream; its place in the order of all work.
    pub fn give(&mut self, stream: u64, work: Work<A>) -> Result<u64> {
        self.given += 1;
        let given = self.given;
        self.known(stream)?.work.push_back((given, work));
        Ok(given)
    }

    /// A new event, under this handle.
    pub fn event(&mut self, handle: u64) {
        self.events.insert(handle, Event::default());
    }
    pub fn record(&mut self, event: u64, stream: u64) -> Result<()> {
        self.known(stream)?;
        let known = self.events.get_mut(&event).ok_or(code::INVALID_HANDLE)?;
        known.recorded += 1;
        let number = known.recorded;
        self.give(stream, Work::Record(event, number)).map(drop)
    }
    pub fn wait(&mut self, stream: u64, event: u64) -> Result<()> {
        let number = self.events.get(&event).ok_or(code::INVALID_HANDLE)?.recorded;
        self.give(stream, Work::Wait(event, number)).map(drop)
    }
    /// When an event passed; `None` if it has not.
    pub fn passed(&self, event: u64) -> Result<Option<u64>> {
        let event = self.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        Ok((event.passed >= event.recorded).then_some(event.time))
    }
    pub fn forget(&mut self, event: u64) -> Result<()> {
        self.events.remove(&event).map(drop).ok_or(code::INVALID_HANDLE)
    }

    /// Takes the next thing to do that is due; events pass at `clock`. `None` when nothing is.
    pub fn next(&mut self, clock: u64) -> Option<(u64, A)> {
        let now = Instant::now();
        loop {
            let first = |s: &Stream<A>| s.work.front().map_or(u64::MAX, |w| w.0);
            let legacy = self.streams.get(&LEGACY).map_or(u64::MAX, first);
            let blocking =
                self.streams.iter().filter(|(h, s)| **h != LEGACY && s.blocking).map(|(_, s)| first(s)).min();
            let slow = self.slow;
            let events = &self.events;
            let ready = self.streams.iter_mut().filter(|(_, s)| !s.held).find_map(|(&handle, s)| {
                let (given, work) = s.work.front()?;
                let turn = match handle {
                    LEGACY => blocking.is_none_or(|b| *given < b),
                    _ => !s.blocking || *given < legacy,
                };
                let due = match work {
                    Work::Kernel(_) if turn => now.duration_since(*s.since.get_or_insert(now)) >= slow,
                    // An event that is gone had nothing left to wait for.
                    Work::Wait(event, number) => events.get(event).is_none_or(|e| e.passed >= *number),
                    _ => true,
                };
                (turn && due).then_some(handle)
            })?;
            let stream = self.streams.get_mut(&ready)?;
            stream.since = None;
            match stream.work.pop_front()? {
                (given, Work::Kernel(what) | Work::Copy(what)) => return Some((given, what)),
                (_, Work::Record(event, number)) => {
                    if let Some(event) = self.events.get_mut(&event) {
                        (event.passed, event.time) = (number, clock);
                    }
                }
                (_, Work::Wait(..)) => {}
            }
        }
    }
}
