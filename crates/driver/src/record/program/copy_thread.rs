//! The copy thread: sees launches end, opens and closes generations, and copies their content to the host.
//!
//! A generation whose launches have all ended is copied and zeroed. Where other launches still run, the
//! launches that have ended are copied by themselves. Such a copy holds everything written so far, so it is
//! made only now and then.
//!
//! # Invariants
//! - The state is locked for bookkeeping only, never while the driver copies.
//! - Every wait ends with the recording.
//! - A launch that was copied is safe, whatever happens to the context.
//!
//! # Limitations
//! The thread polls (every 300 µs while something runs), because the driver has no call that waits for one of
//! many events.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use crate::queue::{CopyBuffer, Failure, Stream, quiet, wait};
use crate::record::program::batch::CopiedBatch;
use crate::record::program::layout::{Area, CURSOR, GENERATIONS, Layout, UsedRanges};
use crate::record::program::limits::IDLE;
use crate::record::program::shared::Shared;
use crate::record::program::state::{Generation, Ownership, Phase, PlacedLaunch, Progress, State};
use crate::session::LOST;

/// Pause between two rounds while launches run.
const BUSY: Duration = Duration::from_micros(300);

/// An open generation is closed after this long if all its launches have ended. A killed program therefore
/// loses only recent launches.
const MOMENT: Duration = Duration::from_millis(2);

/// An open generation is closed after this long if some of its launches have ended and the other one is
/// clean.
const OLD: Duration = Duration::from_millis(50);

/// An open generation is closed when its launches may have this many bytes and the other one is clean. So its
/// copy begins before the program waits for it.
const MUCH: u64 = 32 << 20;

/// Ended launches are copied from among running ones when their generation is this old, unless a thread waits
/// for them.
const AMONG: Duration = Duration::from_millis(250);

/// Copies of ended launches and of tables take at most one part in this many of the time.
const PART: u32 = 10;

/// A copy is polled without pauses for this long.
const SPIN: Duration = Duration::from_micros(100);

/// Pause between two checks of a copy after that.
const PAUSE: Duration = Duration::from_micros(50);

/// Time that the recording may take to end after a request from a signal handler.
const END_ON_SIGNAL: Duration = Duration::from_secs(2);

/// The copy thread, with the data that only it uses.
pub(super) struct CopyThread {
    stream: Stream,
    /// For cursors and for parts of generations.
    bulk: Box<dyn CopyBuffer>,
    /// Takes turns with `bulk` while a generation is copied: one is filled while the other is read.
    other: Box<dyn CopyBuffer>,
    /// Generation whose cursor is being read.
    looking: Option<usize>,
    /// Number of the last request for copies that this round answers.
    copies_requested: u64,
    /// Earliest time of the next copy of ended launches from among running ones.
    among: Instant,
    /// Earliest time of the next copy of the tables.
    tables: Instant,
}

/// The length of the used part of the pool, and that part with heads and hashes behind it, unless there is no
/// host memory for them.
type CopiedGeneration = (usize, Option<Vec<u8>>);

/// The next copy to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CopyTask {
    /// All launches of a generation. It is cleaned afterwards if no launch of it runs.
    WholeGeneration(usize),
    /// The ended launches of a generation.
    EndedLaunches(usize),
}

impl CopyThread {
    pub fn new(stream: Stream, [bulk, other]: [Box<dyn CopyBuffer>; 2]) -> CopyThread {
        CopyThread {
            stream,
            bulk,
            other,
            looking: None,
            copies_requested: 0,
            among: Instant::now(),
            tables: Instant::now(),
        }
    }

    /// Runs until the recording has ended.
    pub fn run(mut self, shared: &Shared, to: Sender<CopiedBatch>) {
        let _quiet = quiet(&*shared.queue);
        let entered = shared.queue.enter();
        if let Err(e) = entered.and_then(|()| self.rounds(shared, &to)) {
            shared.fail(&mut shared.lock(), e);
        }
        deliver_surviving(shared, &to);
        // A failure ends the recording. Until the program ends, later launches are still listed as lost.
        loop {
            let mut state = shared.lock();
            check_end_request(shared, &mut state);
            if state.deadline.is_some() {
                break;
            }
            drop(shared.changed.wait_timeout(state, IDLE));
        }
    }

