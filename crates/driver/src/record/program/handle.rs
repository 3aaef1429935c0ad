//! The recorder of one context, as the threads of the program use it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::TableContents;
use prlx_trace::launch::Launch;

use crate::queue::{Stream, quiet};
use crate::record::program::launch::{Running, Ticket, UnrecordedReason};
use crate::record::program::layout;
use crate::record::program::limits::{GRACE, MAX_COPY_WAIT, MAX_LAUNCH_WAIT, NO_TABLES};
use crate::record::program::shared::Shared;
use crate::record::program::state::{Counts, HostTimes, Ownership, PlacedLaunch, Progress, TimeSpent};
use crate::record::program::tables;

/// Records the launches of one context.
pub struct Recorder {
    pub(super) shared: Arc<Shared>,
}

impl Recorder {
    pub(super) fn forked(&self) -> bool {
        std::process::id() != self.shared.pid
    }

    /// Reserves memory for a launch into `stream`, which must not be captured. `launch` describes it without
    /// totals and streams, which the recorder adds. The launch's context must be the calling thread's current
    /// one.
    ///
    /// # Errors
    /// If the launch is not recorded. The sink still receives it, with the reason, except in a forked
    /// process.
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
        let most = plan.most_elements(launch.kernel);
        let size_estimate = state.size_history.estimate(&shared.layout, &launch, kind.recorded(), most);
        let _quiet = quiet(&*shared.queue);
        let (mut state, room) = shared
            .reserve(state, &[kind], size_estimate, |state, generation| shared.slot(state, generation, kind));
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
                let shares = !shared.layout.tracked()
                    && shared.queue.is_default(stream)
                    && state.may_share(&placed.launch, stream);
                let place = state.place(generation, [placed]);
                let start = if shares { None } else { shared.mark(&mut state, stream) };
                Ok(Ticket { hidden, called: None, place, start, shares })
            }
            Err(why) => {
                let why_not = shared.unrecorded_text(&state, why);
                state.add_unrecorded(launch, &why_not);
                Err(why)
            }
        }
    }

    /// The driver accepted the launch into `stream`.
    pub fn queued(&self, ticket: Ticket, stream: Stream) {
        if !self.forked() {
            let shared = &self.shared;
            let mut state = shared.lock();
            let mut places = vec![ticket.place];
            state.called(&places, ticket.called);
            if ticket.shares {
                state.sharing.0.append(&mut places);
                state.sharing.1 = Some(stream);
                return;
            }
            if shared.queue.is_default(stream) {
                places.append(&mut state.sharing.0);
            }
            let _quiet = quiet(&*shared.queue);
            shared.record_end(&mut state, places, stream, ticket.start);
        }
    }

    /// The driver accepted the launch into `stream`, and the program waits for every launch. Returns when the
    /// launch has ended and is copied to the host, or after [`MAX_LAUNCH_WAIT`]. The launch then survives
    /// whatever the next one does.
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

    /// A stream of the launches' context is about to be captured. Nothing may be recorded into the legacy
    /// default stream then, so the launches in it get the event that they share now.
    pub fn before_capture(&self) {
        if !self.forked() {
            let mut state = self.shared.lock();
            let _quiet = quiet(&*self.shared.queue);
            self.shared.record_shared_end(&mut state);
        }
    }

    /// The driver refused the launch.
    pub fn cancel(&self, ticket: Ticket) {
        if !self.forked() {
            let mut state = self.shared.lock();
            state.ended(&ticket.place, Progress::Cancelled);
            state.events.extend(ticket.start);
        }
    }

    /// Waits until ended launches are copied to the host. To be called after the program has waited for its
    /// launches: they then survive whatever the program does next. Waits for at most [`MAX_COPY_WAIT`] at a
    /// time, and for a tenth of the run time altogether.
    pub fn wait_for_copies(&self) {
        if self.forked() {
            return;
        }
        let shared = &self.shared;
        let mut state = shared.lock();
        {
            let _quiet = quiet(&*shared.queue);
            shared.note_ended(&mut state);
        }
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

    /// Copies ended launches and stops the recorder's threads from calling the driver until
    /// [`Recorder::resume`], because the context may be destroyed. Waits for at most [`MAX_LAUNCH_WAIT`].
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

    /// Ends a pause. If the context was destroyed, `there` is false and the recording ends.
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

    /// Ends the recording. Delivers ended launches, and running ones as far as they are. Returns what became
    /// of all launches, and why the recording stopped early, if it did. Takes at most `most`; what is not
    /// done by then is not counted. Launches that begin later are not recorded. Does nothing in a forked
    /// process.
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

    /// Contents of a probe program's tables at the last copy, by module. After [`Recorder::finish`] they are
    /// complete, unless the context failed.
    pub fn tallies(&self) -> Vec<(Arc<Plan>, Vec<TableContents>)> {
        if self.forked() {
            return Vec::new();
        }
        // Reading the tables takes longer than the state may be locked.
        let copy = self.shared.lock().tables.copy();
        tables::tallies(copy)
    }

    /// Launches that are not delivered yet, with what their markers have written, if that memory is the
    /// host's. They would be lost if the process were killed now. Launches that have not ended have a
    /// [fault](Launch::fault) that says so.
    pub fn running(&self) -> Vec<Running> {
        match &self.shared.mapped {
            Some(memory) if !self.forked() => self.shared.running(&**memory),
            _ => Vec::new(),
        }
    }

    /// Sets the time between two copies of the tables while launches run. Copies take at most a tenth of the
    /// time. The tables are also copied when a thread waits for them.
    pub fn set_table_interval(&self, interval: Duration) {
        if !self.forked() {
            self.shared.lock().tables.every = interval;
        }
    }

    /// Time spent decoding and delivering so far.
    pub fn time_spent(&self) -> TimeSpent {
        self.shared.lock().time_spent
    }

    /// Asks for the end of the recording. Safe in a signal handler. The recording ends within about two
    /// seconds; [`Recorder::is_finished`] tells when.
    pub fn request_end(&self) {
        self.shared.end_requested.store(true, Ordering::Release);
    }

    /// Whether the recording has ended. Safe in a signal handler.
    pub fn is_finished(&self) -> bool {
        self.shared.finished.load(Ordering::Acquire)
    }
}

impl Drop for Recorder {
    /// Ends the recording without waiting. The memory is freed with the context.
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
