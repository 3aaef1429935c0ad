//! What a recorder knows at a time: its generations, who waits for what, and what goes wrong.
//!
//! # Invariants
//! A launch that was placed is in one generation until it is taken out of it with all others, once; `pending`
//! of a generation is how many of its launches may still write. Nothing here calls the driver.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::launch::Launch;

use super::layout::{Area, Arena, ContextKind, GENERATIONS, Layout, Slot};
use super::tables::Tables;
use crate::cuda::library::handles::{Event, Stream};
use crate::cuda::library::pinned::PinnedBuffer;
use crate::cuda::recorder::size_estimate::SizeHistory;

/// A launch, and how far it is.
pub(super) struct PlacedLaunch {
    pub plan: Arc<Plan>,
    pub launch: Launch,
    pub slot: Slot,
    pub progress: Progress,
    pub ownership: Ownership,
    /// Bytes of the pool that it is likely to take.
    pub size_estimate: u64,
    pub host_times: HostTimes,
}

/// What the host knows of a launch by its own clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostTimes {
    /// When the driver was called to launch it, and when it answered.
    pub called: Option<[Instant; 2]>,
    /// When its end was seen first.
    pub seen: Option<Instant>,
}

/// Whose its streams are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ownership {
    /// Its own.
    Exclusive,
    /// Another launch may have written to the same heads.
    Shared,
    /// The same, and it is handed on from another generation: it only holds this one.
    Placeholder,
}

impl PlacedLaunch {
    /// Whether it is to be handed on.
    pub fn counts(&self) -> bool {
        matches!(self.progress, Progress::Pending | Progress::Done)
            && self.ownership != Ownership::Placeholder
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// It may run, or yet be launched.
    Pending,
    /// It has ended.
    Done,
    /// It has ended, and was copied already.
    Taken,
    /// It never was.
    Cancelled,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// All zero, and nobody's.
    Clean,
    /// Launches go there.
    Open,
    /// No more launches go there; it is drained when they have ended.
    Closed,
    /// The copy thread has it.
    Draining,
}

/// One of the two halves of the memory.
pub(super) struct Generation {
    pub area: Area,
    pub arena: Arena,
    pub phase: Phase,
    /// Carved, with contexts that lie in device memory.
    pub ready: BTreeMap<ContextKind, Vec<Slot>>,
    /// How many of a kind were asked for, in this round and in the last.
    pub asked: BTreeMap<ContextKind, usize>,
    pub before: BTreeMap<ContextKind, usize>,
    pub launches: Vec<PlacedLaunch>,
    /// Launches that may still write.
    pub pending: usize,
    /// Launches that have ended and are to be copied.
    pub done: usize,
    /// How often the launches were taken out: tells their places from those of earlier rounds.
    pub round: u64,
    /// When its first launch was placed.
    pub since: Option<Instant>,
    /// Bytes of the pool that were handed out, when last looked.
    pub filled: u64,
    /// Bytes that were promised to launches whose part is not in `filled` for certain; of those that have
    /// ended; of those that had ended when the cursor was asked for.
    pub estimated_bytes: u64,
    pub ended: u64,
    pub asked_for: u64,
}

/// Where launches were placed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placement {
    pub generation: usize,
    pub round: u64,
    pub launches: Range<usize>,
}

/// Launches that end when an event passes.
pub(super) struct AwaitedEvent {
    pub event: Event,
    /// The event before a launch that is timed.
    pub start: Option<Event>,
    pub places: Vec<Placement>,
    /// When it was seen first that it had passed.
    pub seen: Option<Instant>,
}

/// A launch of a graph that may write through a node's context.
#[derive(Clone)]
pub(super) struct NodeUser {
    pub exec: u32,
    pub places: Vec<Placement>,
}

