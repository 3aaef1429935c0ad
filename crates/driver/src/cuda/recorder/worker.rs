//! The recorder's thread: sees launches end, opens and closes generations, drains them, hands launches on.
//!
//! Holds: the state is locked for bookkeeping alone, never while the driver copies or the sink works; every wait ends
//! with the recording. Misses: it looks again and again (every 300 µs while something runs), for the driver has no call
//! that waits for one of many events.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prlx_trace::Recording;
use prlx_trace::kernel::FaultKind;
use prlx_trace::launch::Fault;

use super::layout::{CURSOR, GENERATIONS, Layout};
use super::state::{Fate, Phase, Placed, Progress, State};
use super::{Finished, Shared};
use crate::cuda::library::{Context, Dma, Failure, Stream};
use crate::drain::{Memory, Pool, drain};
use crate::record::{recording, wanted};

/// How long it sleeps while something runs, and while nothing does.
const BUSY: Duration = Duration::from_micros(300);
const IDLE: Duration = Duration::from_millis(10);
/// An open generation is drained after this long, if the other is clean: what a killed program leaves is not older.
const OLD: Duration = Duration::from_millis(250);
/// How long the end may take that a signal asks for.
const HURRY: Duration = Duration::from_secs(2);
/// Lanes in a warp.
const WARP: u8 = 32;

type Sink = Box<dyn FnMut(Finished) + Send>;

/// What is the thread's alone.
pub(super) struct Worker {
    stream: Stream,
    /// For cursors and for whole generations.
    bulk: Dma,
    /// The generation whose cursor is being read.
    looking: Option<usize>,
}

impl Worker {
    pub fn new(stream: Stream, bulk: Dma) -> Worker {
        Worker { stream, bulk, looking: None }
    }

    /// Until the recording has ended.
    pub fn run(mut self, shared: &Shared, context: Context, mut sink: Sink) {
        shared.library.relaxed(|| {
            let entered = shared.library.enter(context);
            if let Err(e) = entered.and_then(|()| self.rounds(shared, &mut sink)) {
                shared.fail(&mut shared.lock(), e);
            }
            // What failed ends recording; that launches are lost is still said, until the program ends.
            loop {
                say(shared, &mut sink);
                let mut state = shared.lock();
                ending(shared, &mut state);
                if state.deadline.is_some() && state.unrecorded.is_empty() {
                    state.finished = true;
                    break;
                }
                drop(shared.changed.wait_timeout(state, IDLE));
            }
            shared.finished.store(true, Ordering::Release);
            shared.changed.notify_all();
        });
    }

    fn rounds(&mut self, shared: &Shared, sink: &mut Sink) -> Result<(), Failure> {
        loop {
            say(shared, sink);
            self.events(shared)?;
            self.look(shared)?;
            let mut state = shared.lock();
            ending(shared, &mut state);
            if state.dead.is_some() {
                return Ok(());
            }
            turn(&mut state, &shared.layout);
            let last = state.deadline.is_some_and(closing);
            let due = (0..GENERATIONS).filter(|&i| {
                let g = &state.generations[i];
                g.phase == Phase::Closed && (g.pending == 0 || last)
            });
            let due = due.min_by_key(|&i| state.generations[i].since);
            match due {
                Some(i) => {
                    state = self.drained(shared, state, i, sink)?;
                    shared.changed.notify_all();
                }
                None if state.deadline.is_some() && state.generations.iter().all(|g| g.launches.is_empty()) => {
                    return Ok(());
                }
                None => {}
            }
            let busy = !state.waiting.is_empty() || state.deadline.is_some() || self.looking.is_some();
            let sleep = if busy { BUSY } else { IDLE };
            drop(shared.changed.wait_timeout(state, sleep));
        }
    }

