//! Records launches of a program that knows nothing of it: many at a time, from any thread, into memory that is
//! bounded.
//!
//! **Way of a launch.** [`Recorder::begin`] places it and gives the hidden parameter, which leads to its context; the
//! program's launch is made with it; [`Recorder::queued`] puts an event behind it into its stream, as `begin` did before it:
//! between them lies how long it ran. A thread of the
//! recorder's own (`worker`) sees the event pass and copies what was recorded to the host beside the program's work; another
//! (`scribe`) takes it apart and hands the launch on. After the program has waited for its launches itself,
//! [`Recorder::bring_in`] waits until they are copied: they are safe then.
//!
//! **Generations.** Device memory is taken once and split in two (`layout`). Launches go to the open generation. When
//! that fills, or is a moment old, the other is opened if it is clean; a closed one is drained when all its launches
//! have ended, zeroed, and clean again.
//!
//! **Room.** A launch is promised what it is likely to write (`promise`), and a generation takes launches as long as what was
//! written and what is promised fit into it; one launch at least, however large. When neither has room, `begin` waits a little,
//! and only as long as launches still end. Then the launch goes where its heads have room, and what runs over is counted; if
//! they have none it runs unrecorded and is said to.
//!
//! **Contexts** lie in device memory and are copied there before the launch, many of a kind at a time, while the
//! launching thread waits for the copy, which nothing of the program's can hold up for long. An event for the program's
//! stream to wait for could end up behind a kernel that waits for the host; contexts in the host's memory would be read
//! over the bus by every warp.
//!
//! **Graphs.** A node's context has a place of its own ([`Recorder::node`]), whose address is what the graph was built
//! with. Before each launch of the graph, [`Recorder::replay`] puts fresh contexts there by a copy in the graph's own
//! stream; one of zeros records nothing.
//!
//! **Probe programs** have no streams. Their records lie where launches' hashes do; their tables are a module's (`tables`), are copied
//! by the same thread, and [`Recorder::tallies`] says what was in them.
//!
//! **Markers** leave tracks, which are a launch's and come back with it. How much room a track gets is a guess, half of a generation for
//! a launch, until a launch of the same kernel has said how much it wanted.
//!
//! **Use.** One recorder a context, made before anything runs there that waits for the host: at its first module. Where
//! a call is for the thread's own default stream, the stream is `CU_STREAM_PER_THREAD`. A stream that is captured takes
//! nodes, not launches. Before the context is reset or destroyed, and before the process ends, [`Recorder::finish`].
//!
//! Holds: nothing is allocated, freed, set or waited for in a stream of the program, but for the copies before a
//! graph's launch, and their wait for the same graph's launch before, for which the graph itself would wait; no call
//! breaks a capture; every wait of a thread of the program is bounded, by [`PATIENCE`] at most; asked = recorded +
//! unfinished + unrecorded + unsaid + cancelled when the recording has ended. A forked child records nothing.
//! Misses: what is taken from the driver goes back with the context, for freeing waits for the device; events between
//! two launches end the overlap of programmatic dependent launches; times of the launches of graphs; a launch into a
//! stream that has nothing to do is timed from when its event came there; a kernel that never ends holds its generation
//! until the end, so half of the memory is left; what had ended before a fault and was not yet copied is lost with the
//! context, for only the host's memory can be read then ([`Recorder::queued_alone`] loses nothing); digests of the program's buffers; nodes of a graph that run several times in one launch of it (bodies of
//! loops) would write over themselves and must not be given contexts.

mod graph;
mod layout;
mod promise;
mod running;
mod scribe;
mod state;
mod tables;
mod worker;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::device::Handed;
use prlx_trace::device::tracks::{BEYOND, fits};
use prlx_trace::launch::Launch;
use prlx_trace::mark::Marks;
use prlx_trace::{Level, Recording, TableContents};

use self::layout::{CONTEXT, Kind, Layout, NODES, Probing, Slot};
use self::promise::Learned;
use self::state::{Fate, Generation, Phase, Place, Placed, Progress, State, Waiting};
use self::tables::Tables;
use super::library::{Context, Dma, Event, Failure, Library, Mapped, Stream};
use crate::{Error, ErrorKind};

