//! The recorder of one context, as the program's threads use it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::TableContents;
use prlx_trace::launch::Launch;

use crate::cuda::library::handles::Stream;
use crate::cuda::recorder::launch::{Running, Ticket, UnrecordedReason};
use crate::cuda::recorder::limits::{GRACE, MAX_COPY_WAIT, MAX_LAUNCH_WAIT, NO_TABLES};
use crate::cuda::recorder::shared::Shared;
use crate::cuda::recorder::state::{Counts, HostTimes, Ownership, PlacedLaunch, Progress, TimeSpent};
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
    pub fn begin(
        &self,
        plan: &Arc<Plan>,
        launch: Launch,
        stream: Stream,
    ) -> Result<Ticket, UnrecordedReason> {
        if self.forked() {
            return Err(UnrecordedReason::Forked);
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        state.counts.requested += 1;
        if let Some(why) = layout::refused(&shared.layout, plan, launch.kernel) {
            state.add_unrecorded(launch, &why);
            return Err(UnrecordedReason::Refused);
        }
        let Some(probe_context) = shared.probe_context(&mut state, plan, &launch) else {
            state.add_unrecorded(launch, NO_TABLES);
            return Err(UnrecordedReason::Full);
        };
        let kind = shared.kind(&state, plan, &launch, probe_context);
        let size_estimate = state.size_history.estimate(&shared.layout, &launch, kind.recorded());
        let (mut state, room) = shared.library.with_relaxed_capture(|| {
            shared.reserve(state, &[kind], size_estimate, |state, generation| {
                shared.slot(state, generation, kind)
            })
        });
        match room {
            Ok((generation, slot)) => {
                let (progress, ownership) = (Progress::Pending, Ownership::Exclusive);
                let hidden =
                    state.generations[generation].arena.context(&slot).hidden_parameter(slot.context);
                let placed = PlacedLaunch {
                    plan: Arc::clone(plan),
                    launch,
                    slot,
                    progress,
                    ownership,
                    size_estimate,
                    host_times: HostTimes::default(),
                };
                let place = state.place(generation, [placed]);
                let start = shared.library.with_relaxed_capture(|| shared.mark(&mut state, stream));
                Ok(Ticket { hidden, called: None, place, start })
            }
            Err(why) => {
                let why_not = shared.unrecorded_text(&state, why);
                state.add_unrecorded(launch, &why_not);
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
            shared
                .library
                .with_relaxed_capture(|| shared.record_end(&mut state, places, stream, ticket.start));
        }
    }

    /// The same where every launch is waited for: comes back when it has ended and is copied to the host,
    /// after [`MAX_LAUNCH_WAIT`] at the latest. Whatever the next one does, it is not lost.
    pub fn queued_alone(&self, ticket: Ticket, stream: Stream) {
        let (place, until) = (ticket.place.clone(), Instant::now() + MAX_LAUNCH_WAIT);
        self.queued(ticket, stream);
        if self.forked() {
            return;
        }
        let mut state = self.shared.lock();
        while state.deadline.is_none() && state.failed.is_none() && Instant::now() < until {
            let ran = !state.writing(std::slice::from_ref(&place));
            state = self.shared.request_copies(state, until);
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
    /// itself: whatever it does next, they are not lost with their context. It waits [`MAX_COPY_WAIT`] at most,
    /// and in the long run a tenth of the time.
    pub fn wait_for_copies(&self) {
        if self.forked() {
            return;
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        shared.library.with_relaxed_capture(|| shared.note_ended(&mut state));
        let nothing = state.generations.iter().all(|g| g.done == 0 && g.pending == 0);
        if nothing || state.deadline.is_some() {
            return;
        }
        let start = Instant::now();
        let most = (GRACE + shared.began.elapsed() / 10).saturating_sub(state.waited).min(MAX_COPY_WAIT);
        if most.is_zero() {
            return;
        }
        shared.request_copies(state, start + most).waited += start.elapsed();
    }

    /// Its context may be about to go: brings in what has ended, and keeps the recorder's threads from
    /// calling the driver until [`Recorder::resume`]. It waits [`MAX_LAUNCH_WAIT`] at most.
    pub fn pause(&self) {
        self.wait_for_copies();
        if self.forked() {
            return;
        }
        let mut state = self.shared.lock();
        state.pause_requests += 1;
        let start = Instant::now();
        while !state.paused && state.failed.is_none() && !state.finished && start.elapsed() < MAX_LAUNCH_WAIT
        {
            self.shared.changed.notify_all();
            let wait = Duration::from_millis(1);
            state = self.shared.changed.wait_timeout(state, wait).unwrap_or_else(|e| e.into_inner()).0;
        }
    }

    /// It is there still, or not: then nothing more is recorded.
    pub fn resume(&self, there: bool) {
        if !self.forked() {
            let mut state = self.shared.lock();
            state.pause_requests = state.pause_requests.saturating_sub(1);
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
        (state.counts, state.failed.clone())
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
    pub fn set_table_interval(&self, interval: Duration) {
        if !self.forked() {
            self.shared.lock().tables.every = interval;
        }
    }

    /// How long it took to take what was recorded apart and to hand it on, so far.
    pub fn time_spent(&self) -> TimeSpent {
        self.shared.lock().time_spent
    }

    /// Asks for the end from where nothing else may be done, as in a handler of signals: the recorder's
    /// thread ends the recording within about two seconds. [`Recorder::is_finished`] says when it has.
    pub fn request_end(&self) {
        self.shared.end_requested.store(true, Ordering::Release);
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
