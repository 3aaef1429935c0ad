//! The data that the program's threads and the recorder's threads share, and the operations on it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use prlx_plan::Plan;
use prlx_trace::launch::Launch;

use crate::queue::{Event, Failure, HostMemory, Queue, Stream, wait};
use crate::record::memory::context::{ContextKind, ProbeContext, Slot};
use crate::record::program::launch::UnrecordedReason;
use crate::record::program::launch_hashes::LaunchHasher;
use crate::record::program::layout::{Layout, tracked};
use crate::record::program::limits::{MAX_DELIVERY_WAIT, MAX_LAUNCH_WAIT, NOTICED, SPIN, STALL, UPLOAD};
use crate::record::program::state::{AwaitedEvent, Generation, Phase, Placement, State};
use crate::session::NO_ROOM;

/// Data of the program's threads and the recorder's threads.
pub(super) struct Shared {
    pub(super) queue: Arc<dyn Queue>,
    pub(super) layout: Layout,
    /// Hashes launches, if the layout says so.
    pub(super) hasher: Option<LaunchHasher>,
    /// Address of the device memory.
    pub(super) base: u64,
    /// That memory, if it is the host's. Its content survives the context.
    pub(super) mapped: Option<Box<dyn HostMemory>>,
    /// Stream for copies of contexts, so that they never wait for copies of recorded data.
    pub(super) upload_stream: Stream,
    pub(super) pid: u32,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    /// Maximum bytes that are copied to the host and not yet delivered.
    pub(super) host: u64,
    pub(super) began: Instant,
    pub(super) end_requested: AtomicBool,
    pub(super) finished: AtomicBool,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held. If something did, the state would still be consistent enough
        // to end the recording.
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Ends the recording after a failed call.
    pub(super) fn fail(&self, state: &mut State, failure: Failure) {
        state.die(&failure.during("recording").message);
        self.changed.notify_all();
    }

    /// The probe fields of a launch's context; `None` if there is no room for its tables.
    pub(super) fn probe_context(
        &self,
        state: &mut State,
        plan: &Arc<Plan>,
        launch: &Launch,
    ) -> Option<ProbeContext> {
        state.tables.probe_context(&self.layout, self.layout.tables_at(self.base), plan, launch)
    }

    /// The kind of a launch's context.
    pub(super) fn kind(
        &self,
        state: &State,
        plan: &Plan,
        launch: &Launch,
        probe_context: ProbeContext,
    ) -> ContextKind {
        let kind = ContextKind::of(plan, launch, probe_context).rounded();
        match &plan.probe_state.tracks {
            Some(tracks) => tracked(kind, &self.layout, tracks, state.size_history.track(launch)),
            None => kind,
        }
    }