pub use self::graph::{NodeId, Replay};
pub use self::state::{Counts, Spent, Told};

/// The longest that a launch is kept waiting for room.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// The longest that it is when nothing ends meanwhile.
const STALL: Duration = Duration::from_millis(200);
/// The longest that a program waits for launches to be copied after it has waited for them itself, and how long it may
/// besides its share of the time.
pub const BRING_IN: Duration = Duration::from_millis(100);
const GRACE: Duration = Duration::from_millis(200);
/// The longest that a launch waits for its context to be copied, and how long it looks without a pause. When a copy takes
/// longer, nobody waits for it any more.
const UPLOAD: Duration = Duration::from_millis(500);
const SPIN: Duration = Duration::from_micros(200);

/// How many launches of a stream are asked after one by one when the last of them has not ended.
const NOTICED: usize = 16;

/// Why a launch is not recorded whose module's tables have no room.
const NO_TABLES: &str = "there was no room for the tables of its module; --memory makes more";

/// The longest that the memory's first zeroing is waited for: a machine that is busy with other things takes seconds for it.
const START: Duration = Duration::from_secs(20);

/// How many launches of graphs may have copies of contexts under way, and bytes of each, before more memory for them
/// is allocated: drivers may wait for the device then.
const STAGING: usize = 32;
const STAGED: usize = 32 << 10;

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
    pub told: Told,
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

/// A launch between `begin` and `queued`. It goes to either [`Recorder::queued`] or [`Recorder::cancel`].
#[must_use]
#[derive(Debug)]
pub struct Ticket {
    /// The hidden parameter.
    pub handed: Handed,
    /// When the driver was called for the launch, and when it answered, if that was looked at.
    pub called: Option<[Instant; 2]>,
    place: Place,
    start: Option<Event>,
}

/// Why a launch is not recorded: it is made with 0 as its hidden parameter. It is handed on all the same, saying why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unrecorded {
    /// Its code can't be recorded by this recorder.
    Refused,
    /// There is no room for it.
    Full,
    /// The recording has ended, or its context is dead.
    Ended,
    /// This process was forked from the one that records. Only this is not handed on.
    Forked,
}

/// What is used by the program's threads and the recorder's own.
struct Shared {
    library: Library,
    layout: Layout,
    /// Where the device memory begins.
    base: u64,
    /// That memory, where it is the host's: what is in it can be read when the context is dead.
    kept: Option<Mapped>,
    /// For contexts; never behind copies of what was recorded.
    upload_stream: Stream,
    pid: u32,
    state: Mutex<State>,
    changed: Condvar,
    /// Bytes that may be copied to the host and not yet handed on.
    host: u64,
    began: Instant,
    hurry: AtomicBool,
    finished: AtomicBool,
}

/// The memory of a recorder: bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Of the device, taken at once; the host's memory holds half as much for copies.
    pub device: u64,
    /// How many of them are for the tables of probe programs.
    pub tables: u64,
    /// They are the host's own, which the device reaches: slower, and still there when a fault has taken the context.
    pub kept: bool,
    /// Of the host, for what was copied and is not handed on.
    pub host: u64,
}

/// Records launches in one context of CUDA.
pub struct Recorder {
    shared: Arc<Shared>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held; if it did, what is there is still consistent enough to end with.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Ends the recording after a call that failed.
    fn fail(&self, state: &mut State, failure: Failure) {
        state.die(&failure.during("recording").message);
        self.changed.notify_all();
    }

    /// What the contexts of a launch say of a probe program; `None`: there is no room for its tables.
    fn probing(&self, state: &mut State, plan: &Arc<Plan>, launch: &Launch) -> Option<Probing> {
        state.tables.probing(&self.layout, self.layout.tables_at(self.base), plan, launch)
    }

