//! The recorder of one context, as the program's threads use it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::TableContents;
use prlx_trace::launch::Launch;

use crate::cuda::library::handles::Stream;
use crate::cuda::recorder::launch::{Running, Ticket, Unrecorded};
use crate::cuda::recorder::limits::{BRING_IN, GRACE, NO_TABLES, PATIENCE};
use crate::cuda::recorder::shared::Shared;
use crate::cuda::recorder::state::{Counts, Fate, Placed, Progress, Spent, Told};
use crate::cuda::recorder::{layout, tables};

/// Records launches in one context of CUDA.
pub struct Recorder {
    pub(super) shared: Arc<Shared>,
}

impl Recorder {
    pub(super) fn forked(&self) -> bool {
        std::process::id() != self.shared.pid
    }

    /// Makes room for a launch into `stream`, which must not be one that is captured. `launch` is all that is
    /// known of it; totals and streams come from here.
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

    /// The same where every launch is waited for: comes back when it has ended and is copied to the host,
    /// after [`PATIENCE`] at the latest. Whatever the next one does, it is not lost.
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

    /// Waits until launches that have ended are copied to the host, after the program has waited for them
    /// itself: whatever it does next, they are not lost with their context. It waits [`BRING_IN`] at most,
    /// and in the long run a tenth of the time.
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

    /// Its context may be about to go: brings in what has ended, and keeps the recorder's threads from
    /// calling the driver until [`Recorder::go_on`]. It waits [`PATIENCE`] at most.
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

    /// Ends the recording: hands on what has ended, and what still runs as far as it is, and says what became
    /// of all launches, and why recording stopped early, if it did. It takes no longer than `most`; what is
    /// not done then is not counted. Launches that begin later are not recorded. In a forked child it does
    /// nothing.
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

    /// What was in a probe program's tables when they were last copied, by module: after [`Recorder::finish`]
    /// at the end, of a context that is dead some time before.
    pub fn tallies(&self) -> Vec<(Arc<Plan>, Vec<TableContents>)> {
        if self.forked() {
            return Vec::new();
        }
        // Reading them takes longer than anybody waits for the state.
        let copy = self.shared.lock().tables.copy();
        tables::tallies(copy)
    }

    /// Launches that are not handed on yet, with what their markers have left so far, where that lies in the
    /// host's memory: what is lost if the process is killed now. Those that have not ended have a
    /// [fault](Launch::fault) that says so.
    pub fn running(&self) -> Vec<Running> {
        match &self.shared.kept {
            Some(kept) if !self.forked() => self.shared.running(kept),
            _ => Vec::new(),
        }
    }

    /// Tables are copied this often while something runs, besides when somebody waits; at most a tenth of the
    /// time.
    pub fn every(&self, interval: Duration) {
        if !self.forked() {
            self.shared.lock().tables.every = interval;
        }
    }

    /// How long it took to take what was recorded apart and to hand it on, so far.
    pub fn spent(&self) -> Spent {
        self.shared.lock().spent
    }

    /// Asks for the end from where nothing else may be done, as in a handler of signals: the recorder's
    /// thread ends the recording within about two seconds. [`Recorder::is_finished`] says when it has.
    pub fn hurry(&self) {
        self.shared.hurry.store(true, Ordering::Release);
    }

    /// Whether the recording has ended; may be asked from a handler of signals.
    pub fn is_finished(&self) -> bool {
        self.shared.finished.load(Ordering::Acquire)
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