    fn rounds(&mut self, shared: &Shared, to: &Sender<CopiedBatch>) -> Result<(), Failure> {
        loop {
            let mut state = shared.lock();
            if state.pause_requests > 0 && !state.context_destroyed && state.failed.is_none() {
                // The context may be destroyed soon.
                self.end_shared(shared, state)?;
                self.tables(shared)?;
                state = shared.lock();
            }
            while state.pause_requests > 0 && state.failed.is_none() {
                state.paused = true;
                shared.changed.notify_all();
                state = shared.changed.wait_timeout(state, IDLE).unwrap_or_else(|e| e.into_inner()).0;
            }
            if state.context_destroyed || state.failed.is_some() {
                return Ok(());
            }
            (state.paused, self.copies_requested) = (false, state.copies_requested);
            let hurried = state.copies_answered < self.copies_requested;
            // A closed generation is copied when its last launches have ended, whoever launches next.
            let closing = state.generations.iter().any(|g| g.phase == Phase::Closed && g.pending > 0);
            if hurried || closing || state.deadline.is_some() {
                self.end_shared(shared, state)?;
            } else {
                drop(state);
            }
            self.events(shared)?;
            self.look(shared)?;
            let mut state = shared.lock();
            check_end_request(shared, &mut state);
            if state.failed.is_some() {
                return Ok(());
            }
            let hurried = state.copies_answered < self.copies_requested;
            let old = state.tables.at.is_none_or(|at| at.elapsed() > state.tables.every);
            if state.stale() && (hurried || old) && Instant::now() >= self.tables {
                drop(state);
                self.tables(shared)?;
                state = shared.lock();
            }
            rotate_generations(&mut state, &shared.layout, hurried);
            let due = self.due(shared, &state, hurried);
            match due {
                Some(due) => {
                    state = self.copy_out(shared, state, due, to)?;
                    shared.changed.notify_all();
                }
                None if state.deadline.is_some()
                    && state.generations.iter().all(|g| g.launches.is_empty()) =>
                {
                    // Launches that still run have written to them as well.
                    state.tables.stale = true;
                    drop(state);
                    return self.tables(shared);
                }
                None => {}
            }
            if hurried && due.is_none() {
                state.copies_answered = self.copies_requested;
                shared.changed.notify_all();
            }
            if state.copies_requested == self.copies_requested {
                let done = state.generations.iter().any(|g| g.done > 0);
                let busy =
                    done || !state.waiting.is_empty() || state.deadline.is_some() || self.looking.is_some();
                drop(shared.changed.wait_timeout(state, if busy { BUSY } else { IDLE }));
            }
        }
    }

    /// Records the event of launches that would share that of a later launch. The program has mostly waited
    /// for them, so it passes soon.
    fn end_shared(&self, shared: &Shared, mut state: MutexGuard<'_, State>) -> Result<(), Failure> {
        let Some(stream) = state.sharing.1 else { return Ok(()) };
        shared.record_shared_end(&mut state);
        let event = state.waiting.get(&stream).and_then(|all| all.back()).map(|last| last.event);
        drop(state);
        let start = Instant::now();
        while let Some(event) = event
            && start.elapsed() < SPIN
            && !shared.queue.event_passed(event)?
        {
            std::thread::yield_now();
        }
        Ok(())
    }

    /// Chooses the next copy. `hurried` means that a thread of the program waits for ended launches.
    fn due(&self, shared: &Shared, state: &State, hurried: bool) -> Option<CopyTask> {
        // What a generation holds is not known exactly before its cursor is read.
        let held = |g: &Generation| {
            let pool = g.filled.saturating_add(g.estimated_bytes).min(shared.layout.pool);
            pool + g.arena.copied()
        };
        let most = state.generations.iter().map(held).max().unwrap_or(0);
        if state.host_bytes > 0 && state.host_bytes + most > shared.host {
            return None;
        }
        let last = state.deadline.is_some_and(near_deadline);
        let of = |i: &usize| &state.generations[*i];
        let first = |all: &dyn Fn(&Generation) -> bool| {
            (0..GENERATIONS).filter(|i| all(of(i))).min_by_key(|i| of(i).since)
        };
        let whole = first(&|g| g.phase == Phase::Closed && (g.pending == 0 || last));
        let old = |g: &Generation| g.since.is_some_and(|since| since.elapsed() > AMONG);
        let rested = Instant::now() >= self.among;
        let ended = || first(&|g| g.done > 0 && (hurried || rested && old(g)));
        whole.map(CopyTask::WholeGeneration).or_else(|| ended().map(CopyTask::EndedLaunches))
    }

