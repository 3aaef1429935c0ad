//! The state of a recorder: its generations, the launches that have not ended, and failures. No function of
//! this module calls the driver.
//!
//! # Invariants
//! - A placed launch is in exactly one generation, until all launches are taken out of it together.
//! - `pending` of a generation is the number of its launches that may still write.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::launch::Launch;

use crate::queue::{CopyBuffer, Event, Stream};
use crate::record::memory::context::{ContextKind, Slot};
use crate::record::program::layout::{Area, Arena, GENERATIONS, Layout};
use crate::record::program::limits::{BRIEF, SHARING};
use crate::record::program::size_estimate::SizeHistory;
use crate::record::program::tables::Tables;
use crate::session::LOST;

/// A launch with its slot and its progress.
pub(super) struct PlacedLaunch {
    pub plan: Arc<Plan>,
    pub launch: Launch,
    pub slot: Slot,
    pub progress: Progress,
    pub ownership: Ownership,
    /// Estimated bytes of the pool.
    pub size_estimate: u64,
    pub host_times: HostTimes,
}

/// Times of a launch by the host's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostTimes {
    /// When the driver was called for the launch, and when it returned.
    pub called: Option<[Instant; 2]>,
    /// When its end was first noticed.
    pub seen: Option<Instant>,
}

/// Whether other launches write to the same slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ownership {
    /// Only this launch writes to its slot.
    Exclusive,
    /// Another launch may have written to the slot.
    Shared,
    /// Another launch may have written to the slot, and another generation delivers this one. It only keeps
    /// this generation.
    Placeholder,
}

impl PlacedLaunch {
    /// Whether the launch can write more than what its warps leave at their end.
    pub fn writes_streams(&self) -> bool {
        self.plan.most_elements(self.launch.kernel) != Some(0)
    }
    /// Whether this generation delivers the launch.
    pub fn counts(&self) -> bool {
        matches!(self.progress, Progress::Pending | Progress::Done)
            && self.ownership != Ownership::Placeholder
    }
}

/// How far a launch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It may be running, or may still be launched.
    Pending,
    /// It has ended.
    Done,
    /// It has ended and is copied.
    Taken,
    /// It was never launched.
    Cancelled,
}

/// What a generation is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// All of it is zero, and no launch uses it.
    Clean,
    /// New launches are placed here.
    Open,
    /// No new launches are placed here. It is copied when its launches have ended.
    Closed,
    /// The copy thread is copying it.
    Draining,
}

/// One half of the memory.
pub(super) struct Generation {
    pub area: Area,
    pub arena: Arena,
    pub phase: Phase,
    /// Slots whose contexts are in device memory and that no launch uses yet.
    pub ready: BTreeMap<ContextKind, Vec<Slot>>,
    /// Number of contexts that launches asked for since the generation was clean, by kind.
    pub asked: BTreeMap<ContextKind, usize>,
    /// The same numbers before it was last cleaned.
    pub before: BTreeMap<ContextKind, usize>,
    pub launches: Vec<PlacedLaunch>,
    /// Number of launches that may still write.
    pub pending: usize,
    /// Number of launches that have ended and are not copied.
    pub done: usize,
    /// How often the launches were taken out. Older placements are no longer valid.
    pub round: u64,
    /// When the first launch was placed.
    pub since: Option<Instant>,
    /// Bytes of the pool in use, when it was last read.
    pub filled: u64,
    /// Estimates of the launches whose bytes may not be part of `filled`.
    pub estimated_bytes: u64,
    /// The part of `estimated_bytes` whose launches have ended.
    pub ended: u64,
    /// The part of `ended` when the read of the cursor began.
    pub asked_for: u64,
}

/// Position of launches in a generation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placement {
    pub generation: usize,
    pub round: u64,
    pub launches: Range<usize>,
}

/// An event, with the launches that have ended when it passes.
pub(super) struct AwaitedEvent {
    pub event: Event,
    /// Event before the launch of the first placement, if it is timed.
    pub start: Option<Event>,
    pub places: Vec<Placement>,
    /// When it was first seen that the event has passed.
    pub seen: Option<Instant>,
}

/// A launch of a graph that may write through a node's context.
#[derive(Clone)]
pub(super) struct NodeUser {
    pub exec: u32,
    pub places: Vec<Placement>,
}