    /// Takes launches whose events have passed as ended.
    fn events(&self, shared: &Shared) -> Result<(), Failure> {
        loop {
            let fronts: Vec<_> = {
                let state = shared.lock();
                state.waiting.iter().filter_map(|(s, all)| Some((*s, all.front()?.event))).collect()
            };
            let mut passed = Vec::new();
            for (stream, event) in fronts {
                if shared.library.passed(event)? {
                    passed.push(stream);
                }
            }
            if passed.is_empty() {
                return Ok(());
            }
            let mut state = shared.lock();
            for stream in passed {
                // Only this thread takes from the front, but everything may be lost meanwhile.
                let Some(all) = state.waiting.get_mut(&stream) else { continue };
                let front = all.pop_front();
                if all.is_empty() {
                    state.waiting.remove(&stream);
                }
                if let Some(front) = front {
                    state.events.push(front.event);
                    front.places.iter().for_each(|place| state.ended(place, Progress::Done));
                }
            }
            drop(state);
            shared.changed.notify_all();
        }
    }

    /// Looks how full the open generation's pool is.
    fn look(&mut self, shared: &Shared) -> Result<(), Failure> {
        if !self.bulk.done()? {
            return Ok(());
        }
        let mut state = shared.lock();
        if let Some(i) = self.looking.take() {
            state.generations[i].answered(number(self.bulk.bytes()));
        }
        let open = state.open.filter(|i| state.generations[*i].pending > 0 || state.generations[*i].ended > 0);
        let Some(i) = open else { return Ok(()) };
        let cursor = state.generations[i].area.cursor;
        state.generations[i].ask();
        drop(state);
        self.bulk.fetch(self.stream, &[(cursor, 8)])?;
        self.looking = Some(i);
        Ok(())
    }

    /// Hands on what is in a closed generation, and cleans it, if nothing writes there any more.
    fn drained<'s>(
        &mut self,
        shared: &'s Shared,
        mut state: MutexGuard<'s, State>,
        i: usize,
        sink: &mut Sink,
    ) -> Result<MutexGuard<'s, State>, Failure> {
        let running = state.generations[i].pending > 0;
        let (area, used) = (state.generations[i].area, state.generations[i].arena.used());
        state.generations[i].phase = Phase::Draining;
        let mut launches = state.take(i);
        launches.retain(Placed::counts);
        drop(state);
        self.looking = None;
        let read = self.read(shared, &area, used);
        let bytes = match &read {
            Ok(Some(bytes)) => bytes,
            other => {
                let why = match other {
                    Err(e) => format!("lost with its context: {} ({})", e.text, e.name),
                    Ok(_) => "it was not read back in time".to_owned(),
                };
                let mut state = shared.lock();
                for placed in launches {
                    state.unrecorded(placed.launch, &why);
                }
                return read.map(|_| state);
            }
        };
        self.hand_on(shared, &area, used, *bytes, launches, sink);
        if running {
            // It is not clean, and the recording is at its end.
            return Ok(shared.lock());
        }
        self.bulk
            .zero(self.stream, &[(area.pool, *bytes), (area.cursor, CURSOR as usize), (used.0, used.1 as usize)])?;
        let done = self.bulk.settle(|| pause(shared))?;
        let mut state = shared.lock();
        if done {
            state.generations[i].reset(shared.layout);
            state.progress += 1;
            state.reopen();
        }
        Ok(state)
    }

    /// Copies a generation to the host: the part of the pool that was handed out, whose length this gives, then heads
    /// and hashes. `None` when it did not come in time.
    fn read(
        &mut self,
        shared: &Shared,
        area: &super::layout::Area,
        used: (u64, u64),
    ) -> Result<Option<usize>, Failure> {
        if !self.bulk.settle(|| pause(shared))? {
            return Ok(None);
        }
        self.bulk.fetch(self.stream, &[(area.cursor, 8)])?;
        if !self.bulk.settle(|| pause(shared))? {
            return Ok(None);
        }
        let chunk = shared.layout.chunk();
        let taken = (number(self.bulk.bytes()).min(shared.layout.pool) / chunk * chunk) as usize;
        self.bulk.fetch(self.stream, &[(area.pool, taken), (used.0, used.1 as usize)])?;
        Ok(self.bulk.settle(|| pause(shared))?.then_some(taken))
    }

    /// Hands launches on, with what was copied.
    fn hand_on(
        &self,
        shared: &Shared,
        area: &super::layout::Area,
        used: (u64, u64),
        pool: usize,
        launches: Vec<Placed>,
        sink: &mut Sink,
    ) {
        let (pool, arena) = self.bulk.bytes().unwrap_or_default().split_at_checked(pool).unwrap_or_default();
        let part = |at: u64, from: u64, bytes: u64| {
            let from = (at.wrapping_sub(used.0).wrapping_add(from)) as usize;
            arena.get(from..).and_then(|a| a.get(..bytes as usize)).unwrap_or_default()
        };
        let parts = |placed: &Placed| {
            let (first, last) = wanted(&placed.plan.program, &placed.launch);
            let room = |warps| shared.layout.room(warps).unwrap_or_default();
            let (before, all) = (room(first), room(last - first));
            let slot = &placed.slot;
            (part(slot.heads, before.0, all.0), part(slot.finals, before.1, all.1), first)
        };
        let all = launches.iter().filter(|p| p.fate == Fate::Own).map(|p| parts(p).0);
        let mut pool = Pool::new(shared.layout.level, WARP, area.pool, pool, area.bucket, all);
        for placed in launches {
            if placed.fate != Fate::Own {
                shared
                    .lock()
                    .unrecorded(placed.launch, "two instances of its graph ran at once, and wrote to one place");
                continue;
            }
            let (heads, finals, first_warp) = parts(&placed);
            let sites = placed.plan.module.sites.len();
            let drained = drain(&mut pool, Memory { first_warp, heads, finals, sites });
            let took = drained.bytes.saturating_add(shared.layout.bytes(drained.dropped));
            shared.lock().learned.learn(&placed.launch, placed.slot.kind.recorded(), took);
            let mut launch = placed.launch;
            let whole = placed.progress == Progress::Done;
            if !whole {
                let text = "it still ran when the recording ended".to_owned();
                launch.fault = Some(Fault { kind: FaultKind::Stuck, text, unfinished: None });
            }
            let (recording, damage) = recording(&placed.plan, launch, drained);
            sink(Finished { recording, damage });
            let mut state = shared.lock();
            if whole {
                state.counts.recorded += 1;
            } else {
                state.counts.unfinished += 1;
            }
            state.progress += 1;
        }
    }
}