    /// What kind of launch it is.
    fn kind(&self, state: &State, plan: &Plan, launch: &Launch, probing: Probing) -> Kind {
        let kind = Kind::of(plan, launch, probing);
        match &plan.kept.tracks {
            Some(tracks) => kind.tracked(&self.layout, tracks, state.learned.track(launch)),
            None => kind,
        }
    }

    /// A slot in a generation, for a launch of a kind; `None` when there is no room.
    fn slot(&self, state: &mut State, generation: usize, kind: Kind) -> Result<Option<Slot>, Failure> {
        let State { generations, upload, late, .. } = state;
        let g = &mut generations[generation];
        if g.ready.get(&kind).is_none_or(Vec::is_empty) {
            let (start, patient) = (Instant::now(), !*late);
            let mut pause = || {
                match start.elapsed() < SPIN {
                    true => std::thread::yield_now(),
                    false => std::thread::sleep(SPIN / 4),
                }
                patient && start.elapsed() < UPLOAD
            };
            *late = !upload.settle(&mut pause)?;
            if *late {
                return Ok(None);
            }
            let half = g.arena.left() / 2;
            let mut slots: Vec<Slot> = Vec::new();
            for _ in 0..g.batch(kind) {
                if !slots.is_empty() && g.arena.left() < half {
                    break;
                }
                slots.extend(g.arena.carve(kind, true));
            }
            let Some(first) = slots.first() else { return Ok(None) };
            let mut bytes = vec![0; slots.len() * CONTEXT as usize];
            for (to, slot) in bytes.chunks_exact_mut(CONTEXT as usize).zip(&slots) {
                let context = g.arena.context(slot).to_bytes();
                to[..context.len()].copy_from_slice(&context);
            }
            let stream = self.upload_stream;
            upload.send(stream, &[(first.context, &bytes)])?;
            *late = !upload.settle(&mut pause)?;
            if *late {
                return Ok(None);
            }
            g.ready.entry(kind).or_default().extend(slots);
        }
        let slot = g.ready.get_mut(&kind).and_then(Vec::pop);
        *g.asked.entry(kind).or_default() += usize::from(slot.is_some());
        Ok(slot)
    }