/// Numbers of launches by outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Launches that should be recorded.
    pub requested: u64,
    /// Delivered with all data.
    pub recorded: u64,
    /// Delivered, but still running when the recording ended.
    pub unfinished: u64,
    /// Delivered without data, with the reason.
    pub unrecorded: u64,
    /// Without data, and only counted, because too many were waiting for delivery.
    pub unlisted: u64,
    /// Not launched after all.
    pub cancelled: u64,
}

impl Counts {
    /// Launches that were delivered with data.
    pub fn delivered(&self) -> u64 {
        self.recorded + self.unfinished
    }
}

/// Time that the decode thread has spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeSpent {
    /// Decoding of streams.
    pub decoding: Duration,
    /// Delivering launches: mostly compressing and writing.
    pub delivery: Duration,
}

/// Maximum number of launches without data that wait for delivery.
const UNRECORDED: usize = 1 << 16;

pub(super) struct State {
    pub generations: [Generation; GENERATIONS],
    pub open: Option<usize>,
    /// Events by stream, in their order there.
    pub waiting: BTreeMap<Stream, VecDeque<AwaitedEvent>>,
    /// Launches into the legacy default stream that will share the event of a later one, and that stream.
    pub sharing: (Vec<Placement>, Option<Stream>),
    /// Free events, all with timing.
    pub events: Vec<Event>,
    /// Grows whenever a launch ends or a generation is cleaned.
    pub progress: u64,
    /// Value of `progress` when a launch waited in vain. While it stays the same, no launch waits.
    pub stalled: Option<u64>,
    /// Launches without data, to be delivered.
    pub unrecorded: Vec<Launch>,
    pub counts: Counts,
    pub time_spent: TimeSpent,
    /// What earlier launches used.
    pub size_history: SizeHistory,
    /// Tables of probe programs.
    pub tables: Tables,
    /// Bytes that are copied to the host and not yet delivered.
    pub host_bytes: u64,
    /// Memory of delivered batches, for the next ones: new memory takes longer to map than to fill.
    pub spares: Vec<Vec<u8>>,
    /// Number of requests for copies of ended launches.
    pub copies_requested: u64,
    /// Number of the last request that was answered.
    pub copies_answered: u64,
    /// Time that threads of the program have waited for copies.
    pub waited: Duration,
    /// Number of threads that keep the copy thread from calling the driver.
    pub pause_requests: u32,
    /// Whether the copy thread has stopped calling the driver.
    pub paused: bool,
    /// The context was destroyed, and no launch was lost with it.
    pub context_destroyed: bool,
    /// Why nothing can be recorded any more.
    pub failed: Option<String>,
    /// Whether the memory is the host's, so that it can be read after the context has failed.
    pub survives_context: bool,
    /// When the recording must have ended.
    pub deadline: Option<Instant>,
    pub finished: bool,
    /// For contexts of single launches.
    pub upload: Box<dyn CopyBuffer>,
    /// The last of these copies took longer than launches wait.
    pub late: bool,
    /// For contexts of graph nodes; some may be in use by streams of the program.
    pub staging: Vec<Box<dyn CopyBuffer>>,
    /// Nodes without a context.
    pub free_nodes: Vec<u32>,
    /// Launches that have not ended, by node.
    pub users: BTreeMap<u32, Vec<NodeUser>>,
}