/// How many launches there were, and what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Launches that were to be recorded.
    pub requested: u64,
    /// Handed on, whole.
    pub recorded: u64,
    /// Handed on, but still running when the recording ended.
    pub unfinished: u64,
    /// Handed on without anything recorded, for the reason that stands in them.
    pub unrecorded: u64,
    /// Likewise, but too many at a time to be handed on: only counted.
    pub unlisted: u64,
    /// Not launched after all.
    pub cancelled: u64,
}

/// How long the recorder's thread took for what it was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeSpent {
    /// Taking streams apart.
    pub decoding: Duration,
    /// Handing launches on: packing and writing, mostly.
    pub delivery: Duration,
}

/// Launches of which nothing is recorded that are kept at a time.
const UNRECORDED: usize = 1 << 16;

pub(super) struct State {
    pub generations: [Generation; GENERATIONS],
    pub open: Option<usize>,
    /// By stream, in order.
    pub waiting: BTreeMap<Stream, VecDeque<AwaitedEvent>>,
    /// Events that nobody waits for; they have clocks.
    pub events: Vec<Event>,
    /// Grows with everything that ends and everything that is drained.
    pub progress: u64,
    /// `progress` when somebody waited in vain: as long as it stays, nobody waits again.
    pub stalled: Option<u64>,
    /// Launches of which nothing is recorded, to be handed on.
    pub unrecorded: Vec<Launch>,
    pub counts: Counts,
    pub time_spent: TimeSpent,
    /// What launches took.
    pub size_history: SizeHistory,
    /// A probe program's.
    pub tables: Tables,
    /// Bytes that were copied to the host and are not yet handed on.
    pub host_bytes: u64,
    /// How often somebody asked for what has ended, and which of these was the last that came too late to be
    /// waited for.
    pub copies_requested: u64,
    pub copies_answered: u64,
    /// How long threads of the program waited for what has ended.
    pub waited: Duration,
    /// How many threads keep the copy thread from calling the driver, and whether it does not.
    pub pause_requests: u32,
    pub paused: bool,
    /// The context was destroyed, and nothing went with it.
    pub context_destroyed: bool,
    /// Why nothing can be recorded any more.
    pub failed: Option<String>,
    /// What launches left can still be read then.
    pub survives_context: bool,
    /// When the recording has to have ended.
    pub deadline: Option<Instant>,
    pub finished: bool,
    /// For contexts.
    pub upload: PinnedBuffer,
    /// The last of these copies took longer than anybody waits.
    pub late: bool,
    /// For contexts of graph nodes: in use by streams of the program, or not.
    pub staging: Vec<PinnedBuffer>,
    /// Nodes that have no context.
    pub free_nodes: Vec<u32>,
    /// By node, those that have not ended.
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
    /// Whether launches that are promised so many bytes may be let in: nobody else is there, or nobody's part
    /// is touched.
    pub fn has_room(&self, layout: &Layout, size_estimate: u64) -> bool {
        self.launches.is_empty()
            || self.filled.saturating_add(self.estimated_bytes + size_estimate) <= layout.capacity()
    }
    /// Takes the launches that have ended; their places stay.
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
    /// The cursor is asked for.
    pub fn ask(&mut self) {
        self.asked_for = self.ended;
    }
    /// The cursor was there when it was asked for: what had ended is in it.
    pub fn answered(&mut self, filled: u64) {
        self.filled = filled;
        self.estimated_bytes -= self.asked_for;
        self.ended -= self.asked_for;
        self.asked_for = 0;
    }
    /// As new, but for its counts; its memory is zero again.
    pub fn reset(&mut self, layout: Layout) {
        let (asked, round) = (std::mem::take(&mut self.asked), self.round);
        *self = Generation { before: asked, round, ..Generation::new(layout, self.area) };
    }
    /// How many contexts to make at a time for a kind: as many as are likely to be wanted, but never much of
    /// the room.
    pub fn batch(&self, kind: ContextKind) -> usize {
        let asked = |of: &BTreeMap<ContextKind, usize>| of.get(&kind).copied().unwrap_or(0);
        asked(&self.asked).max(asked(&self.before).saturating_sub(asked(&self.asked))).clamp(1, 64)
    }
}