    /// Takes a slot in a generation for a launch of this kind; `None` if there is no room.
    pub(super) fn slot(
        &self,
        state: &mut State,
        generation: usize,
        kind: ContextKind,
    ) -> Result<Option<Slot>, Failure> {
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
            *late = !wait(&mut **upload, &mut pause)?;
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
            let each = self.layout.context() as usize;
            let mut bytes = vec![0; slots.len() * each];
            for (to, slot) in bytes.chunks_exact_mut(each).zip(&slots) {
                let context = g.arena.context(slot).to_bytes();
                to[..context.len()].copy_from_slice(&context);
            }
            let stream = self.upload_stream;
            upload.copy_to_device(stream, &[(first.context, &bytes)])?;
            *late = !wait(&mut **upload, &mut pause)?;
            if *late {
                return Ok(None);
            }
            g.ready.entry(kind).or_default().extend(slots);
        }
        let slot = g.ready.get_mut(&kind).and_then(Vec::pop);
        *g.asked.entry(kind).or_default() += usize::from(slot.is_some());
        Ok(slot)
    }

    /// Waits for room in a generation for launches of these kinds with this size estimate together. `find`
    /// takes their slots.
    pub(super) fn reserve<'s, T>(
        &self,
        mut state: MutexGuard<'s, State>,
        kinds: &[ContextKind],
        size_estimate: u64,
        mut find: impl FnMut(&mut State, usize) -> Result<Option<T>, Failure>,
    ) -> (MutexGuard<'s, State>, Result<(usize, T), UnrecordedReason>) {
        let mut start = Instant::now();
        // When a launch was last seen to be delivered, how many were by then, and when that was looked at.
        let (mut delivery, mut delivered, mut last) = (start, state.counts.delivered(), start);
        let (mut seen, mut still, mut late) = (state.progress, start, false);
        loop {
            if state.failed.is_some() || state.deadline.is_some() {
                return (state, Err(UnrecordedReason::Ended));
            }
            if let Some(open) = state.open {
                let roomy = state.generations[open].has_room(&self.layout, size_estimate);
                if roomy || late {
                    match find(&mut state, open) {
                        Ok(Some(found)) => return (state, Ok((open, found))),
                        Ok(None) => {}
                        Err(e) => {
                            self.fail(&mut state, e);
                            return (state, Err(UnrecordedReason::Ended));
                        }
                    }
                    let empty = state.generations[open].launches.is_empty();
                    if empty || late || kinds.iter().any(|k| !state.generations[open].arena.ever(*k)) {
                        return (state, Err(UnrecordedReason::Full));
                    }
                }
                // If only the estimates are in the way, the generation stays open for launches that cannot
                // wait.
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
            // A generation that is being copied, or will be next, makes room, however long it takes to
            // deliver the launches before.
            let drained =
                |g: &Generation| g.phase == Phase::Draining || g.phase == Phase::Closed && g.pending == 0;
            let drains = state.generations.iter().any(drained);
            if state.counts.delivered() != delivered {
                (delivery, delivered) = (now, state.counts.delivered());
            }
            if drains && now - delivery < MAX_DELIVERY_WAIT {
                start += now - last;
            }
            last = now;
            if state.progress != seen || drains {
                (seen, still) = (state.progress, now);
            }
            if state.stalled == Some(seen) || now - still > STALL || now - start > MAX_LAUNCH_WAIT {
                state.stalled = Some(seen);
                if state.open.is_none() {
                    return (state, Err(UnrecordedReason::Full));
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

    /// Records an event in a stream; `None` if that failed and the recording has ended.
    pub(super) fn mark(&self, state: &mut State, stream: Stream) -> Option<Event> {
        let event = state.events.pop().map_or_else(|| self.queue.create_event(), Ok);
        let marked = event.and_then(|e| self.queue.record_event(e, stream).map(|()| e));
        marked.map_err(|e| self.fail(state, e)).ok()
    }

    /// Notes which launches have ended. The program has just waited, so this is earlier than the copy thread
    /// looks.
    pub(super) fn note_ended(&self, state: &mut State) {
        for all in state.waiting.values_mut() {
            // Failures are left to the copy thread, which makes the same query.
            let passed = |w: &AwaitedEvent| self.queue.event_passed(w.event).is_ok_and(|passed| passed);
            let n = match all.back().is_some_and(passed) {
                true => all.len(),
                false => all.iter().take(NOTICED).take_while(|w| passed(w)).count(),
            };
            let now = Instant::now();
            all.iter_mut().take(n).for_each(|w| w.seen = w.seen.or(Some(now)));
        }
    }

    /// Records an event behind the launches that would share that of a later launch.
    pub(super) fn record_shared_end(&self, state: &mut State) {
        if let (places, Some(stream)) = std::mem::take(&mut state.sharing) {
            self.record_end(state, places, stream, None);
        }
    }

    /// Records an event behind launches that were placed; `start` is the event before
    /// the first of them.
    pub(super) fn record_end(
        &self,
        state: &mut State,
        places: Vec<Placement>,
        stream: Stream,
        start: Option<Event>,
    ) {
        if places.is_empty() || !state.writing(&places) {
            state.events.extend(start);
            return;
        }
        match self.mark(state, stream) {
            Some(event) => {
                // While it knows of running launches, the copy thread looks by itself.
                if state.waiting.is_empty() {
                    self.changed.notify_all();
                }
                state.waiting.entry(stream).or_default().push_back(AwaitedEvent {
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

impl Shared {
    /// Requests copies of ended launches and waits for them until `until`.
    pub(super) fn request_copies<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        until: Instant,
    ) -> MutexGuard<'s, State> {
        state.copies_requested += 1;
        let mine = state.copies_requested;
        self.changed.notify_all();
        while state.copies_answered < mine && state.failed.is_none() && !state.finished {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0;
        }
        state
    }

    /// The reason that an unrecorded launch reports.
    pub(super) fn unrecorded_text(&self, state: &State, why: UnrecordedReason) -> String {
        match why {
            UnrecordedReason::Ended => state.failed.as_ref().map_or_else(
                || "the recording has ended".to_owned(),
                |dead| format!("recording stopped: {dead}"),
            ),
            _ => format!("{NO_ROOM} for it; --memory makes more"),
        }
    }
}