    /// Marks launches as ended whose events have passed.
    fn events(&self, shared: &Shared) -> Result<(), Failure> {
        loop {
            let fronts: Vec<_> = {
                let state = shared.lock();
                state
                    .waiting
                    .iter()
                    .filter_map(|(s, all)| all.front().map(|f| (*s, f.event, f.start)))
                    .collect()
            };
            let mut passed = Vec::new();
            for (stream, event, start) in fronts {
                if shared.queue.event_passed(event)? {
                    let nanos = start.map(|start| shared.queue.elapsed_between(start, event)).transpose()?;
                    passed.push((stream, nanos, Instant::now()));
                }
            }
            if passed.is_empty() {
                return Ok(());
            }
            let mut state = shared.lock();
            for (stream, nanos, now) in passed {
                // Only this thread removes from the front, but a failure may have removed everything.
                let Some(all) = state.waiting.get_mut(&stream) else { continue };
                let front = all.pop_front();
                if all.is_empty() {
                    state.waiting.remove(&stream);
                }
                if let Some(front) = front {
                    state.events.extend(front.start.into_iter().chain([front.event]));
                    front.places.iter().for_each(|place| state.seen(place, front.seen.unwrap_or(now)));
                    front.places.iter().zip(nanos).for_each(|(place, nanos)| state.ran(place, nanos));
                    front.places.iter().for_each(|place| state.ended(place, Progress::Done));
                }
            }
            drop(state);
            shared.changed.notify_all();
        }
    }

    /// Reads how much of the open generation's pool is in use.
    fn look(&mut self, shared: &Shared) -> Result<(), Failure> {
        if !self.bulk.done()? {
            return Ok(());
        }
        let mut state = shared.lock();
        if let Some(i) = self.looking.take() {
            state.generations[i].answered(number(self.bulk.bytes()));
        }
        let open =
            state.open.filter(|i| state.generations[*i].pending > 0 || state.generations[*i].ended > 0);
        let Some(i) = open else { return Ok(()) };
        let cursor = state.generations[i].area.cursor;
        state.generations[i].ask();
        drop(state);
        self.bulk.copy_from_device(self.stream, &[(cursor, 8)])?;
        self.looking = Some(i);
        Ok(())
    }