impl Generation {
    pub fn new(layout: Layout, area: Area) -> Generation {
        Generation {
            area,
            arena: Arena::new(layout, area),
            phase: Phase::Clean,
            ready: BTreeMap::new(),
            asked: BTreeMap::new(),
            before: BTreeMap::new(),
            launches: Vec::new(),
            pending: 0,
            done: 0,
            round: 0,
            since: None,
            filled: 0,
            estimated_bytes: 0,
            ended: 0,
            asked_for: 0,
        }
    }
    /// Whether launches with this estimate may be placed here: the generation is empty, or the estimate does
    /// not touch the others' share.
    pub fn has_room(&self, layout: &Layout, size_estimate: u64) -> bool {
        self.launches.is_empty()
            || self.filled.saturating_add(self.estimated_bytes + size_estimate) <= layout.capacity()
    }
    /// Takes the ended launches out; their positions stay.
    pub fn take_ended(&mut self) -> Vec<PlacedLaunch> {
        self.done = 0;
        let ended = self.launches.iter_mut().filter(|p| p.progress == Progress::Done && p.counts());
        let take = |placed: &mut PlacedLaunch| {
            let (plan, launch) = (Arc::clone(&placed.plan), std::mem::take(&mut placed.launch));
            placed.progress = Progress::Taken;
            let (slot, ownership, size_estimate, host_times) =
                (placed.slot, placed.ownership, placed.size_estimate, placed.host_times);
            PlacedLaunch {
                plan,
                launch,
                slot,
                progress: Progress::Done,
                ownership,
                size_estimate,
                host_times,
            }
        };
        ended.map(take).collect()
    }
    /// Notes that the cursor is being read.
    pub fn ask(&mut self) {
        self.asked_for = self.ended;
    }
    /// The cursor was read: it includes everything that had ended when the read began.
    pub fn answered(&mut self, filled: u64) {
        self.filled = filled;
        self.estimated_bytes -= self.asked_for;
        self.ended -= self.asked_for;
        self.asked_for = 0;
    }
    /// Makes the generation clean. Its memory is zero again; the numbers of requested contexts are kept.
    pub fn reset(&mut self, layout: Layout) {
        let (asked, round) = (std::mem::take(&mut self.asked), self.round);
        *self = Generation { before: asked, round, ..Generation::new(layout, self.area) };
    }
    /// How many contexts of a kind to make at a time: as many as will probably be needed, but never many at
    /// once.
    pub fn batch(&self, kind: ContextKind) -> usize {
        let asked = |of: &BTreeMap<ContextKind, usize>| of.get(&kind).copied().unwrap_or(0);
        asked(&self.asked).max(asked(&self.before).saturating_sub(asked(&self.asked))).clamp(1, 64)
    }
}