/// Opens and closes generations, as they are full.
fn turn(state: &mut State, layout: &Layout) {
    if state.deadline.is_some() {
        state.close();
    }
    let Some(i) = state.open else {
        if state.deadline.is_none() {
            state.reopen();
        }
        return;
    };
    let other = state.generations.iter().any(|g| g.phase == Phase::Clean);
    let g = &state.generations[i];
    let old = g.since.is_some_and(|since| since.elapsed() > OLD);
    let filling = g.filled + g.promised > layout.capacity() / 2 || g.arena.left() < layout.arena / 4;
    let full = g.filled > layout.pool / 4 * 3;
    if !g.launches.is_empty() && (full || other && (old || filling)) {
        state.close();
        state.reopen();
    }
}

/// Whether a recording with this deadline must take what there is now: the half of the time that is left for copies has
/// begun.
fn closing(deadline: Instant) -> bool {
    deadline.saturating_duration_since(Instant::now()) < Duration::from_millis(500)
}

/// Sleeps a moment while something is copied; false when there is no more time.
fn pause(shared: &Shared) -> bool {
    std::thread::sleep(Duration::from_micros(50));
    let deadline = shared.lock().deadline;
    deadline.is_none_or(|d| Instant::now() < d)
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// Hands on the launches of which nothing is recorded.
fn say(shared: &Shared, sink: &mut Sink) {
    let said = std::mem::take(&mut shared.lock().unrecorded);
    for launch in said {
        sink(Finished { recording: Recording { launch, ..Recording::default() }, damage: Vec::new() });
    }
}

/// Takes notice of a signal's wish to end.
fn ending(shared: &Shared, state: &mut State) {
    if shared.hurry.load(Ordering::Acquire) {
        state.deadline.get_or_insert_with(|| Instant::now() + HURRY);
    }
}