    /// Copies a generation and sends it to the decode thread. Cleans the generation if no launch writes to it
    /// any more.
    fn copy_out<'s>(
        &mut self,
        shared: &'s Shared,
        mut state: MutexGuard<'s, State>,
        due: CopyTask,
        to: &Sender<CopiedBatch>,
    ) -> Result<MutexGuard<'s, State>, Failure> {
        let (CopyTask::WholeGeneration(i) | CopyTask::EndedLaunches(i)) = due;
        let g = &mut state.generations[i];
        let (area, all, contexts, running) = (g.area, g.arena.used(), g.arena.contexts(), g.pending > 0);
        let used = UsedRanges::of(
            &shared.layout,
            &g.arena,
            g.launches.iter().map(|placed| (placed.slot, placed.writes_streams())),
        );
        let slots =
            g.launches.iter().filter(|p| p.ownership == Ownership::Exclusive).map(|p| p.slot).collect();
        let launches = match due {
            CopyTask::WholeGeneration(_) => {
                g.phase = Phase::Draining;
                let mut all = state.take(i);
                all.retain(PlacedLaunch::counts);
                all
            }
            CopyTask::EndedLaunches(_) => g.take_ended(),
        };
        drop(state);
        self.looking = None;
        let start = Instant::now();
        let mut read = self.read(shared, &area, &used, &launches);
        if matches!(due, CopyTask::EndedLaunches(_)) {
            self.among = Instant::now() + start.elapsed() * PART;
        }
        let batch = match &mut read {
            Ok(Some((pool, bytes))) => {
                // The data is in host memory, so threads that wait for it can go on.
                self.answer(shared);
                match bytes.take() {
                    Some(bytes) => {
                        let pool = *pool;
                        let used = used.clone();
                        Ok(CopiedBatch { area, used, bytes, pool, slots, launches, dead: None })
                    }
                    None => Err((launches, "there was no host memory for it".to_owned())),
                }
            }
            Ok(None) => Err((launches, "it was not read back in time".to_owned())),
            Err(e) => {
                let dead = format!("{} ({})", e.text, e.name);
                match surviving_bytes(shared, all) {
                    Some(bytes) => Ok(CopiedBatch {
                        area,
                        used: UsedRanges::whole(all),
                        bytes,
                        pool: 0,
                        slots,
                        launches,
                        dead: Some(dead),
                    }),
                    None => Err((launches, format!("{LOST}: {dead}"))),
                }
            }
        };
        let mut state = shared.lock();
        let sent = batch.and_then(|batch| {
            state.host_bytes += batch.bytes.len() as u64;
            to.send(batch).map_err(|e| (e.0.launches, "there is nobody to take it".to_owned()))
        });
        if let Err((launches, why)) = sent {
            launches.into_iter().for_each(|placed| state.add_unrecorded(placed.launch, &why));
        }
        let Some((pool, _)) = read? else { return Ok(state) };
        if running || matches!(due, CopyTask::EndedLaunches(_)) {
            // The generation is not clean: launches in it still run, or the recording is at its end.
            return Ok(state);
        }
        drop(state);
        // The next launches may have their heads where contexts lie now.
        let contexts = (contexts.0, contexts.1 as usize);
        let others = [(area.pool, pool), (area.cursor, CURSOR as usize), contexts];
        let all: Vec<_> = others.into_iter().chain(used.iter()).collect();
        self.bulk.zero_device(self.stream, &all)?;
        let done = self.settle(shared)?;
        let mut state = shared.lock();
        if done {
            state.generations[i].reset(shared.layout);
            state.progress += 1;
            state.reopen();
        }
        Ok(state)
    }

    /// Copies a probe program's tables to the host, if they may have changed since the last copy.
    fn tables(&mut self, shared: &Shared) -> Result<(), Failure> {
        let used = {
            let mut state = shared.lock();
            // A launch that ends from here on marks them as changed again.
            if !state.stale() {
                return Ok(());
            }
            state.tables.stale = false;
            state.tables.used as usize
        };
        self.looking = None;
        let (begun, from) = (Instant::now(), shared.layout.tables_at(shared.base));
        let mut copied = Vec::new();
        let mut whole = copied.try_reserve_exact(used).is_ok() && self.settle(shared)?;
        while whole && copied.len() < used {
            let part = (used - copied.len()).min(self.bulk.size());
            self.bulk.copy_from_device(self.stream, &[(from + copied.len() as u64, part)])?;
            whole = self.settle(shared)?;
            copied.extend_from_slice(self.bulk.bytes().unwrap_or_default());
        }
        self.tables = Instant::now() + begun.elapsed() * PART;
        let mut state = shared.lock();
        match whole {
            true => (state.tables.copied, state.tables.at) = (copied.into(), Some(begun)),
            false => state.tables.stale = true,
        }
        Ok(())
    }

    /// Answers the requests for copies if no ended launch is left to copy.
    fn answer(&self, shared: &Shared) {
        let mut state = shared.lock();
        if state.copies_answered < self.copies_requested && state.generations.iter().all(|g| g.done == 0) {
            state.copies_answered = self.copies_requested;
            shared.changed.notify_all();
        }
    }

    /// Copies a generation to the host: the used part of the pool, then heads and hashes. `launches` are to
    /// be delivered. `None` if time ran out.
    fn read(
        &mut self,
        shared: &Shared,
        area: &Area,
        used: &UsedRanges,
        launches: &[PlacedLaunch],
    ) -> Result<Option<CopiedGeneration>, Failure> {
        if !self.settle(shared)? {
            return Ok(None);
        }
        if let Some(hasher) = &shared.hasher {
            hasher.start(&*shared.queue, launches, self.stream)?;
        }
        self.bulk.copy_from_device(self.stream, &[(area.cursor, 8)])?;
        if !self.settle(shared)? {
            return Ok(None);
        }
        let chunk = shared.layout.chunk();
        let taken = (number(self.bulk.bytes()).min(shared.layout.pool) / chunk * chunk) as usize;
        let all = taken + used.bytes() as usize;
        let spare = shared.lock().take_spare(all);
        let mut bytes = spare.unwrap_or_default();
        if bytes.try_reserve_exact(all).is_err() {
            return Ok(Some((taken, None)));
        }
        let ranges = [(area.pool, taken)].into_iter().chain(used.iter());
        let copies = divide(ranges, self.bulk.size());
        for (i, parts) in copies.iter().enumerate() {
            std::mem::swap(&mut self.bulk, &mut self.other);
            self.bulk.copy_from_device(self.stream, parts)?;
            if i > 0 {
                self.other.append_to(&mut bytes);
            }
            if !self.settle(shared)? {
                return Ok(None);
            }
        }
        if !copies.is_empty() {
            self.bulk.append_to(&mut bytes);
        }
        Ok(Some((taken, Some(bytes))))
    }

    /// Waits for the copies in progress. Returns false if time runs out.
    fn settle(&mut self, shared: &Shared) -> Result<bool, Failure> {
        let start = Instant::now();
        wait(&mut *self.bulk, || {
            if start.elapsed() < SPIN {
                // The lock is left to threads that launch.
                std::thread::yield_now();
                return true;
            }
            std::thread::sleep(PAUSE);
            let deadline = shared.lock().deadline;
            deadline.is_none_or(|d| Instant::now() < d)
        })
    }
}