impl State {
    /// Puts launches with their slots into a generation.
    pub fn place(
        &mut self,
        generation: usize,
        launches: impl IntoIterator<Item = PlacedLaunch>,
    ) -> Placement {
        let g = &mut self.generations[generation];
        let first = g.launches.len();
        g.launches.extend(launches);
        g.pending += g.launches.len() - first;
        g.estimated_bytes += g.launches[first..].iter().map(|p| p.size_estimate).sum::<u64>();
        g.since.get_or_insert_with(Instant::now);
        self.tables.stale = true;
        Placement { generation, round: g.round, launches: first..g.launches.len() }
    }
    /// The launches of a placement, if they are still there.
    pub fn at(&mut self, place: &Placement) -> Option<&mut [PlacedLaunch]> {
        let g = &mut self.generations[place.generation];
        if g.round == place.round { g.launches.get_mut(place.launches.clone()) } else { None }
    }
    /// Whether some of these launches may still write.
    pub fn writing(&mut self, places: &[Placement]) -> bool {
        places
            .iter()
            .any(|p| self.at(p).is_some_and(|all| all.iter().any(|p| p.progress == Progress::Pending)))
    }
    /// Whether a probe program's tables may have changed since the last copy.
    pub fn stale(&self) -> bool {
        self.tables.used > 0 && (self.tables.stale || self.generations.iter().any(|g| g.pending > 0))
    }
    /// Notes when the driver was called for these launches, and when it returned.
    pub fn called(&mut self, places: &[Placement], called: Option<[Instant; 2]>) {
        for place in places {
            self.at(place).into_iter().flatten().for_each(|placed| placed.host_times.called = called);
        }
    }
    /// Notes when their end was first noticed.
    pub fn seen(&mut self, place: &Placement, at: Instant) {
        for placed in self.at(place).into_iter().flatten().filter(|p| p.progress == Progress::Pending) {
            placed.host_times.seen = Some(at);
        }
    }
    /// Notes how long a launch ran.
    pub fn ran(&mut self, place: &Placement, nanos: u64) {
        let mut kernels = Vec::new();
        for placed in self.at(place).into_iter().flatten().filter(|p| p.progress == Progress::Pending) {
            placed.launch.totals.instrumented = nanos;
            kernels.push((placed.launch.module, placed.launch.kernel));
        }
        kernels.into_iter().for_each(|kernel| self.size_history.learn_time(kernel, nanos));
    }
    /// Whether a launch into this stream may share the event of a later launch: the stream is busy, and more
    /// events would delay it. The stream must be the [default one](crate::queue::Queue::is_default): any
    /// other may be captured or destroyed while its last launches have no event.
    pub fn may_share(&self, launch: &Launch, stream: Stream) -> bool {
        let brief = self.size_history.time((launch.module, launch.kernel)).is_some_and(|n| n < BRIEF);
        brief && self.waiting.contains_key(&stream) && self.sharing.0.len() < SHARING
    }
    /// Notes that launches have ended or were never made.
    pub fn ended(&mut self, place: &Placement, how: Progress) {
        let (mut ended, mut counted, mut estimated_bytes) = (0, 0, 0);
        for placed in self.at(place).into_iter().flatten().filter(|p| p.progress == Progress::Pending) {
            counted += usize::from(placed.counts());
            placed.progress = how;
            estimated_bytes += placed.size_estimate;
            ended += 1;
        }
        let g = &mut self.generations[place.generation];
        (g.pending, g.ended) = (g.pending - ended, g.ended + estimated_bytes);
        match how {
            Progress::Cancelled => self.counts.cancelled += counted as u64,
            _ => g.done += counted,
        }
        self.progress += 1;
        self.tables.stale = true;
    }
    /// Lists a launch without data.
    pub fn add_unrecorded(&mut self, mut launch: Launch, why: &str) {
        if self.unrecorded.len() >= UNRECORDED || self.finished {
            self.counts.unlisted += 1;
            return;
        }
        launch.skipped = Some(why.to_owned());
        self.counts.unrecorded += 1;
        self.unrecorded.push(launch);
    }
    /// Closes the open generation.
    pub fn close(&mut self) {
        if let Some(i) = self.open.take() {
            let g = &mut self.generations[i];
            g.phase = if g.launches.is_empty() { Phase::Clean } else { Phase::Closed };
        }
    }
    /// Opens a clean generation if none is open. Returns whether one is open.
    pub fn reopen(&mut self) -> bool {
        if self.open.is_none() {
            self.open = self.generations.iter().position(|g| g.phase == Phase::Clean);
            if let Some(i) = self.open {
                self.generations[i].phase = Phase::Open;
            }
        }
        self.open.is_some()
    }
    /// Memory of a delivered batch for a copy of this many bytes: the smallest that is large enough, else the
    /// largest.
    pub fn take_spare(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let fits = |spare: &&Vec<u8>| spare.capacity() >= bytes;
        let i = self.spares.iter().position(|spare| fits(&spare)).or(self.spares.len().checked_sub(1))?;
        Some(self.spares.remove(i))
    }
    /// Keeps the memory of a delivered batch, unless more than `most` bytes would be kept.
    pub fn keep_spare(&mut self, mut spare: Vec<u8>, most: u64) {
        spare.clear();
        let kept: usize = self.spares.iter().map(Vec::capacity).sum();
        if self.host_bytes.saturating_add((kept + spare.capacity()) as u64) <= most {
            let i = self.spares.partition_point(|other| other.capacity() < spare.capacity());
            self.spares.insert(i, spare);
        }
    }
    /// Takes all launches out of a generation.
    pub fn take(&mut self, generation: usize) -> Vec<PlacedLaunch> {
        let g = &mut self.generations[generation];
        (g.pending, g.done, g.round) = (0, 0, g.round + 1);
        std::mem::take(&mut g.launches)
    }
    /// Notes that the context was destroyed. Nothing more is recorded.
    pub fn destroyed(&mut self) {
        if self.generations.iter().any(|g| g.launches.iter().any(PlacedLaunch::counts)) {
            self.die("its context was destroyed");
        }
        self.context_destroyed = true;
        self.deadline.get_or_insert_with(Instant::now);
    }
    /// Ends the recording after a failure. Launches that are not copied are listed as lost, unless the memory
    /// survives.
    pub fn die(&mut self, why: &str) {
        if self.failed.is_some() {
            return;
        }
        self.failed = Some(why.to_owned());
        self.waiting.clear();
        self.sharing.0.clear();
        if self.survives_context {
            return;
        }
        let lost = format!("{LOST}: {why}");
        let late = format!("it had ended, but was not copied before it was {LOST}: {why}");
        for i in 0..GENERATIONS {
            for placed in self.take(i).into_iter().filter(PlacedLaunch::counts) {
                self.add_unrecorded(
                    placed.launch,
                    if placed.progress == Progress::Done { &late } else { &lost },
                );
            }
        }
    }
}