impl State {
    /// Puts launches into a generation, whose slots they have.
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
    /// The launches of a place, if they are still there.
    pub fn at(&mut self, place: &Placement) -> Option<&mut [PlacedLaunch]> {
        let g = &mut self.generations[place.generation];
        if g.round == place.round { g.launches.get_mut(place.launches.clone()) } else { None }
    }
    /// Whether some of these may still write.
    pub fn writing(&mut self, places: &[Placement]) -> bool {
        places
            .iter()
            .any(|p| self.at(p).is_some_and(|all| all.iter().any(|p| p.progress == Progress::Pending)))
    }
    /// Whether a probe program's tables may hold more than the last copy of them.
    pub fn stale(&self) -> bool {
        self.tables.used > 0 && (self.tables.stale || self.generations.iter().any(|g| g.pending > 0))
    }
    /// The driver was called to launch them, and has answered.
    pub fn called(&mut self, places: &[Placement], called: Option<[Instant; 2]>) {
        for place in places {
            self.at(place).into_iter().flatten().for_each(|placed| placed.host_times.called = called);
        }
    }
    /// That they have ended was seen.
    pub fn seen(&mut self, place: &Placement, at: Instant) {
        for placed in self.at(place).into_iter().flatten().filter(|p| p.progress == Progress::Pending) {
            placed.host_times.seen = Some(at);
        }
    }
    /// A launch has ended, and this is how long it ran.
    pub fn ran(&mut self, place: &Placement, nanos: u64) {
        for placed in self.at(place).into_iter().flatten().filter(|p| p.progress == Progress::Pending) {
            placed.launch.totals.instrumented = nanos;
        }
    }
    /// They have ended, or never were.
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
    /// A launch of which nothing is recorded.
    pub fn add_unrecorded(&mut self, mut launch: Launch, why: &str) {
        if self.unrecorded.len() >= UNRECORDED || self.finished {
            self.counts.unlisted += 1;
            return;
        }
        launch.skipped = Some(why.to_owned());
        self.counts.unrecorded += 1;
        self.unrecorded.push(launch);
    }
    /// Lets no more launches into the open generation.
    pub fn close(&mut self) {
        if let Some(i) = self.open.take() {
            let g = &mut self.generations[i];
            g.phase = if g.launches.is_empty() { Phase::Clean } else { Phase::Closed };
        }
    }
    /// Opens a clean generation, if there is one and none is open; whether one is open.
    pub fn reopen(&mut self) -> bool {
        if self.open.is_none() {
            self.open = self.generations.iter().position(|g| g.phase == Phase::Clean);
            if let Some(i) = self.open {
                self.generations[i].phase = Phase::Open;
            }
        }
        self.open.is_some()
    }
    /// Takes all launches out of a generation.
    pub fn take(&mut self, generation: usize) -> Vec<PlacedLaunch> {
        let g = &mut self.generations[generation];
        (g.pending, g.done, g.round) = (0, 0, g.round + 1);
        std::mem::take(&mut g.launches)
    }
    /// The context was destroyed: nothing more is recorded.
    pub fn destroyed(&mut self) {
        if self.generations.iter().any(|g| g.launches.iter().any(PlacedLaunch::counts)) {
            self.die("its context was destroyed");
        }
        self.context_destroyed = true;
        self.deadline.get_or_insert_with(Instant::now);
    }
    /// Nothing works any more: what is not drained is lost, and said to be.
    pub fn die(&mut self, why: &str) {
        if self.failed.is_some() {
            return;
        }
        self.failed = Some(why.to_owned());
        self.waiting.clear();
        if self.survives_context {
            return;
        }
        let lost = format!("lost with its context: {why}");
        let late = format!("it had ended, but was not copied before it was lost with its context: {why}");
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