/// Copies a part of the memory of a failed context, if that memory is the host's.
fn surviving_bytes(shared: &Shared, used: (u64, u64)) -> Option<Vec<u8>> {
    shared.mapped.as_ref()?.copy(used.0, used.1)
}

/// Delivers what the launches of a failed context left in host memory. Such memory has no pool.
fn deliver_surviving(shared: &Shared, to: &Sender<CopiedBatch>) {
    let mut state = shared.lock();
    let Some(dead) = state.failed.clone().filter(|_| state.survives_context) else { return };
    for i in 0..GENERATIONS {
        let (area, used) = (state.generations[i].area, state.generations[i].arena.used());
        let mut launches = state.take(i);
        launches.retain(PlacedLaunch::counts);
        let Some(bytes) = surviving_bytes(shared, used).filter(|_| !launches.is_empty()) else {
            launches.into_iter().for_each(|placed| state.add_unrecorded(placed.launch, &dead));
            continue;
        };
        let slots = launches.iter().filter(|p| p.ownership == Ownership::Exclusive).map(|p| p.slot).collect();
        state.host_bytes += bytes.len() as u64;
        let _ = to.send(CopiedBatch {
            area,
            used: UsedRanges::whole(used),
            bytes,
            pool: 0,
            slots,
            launches,
            dead: Some(dead.clone()),
        });
    }
}

/// Closes and opens generations, by age and by how full they are, and when a thread waits for ended launches.
fn rotate_generations(state: &mut State, layout: &Layout, hurried: bool) {
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
    let age = g.since.map_or(Duration::ZERO, |since| since.elapsed());
    let ended = g.pending == 0 && (hurried || age > MOMENT);
    let filling = g.filled + g.estimated_bytes > layout.capacity() / 2 || g.arena.left() < layout.arena / 4;
    let full = g.filled > layout.pool / 4 * 3;
    let much = g.filled + g.arena.copied() > MUCH;
    if !g.launches.is_empty() && (full || other && (ended || age > OLD || filling || much)) {
        state.close();
        state.reopen();
    }
}

/// Divides ranges (address and bytes) into groups of at most `most` bytes.
fn divide(ranges: impl IntoIterator<Item = (u64, usize)>, most: usize) -> Vec<Vec<(u64, usize)>> {
    let (mut groups, mut left) = (Vec::<Vec<(u64, usize)>>::new(), 0);
    for (mut from, mut size) in ranges {
        while size > 0 {
            if left == 0 {
                groups.push(Vec::new());
                left = most.max(1);
            }
            let part = size.min(left);
            groups.last_mut().into_iter().for_each(|group| group.push((from, part)));
            (from, size, left) = (from + part as u64, size - part, left - part);
        }
    }
    groups
}

/// Whether the recording must copy what it has now, because only the time for copies is left before this
/// deadline.
fn near_deadline(deadline: Instant) -> bool {
    deadline.saturating_duration_since(Instant::now()) < Duration::from_millis(500)
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// Sets the deadline if a signal handler asked for the end.
fn check_end_request(shared: &Shared, state: &mut State) {
    if shared.end_requested.load(Ordering::Acquire) {
        state.deadline.get_or_insert_with(|| Instant::now() + END_ON_SIGNAL);
    }
}