    /// Places launches of these kinds in one generation, with what `find` finds there for them all, as soon as there is
    /// room for what is promised to them.
    fn room<'s, T>(
        &self,
        mut state: MutexGuard<'s, State>,
        kinds: &[Kind],
        promise: u64,
        mut find: impl FnMut(&mut State, usize) -> Result<Option<T>, Failure>,
    ) -> (MutexGuard<'s, State>, Result<(usize, T), Unrecorded>) {
        let start = Instant::now();
        let (mut seen, mut still, mut late) = (state.progress, start, false);
        loop {
            if state.dead.is_some() || state.deadline.is_some() {
                return (state, Err(Unrecorded::Ended));
            }
            if let Some(open) = state.open {
                let roomy = state.generations[open].roomy(&self.layout, promise);
                if roomy || late {
                    match find(&mut state, open) {
                        Ok(Some(found)) => return (state, Ok((open, found))),
                        Ok(None) => {}
                        Err(e) => {
                            self.fail(&mut state, e);
                            return (state, Err(Unrecorded::Ended));
                        }
                    }
                    let empty = state.generations[open].launches.is_empty();
                    if empty || late || kinds.iter().any(|k| !state.generations[open].arena.ever(*k)) {
                        return (state, Err(Unrecorded::Full));
                    }
                }
                // Where only what is promised is in the way it stays open for launches that can't wait.
                let other = state.generations.iter().any(|g| g.phase == Phase::Clean);
                if roomy || other || state.generations[open].pending == 0 {
                    state.close();
                    self.changed.notify_all();
                }
            }
            if state.open.is_none() && state.reopen() {
                continue;
            }
            let now = Instant::now();
            // What is being drained, or is about to be, makes room, however long its launches take to be handed on.
            let drained =
                |g: &Generation| g.phase == Phase::Draining || g.phase == Phase::Closed && g.pending == 0;
            if state.progress != seen || state.generations.iter().any(drained) {
                (seen, still) = (state.progress, now);
            }
            if state.stalled == Some(seen) || now - still > STALL || now - start > PATIENCE {
                state.stalled = Some(seen);
                if state.open.is_none() {
                    return (state, Err(Unrecorded::Full));
                }
                late = true;
                continue;
            }
            state = self
                .changed
                .wait_timeout(state, Duration::from_millis(2))
                .unwrap_or_else(|e| e.into_inner())
                .0;
        }
    }

    /// Puts an event into a stream; `None`: the recording has failed.
    fn mark(&self, state: &mut State, stream: Stream) -> Option<Event> {
        let event = state.events.pop().map_or_else(|| self.library.timed(), Ok);
        let marked = event.and_then(|e| self.library.mark(e, stream).map(|()| e));
        marked.map_err(|e| self.fail(state, e)).ok()
    }

    /// Notes that launches have ended: the program has waited, so some have, and this is sooner than the recorder's thread looks.
    fn notice(&self, state: &mut State) {
        for all in state.waiting.values_mut() {
            // A failure is the thread's to find: it asks the same.
            let passed = |w: &Waiting| self.library.passed(w.event).is_ok_and(|passed| passed);
            let n = match all.back().is_some_and(passed) {
                true => all.len(),
                false => all.iter().take(NOTICED).take_while(|w| passed(w)).count(),
            };
            let now = Instant::now();
            all.iter_mut().take(n).for_each(|w| w.seen = w.seen.or(Some(now)));
        }
    }

    /// Puts an event behind what was placed; `start`: the one before it.
    fn follow(&self, state: &mut State, places: Vec<Place>, stream: Stream, start: Option<Event>) {
        if !state.writing(&places) {
            state.events.extend(start);
            return;
        }
        match self.mark(state, stream) {
            Some(event) => {
                // The thread looks again by itself as long as it knows that something runs.
                if state.waiting.is_empty() {
                    self.changed.notify_all();
                }
                state.waiting.entry(stream).or_default().push_back(Waiting {
                    event,
                    start,
                    places,
                    seen: None,
                });
            }
            None => state.events.extend(start),
        }
    }
}

/// Memory for all of a layout: its address, and the memory itself where it is the host's.
fn place(library: Library, layout: &Layout, kept: bool) -> Result<(u64, Option<Mapped>), Failure> {
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let get = |bytes: u64| match kept {
        true => Mapped::new(library, size(bytes)).map(|m| (m.device(), Some(m))),
        false => library.alloc(size(bytes)).map(|at| (at, None)),
    };
    let bytes = layout.total() + layout.chunk();
    let (at, mapped) = get(bytes)?;
    let base = at.next_multiple_of(layout.chunk());
    if !layout.tracked() || fits(base, layout.total()) {
        return Ok((base, mapped));
    }
    // Of twice as much, one half lies well. Nothing runs yet that freeing could wait for.
    match mapped {
        Some(mapped) => drop(mapped),
        None => library.free(at)?,
    }
    let (at, mapped) = get(2 * bytes + BEYOND)?;
    let base = at.next_multiple_of(layout.chunk());
    Ok((if fits(base, layout.total()) { base } else { base.next_multiple_of(1 << 32) }, mapped))
}

impl Recorder {
    /// For the launches of `context`, at one level, in this memory. `sink` gets every launch, on a thread of the recorder's, as they are brought
    /// in: mostly in the order in which they began.
    ///
    /// The threads that are started have the caller's signal mask: a program's handlers should not run there.
    ///
    /// # Errors
    /// When there is too little memory, or a call of the driver fails.
    pub fn new(
        library: Library,
        context: Context,
        level: Level,
        memory: Memory,
        sink: impl FnMut(Finished) + Send + 'static,
    ) -> Result<Recorder, Error> {
        let Memory { device, tables, kept, host } = memory;
        let layout = Layout::new(level, device, tables).ok_or_else(|| {
            Error::new(
                ErrorKind::Memory,
                format!("{device} bytes of device memory are too little to record with"),
            )
            .help("four MiB are the least that is of use")
        })?;
        let made =
            library.relaxed(|| library.within(context, || Recorder::make(library, layout, kept, host)));
        let (shared, worker) = made.map_err(|e| e.during("recording"))??;
        let shared = Arc::new(shared);
        let (to, batches) = std::sync::mpsc::channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.into());
        let failed = |e| Error::new(ErrorKind::Record, format!("no thread to record with: {e}"));
        let of_thread = Arc::clone(&shared);
        let sink = Box::new(sink);
        thread("prlx-scribe").spawn(move || scribe::run(&of_thread, &batches, sink)).map_err(failed)?;
        let of_thread = Arc::clone(&shared);
        thread("prlx").spawn(move || worker.run(&of_thread, context, to)).map_err(failed)?;
        Ok(Recorder { shared })
    }

    /// Everything that is taken from the driver, zeroed.
    fn make(
        library: Library,
        layout: Layout,
        kept: bool,
        host: u64,
    ) -> Result<(Shared, worker::Worker), Error> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let failed = |e: Failure| e.during("recording");
        let (stream, upload_stream) = (library.stream().map_err(failed)?, library.stream().map_err(failed)?);
        let mut upload = Dma::new(library, 64 * CONTEXT as usize).map_err(failed)?;
        let staging =
            (0..STAGING).map(|_| Dma::new(library, STAGED)).collect::<Result<_, _>>().map_err(failed)?;
        let bulk = Dma::new(library, size(layout.pool + layout.arena)).map_err(failed)?;
        let (base, kept) = place(library, &layout, kept).map_err(failed)?;
        let generations = std::array::from_fn(|i| Generation::new(layout, layout.area(base, i)));
        upload.zero(upload_stream, &[(base, size(layout.total()))]).map_err(failed)?;
        let start = Instant::now();
        let settle = |upload: &mut Dma| {
            let settled = upload.settle(|| {
                std::thread::yield_now();
                start.elapsed() < START
            });
            let late = || {
                Error::new(
                    ErrorKind::Record,
                    "recording: its memory was not zeroed in time: the device is busy",
                )
            };
            settled.map_err(failed).and_then(|done| done.then_some(()).ok_or_else(late))
        };
        settle(&mut upload)?;
        for g in &generations {
            upload.send(upload_stream, &[(g.area.bucket, &g.area.bucket.to_le_bytes())]).map_err(failed)?;
            settle(&mut upload)?;
        }
        let mut state = State {
            generations,
            open: None,
            waiting: BTreeMap::new(),
            events: Vec::new(),
            progress: 0,
            stalled: None,
            unrecorded: Vec::new(),
            counts: Counts::default(),
            spent: Spent::default(),
            learned: Learned::default(),
            tables: Tables::default(),
            held: 0,
            asked: 0,
            answered: 0,
            waited: Duration::ZERO,
            held_back: 0,
            resting: false,
            gone: false,
            dead: None,
            outlives: kept.is_some(),
            deadline: None,
            finished: false,
            upload,
            late: false,
            staging,
            free_nodes: (0..NODES).rev().collect(),
            users: BTreeMap::new(),
        };
        state.reopen();
        let shared = Shared {
            library,
            layout,
            base,
            kept,
            upload_stream,
            pid: std::process::id(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            host,
            began: Instant::now(),
            hurry: AtomicBool::new(false),
            finished: AtomicBool::new(false),
        };
        Ok((shared, worker::Worker::new(stream, bulk)))
    }

    fn forked(&self) -> bool {
        std::process::id() != self.shared.pid
    }

    /// Makes room for a launch into `stream`, which must not be one that is captured. `launch` is all that is known of it;
    /// totals and streams come from here.
    ///
    /// The context is the calling thread's current one.
    pub fn begin(&self, plan: &Arc<Plan>, launch: Launch, stream: Stream) -> Result<Ticket, Unrecorded> {
        if self.forked() {
            return Err(Unrecorded::Forked);
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        state.counts.asked += 1;
        if let Some(why) = layout::refused(&shared.layout, plan, launch.kernel) {
            state.unrecorded(launch, &why);
            return Err(Unrecorded::Refused);
        }
        let Some(probing) = shared.probing(&mut state, plan, &launch) else {
            state.unrecorded(launch, NO_TABLES);
            return Err(Unrecorded::Full);
        };
        let kind = shared.kind(&state, plan, &launch, probing);
        let promise = state.learned.promise(&shared.layout, &launch, kind.recorded());
        let (mut state, room) = shared.library.relaxed(|| {
            shared.room(state, &[kind], promise, |state, generation| shared.slot(state, generation, kind))
        });
        match room {
            Ok((generation, slot)) => {
                let (progress, fate) = (Progress::Pending, Fate::Own);
                let handed = state.generations[generation].arena.context(&slot).handed(slot.context);
                let placed = Placed {
                    plan: Arc::clone(plan),
                    launch,
                    slot,
                    progress,
                    fate,
                    promise,
                    told: Told::default(),
                };
                let place = state.place(generation, [placed]);
                let start = shared.library.relaxed(|| shared.mark(&mut state, stream));
                Ok(Ticket { handed, called: None, place, start })
            }
            Err(why) => {
                let why_not = shared.why_not(&state, why);
                state.unrecorded(launch, &why_not);
                Err(why)
            }
        }
    }

    /// The launch was put into `stream`.
    pub fn queued(&self, ticket: Ticket, stream: Stream) {
        if !self.forked() {
            let shared = &self.shared;
            let mut state = shared.lock();
            let places = vec![ticket.place];
            state.called(&places, ticket.called);
            shared.library.relaxed(|| shared.follow(&mut state, places, stream, ticket.start));
        }
    }

    /// The same where every launch is waited for: comes back when it has ended and is copied to the host, after [`PATIENCE`] at
    /// the latest. Whatever the next one does, it is not lost.
    pub fn queued_alone(&self, ticket: Ticket, stream: Stream) {
        let (place, until) = (ticket.place.clone(), Instant::now() + PATIENCE);
        self.queued(ticket, stream);
        if self.forked() {
            return;
        }
        let mut state = self.shared.lock();
        while state.deadline.is_none() && state.dead.is_none() && Instant::now() < until {
            let ran = !state.writing(std::slice::from_ref(&place));
            state = self.shared.ask(state, until);
            if ran {
                break;
            }
        }
    }

    /// The launch was refused by the driver.
    pub fn cancel(&self, ticket: Ticket) {
        if !self.forked() {
            let mut state = self.shared.lock();
            state.ended(&ticket.place, Progress::Cancelled);
            state.events.extend(ticket.start);
        }
    }

    /// Waits until launches that have ended are copied to the host, after the program has waited for them itself: whatever it
    /// does next, they are not lost with their context. It waits [`BRING_IN`] at most, and in the long run a tenth of the time.
    pub fn bring_in(&self) {
        if self.forked() {
            return;
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        shared.library.relaxed(|| shared.notice(&mut state));
        let nothing = state.generations.iter().all(|g| g.done == 0 && g.pending == 0);
        if nothing || state.deadline.is_some() {
            return;
        }
        let start = Instant::now();
        let most = (GRACE + shared.began.elapsed() / 10).saturating_sub(state.waited).min(BRING_IN);
        if most.is_zero() {
            return;
        }
        shared.ask(state, start + most).waited += start.elapsed();
    }

    /// Its context may be about to go: brings in what has ended, and keeps the recorder's threads from calling the driver until
    /// [`Recorder::go_on`]. It waits [`PATIENCE`] at most.
    pub fn hold(&self) {
        self.bring_in();
        if self.forked() {
            return;
        }
        let mut state = self.shared.lock();
        state.held_back += 1;
        let start = Instant::now();
        while !state.resting && state.dead.is_none() && !state.finished && start.elapsed() < PATIENCE {
            self.shared.changed.notify_all();
            let wait = Duration::from_millis(1);
            state = self.shared.changed.wait_timeout(state, wait).unwrap_or_else(|e| e.into_inner()).0;
        }
    }

    /// It is there still, or not: then nothing more is recorded.
    pub fn go_on(&self, there: bool) {
        if !self.forked() {
            let mut state = self.shared.lock();
            state.held_back = state.held_back.saturating_sub(1);
            if !there {
                state.destroyed();
            }
            self.shared.changed.notify_all();
        }
    }

    /// Ends the recording: hands on what has ended, and what still runs as far as it is, and says what became of all
    /// launches, and why recording stopped early, if it did. It takes no longer than `most`; what is not done then is
    /// not counted. Launches that begin later are not recorded. In a forked child it does nothing.
    pub fn finish(&self, most: Duration) -> (Counts, Option<String>) {
        if self.forked() {
            return (Counts::default(), None);
        }
        let deadline = Instant::now() + most;
        let mut state = self.shared.lock();
        state.deadline.get_or_insert(deadline);
        self.shared.changed.notify_all();
        while !state.finished && Instant::now() < deadline {
            let wait = Duration::from_millis(1);
            state = self.shared.changed.wait_timeout(state, wait).unwrap_or_else(|e| e.into_inner()).0;
        }
        (state.counts, state.dead.clone())
    }

    /// What was in a probe program's tables when they were last copied, by module: after [`Recorder::finish`] at the end, of a context
    /// that is dead some time before.
    pub fn tallies(&self) -> Vec<(Arc<Plan>, Vec<TableContents>)> {
        if self.forked() {
            return Vec::new();
        }
        // Reading them takes longer than anybody waits for the state.
        let copy = self.shared.lock().tables.copy();
        tables::tallies(copy)
    }

    /// Launches that are not handed on yet, with what their markers have left so far, where that lies in the host's memory: what is lost if
    /// the process is killed now. Those that have not ended have a [fault](Launch::fault) that says so.
    pub fn running(&self) -> Vec<Running> {
        match &self.shared.kept {
            Some(kept) if !self.forked() => self.shared.running(kept),
            _ => Vec::new(),
        }
    }

    /// Tables are copied this often while something runs, besides when somebody waits; at most a tenth of the time.
    pub fn every(&self, interval: Duration) {
        if !self.forked() {
            self.shared.lock().tables.every = interval;
        }
    }

    /// How long it took to take what was recorded apart and to hand it on, so far.
    pub fn spent(&self) -> Spent {
        self.shared.lock().spent
    }

    /// Asks for the end from where nothing else may be done, as in a handler of signals: the recorder's thread ends the
    /// recording within about two seconds. [`Recorder::is_finished`] says when it has.
    pub fn hurry(&self) {
        self.shared.hurry.store(true, Ordering::Release);
    }

    /// Whether the recording has ended; may be asked from a handler of signals.
    pub fn is_finished(&self) -> bool {
        self.shared.finished.load(Ordering::Acquire)
    }
}

impl Shared {
    /// Asks for what has ended, and waits until it is copied.
    fn ask<'s>(&'s self, mut state: MutexGuard<'s, State>, until: Instant) -> MutexGuard<'s, State> {
        state.asked += 1;
        let mine = state.asked;
        self.changed.notify_all();
        while state.answered < mine && state.dead.is_none() && !state.finished {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0;
        }
        state
    }

    /// What a launch says that is not recorded.
    fn why_not(&self, state: &State, why: Unrecorded) -> String {
        match why {
            Unrecorded::Ended => state.dead.as_ref().map_or_else(
                || "the recording has ended".to_owned(),
                |dead| format!("recording stopped: {dead}"),
            ),
            _ => "there was no room for it; --memory makes more".to_owned(),
        }
    }
}

impl Drop for Recorder {
    /// Ends the recording, without waiting; the memory goes with the context.
    fn drop(&mut self) {
        if !self.forked() {
            self.shared.lock().deadline.get_or_insert_with(Instant::now);
            self.shared.changed.notify_all();
        }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("layout", &self.shared.layout).finish_non_exhaustive()
    }
}
