//! The decode thread: decodes the copied launches and passes them to the sink, so that the copy thread need
//! not wait for the sink.
//!
//! # Invariants
//! - `State::host_bytes` counts the bytes of batches that were sent to this thread and are not delivered.
//! - It is the last thread to end, and sets `finished`.
//!
//! # Limitations
//! It decodes one batch at a time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use prlx_plan::Plan;
use prlx_trace::device::tracks;
use prlx_trace::kernel::FaultKind;
use prlx_trace::launch::Fault;
use prlx_trace::{Level, Recording};

use crate::decode::{DecodedStreams, KeptWarps, LaunchBuffers, Pool, decode_launches};
use crate::record::memory::context::Slot;
use crate::record::memory::launches::{marks, recording, records, wanted};
use crate::record::program::batch::CopiedBatch;
use crate::record::program::launch::Finished;
use crate::record::program::launch_hashes;
use crate::record::program::layout::{LAUNCH_SUMS, Layout, UsedRanges};
use crate::record::program::limits::IDLE;
use crate::record::program::shared::Shared;
use crate::record::program::state::{HostTimes, Ownership, PlacedLaunch, Progress};

pub(super) type Sink = Box<dyn FnMut(Finished) + Send>;

/// Runs until the copy thread has ended and everything is delivered.
pub(super) fn run(shared: &Shared, batches: &Receiver<CopiedBatch>, mut sink: Sink) {
    loop {
        match batches.recv_timeout(IDLE) {
            Ok(batch) => {
                let size = batch.bytes.len() as u64;
                let bytes = deliver(shared, batch, &mut sink);
                let mut state = shared.lock();
                state.host_bytes -= size;
                state.keep_spare(bytes, shared.host);
                drop(state);
                shared.changed.notify_all();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let launches = std::mem::take(&mut shared.lock().unrecorded);
        deliver_unrecorded(launches, &mut sink);
    }
    loop {
        let launches = {
            let mut state = shared.lock();
            state.finished = state.unrecorded.is_empty();
            std::mem::take(&mut state.unrecorded)
        };
        if launches.is_empty() {
            break;
        }
        deliver_unrecorded(launches, &mut sink);
    }
    shared.finished.store(true, Ordering::Release);
    shared.changed.notify_all();
}

/// Delivers launches of which nothing is recorded.
fn deliver_unrecorded(launches: Vec<prlx_trace::Launch>, sink: &mut Sink) {
    for launch in launches {
        let recording = Recording { launch, ..Recording::default() };
        sink(Finished {
            recording,
            tallies: Vec::new(),
            marks: None,
            damage: Vec::new(),
            host_times: HostTimes::default(),
        });
    }
}

/// Bytes of launches that are decoded together. Small launches do not keep the workers busy one by one; large
/// ones are delivered one by one, since launches of the program may wait for that.
const TOGETHER: usize = 16 << 20;

/// Decodes and delivers the launches of a batch. Returns the memory of the batch.
fn deliver(shared: &Shared, mut batch: CopiedBatch, sink: &mut Sink) -> Vec<u8> {
    let probes = shared.layout.level == Level::Probe;
    // All launches add to the same tables, so mixing does not matter for them.
    let mixed = |placed: &mut PlacedLaunch| {
        let state = &placed.plan.probe_state;
        placed.ownership != Ownership::Exclusive
            && !(probes && state.records.warp == 0 && state.tracks.is_none())
    };
    for placed in batch.launches.extract_if(.., mixed) {
        shared
            .lock()
            .add_unrecorded(placed.launch, "two instances of its graph ran at once, and wrote to one place");
    }
    let mut launches = std::mem::take(&mut batch.launches).into_iter().peekable();
    let memory = BatchMemory::of(shared, &batch);
    let heads = batch.slots.iter().filter(|_| !probes).map(|slot| memory.heads(slot));
    let (area, level) = (batch.area, shared.layout.level);
    let mut pool = Pool::new(level, shared.layout.warp_size, area.pool, memory.pool, area.bucket, heads);
    while launches.peek().is_some() {
        let (mut some, mut bytes) = (Vec::new(), 0);
        while bytes < TOGETHER
            && let Some(placed) = launches.next()
        {
            let LaunchBuffers { heads, finals, .. } = memory.buffers(&placed);
            // What it has in the pool is not known yet: an equal share.
            bytes += heads.len() + finals.len() + memory.pool.len() / batch.slots.len().max(1);
            some.push(placed);
        }
        deliver_together(shared, &batch, &memory, &mut pool, some, sink);
    }
    batch.bytes
}

/// Decodes launches together and delivers them.
fn deliver_together(
    shared: &Shared,
    batch: &CopiedBatch,
    memory: &BatchMemory<'_>,
    pool: &mut Pool<'_>,
    launches: Vec<PlacedLaunch>,
    sink: &mut Sink,
) {
    let start = Instant::now();
    let plans: Vec<Arc<Plan>> = launches.iter().map(|placed| Arc::clone(&placed.plan)).collect();
    let all_kept: Vec<KeptWarps<'_>> =
        launches.iter().zip(&plans).map(|(placed, plan)| KeptWarps::new(plan, &placed.launch)).collect();
    let decoded = match shared.layout.level {
        Level::Probe => launches.iter().map(|_| DecodedStreams::default()).collect(),
        _ if shared.layout.hashes => launches.iter().map(|placed| memory.hashes(placed)).collect(),
        _ => {
            let buffers: Vec<_> =
                launches.iter().map(|placed| memory.buffers(placed)).zip(&all_kept).collect();
            decode_launches(pool, &buffers)
        }
    };
    shared.lock().time_spent.decoding += start.elapsed();
    for ((placed, kept), decoded) in launches.into_iter().zip(&all_kept).zip(decoded) {
        let start = Instant::now();
        let (finished, whole) = finish(shared, batch, memory, placed, kept, decoded);
        let apart = start.elapsed();
        sink(finished);
        let mut state = shared.lock();
        state.time_spent.decoding += apart;
        state.time_spent.delivery += start.elapsed() - apart;
        if whole {
            state.counts.recorded += 1;
        } else {
            state.counts.unfinished += 1;
        }
        state.progress += 1;
    }
}

/// The copied memory of a batch.
struct BatchMemory<'a> {
    layout: Layout,
    /// The used part of the pool.
    pool: &'a [u8],
    /// Heads and hashes.
    arena: &'a [u8],
    /// Where `arena` was.
    used: &'a UsedRanges,
}

impl<'a> BatchMemory<'a> {
    fn of(shared: &Shared, batch: &'a CopiedBatch) -> BatchMemory<'a> {
        let (pool, arena) = batch.bytes.split_at_checked(batch.pool).unwrap_or_default();
        BatchMemory { layout: shared.layout, pool, arena, used: &batch.used }
    }

    /// `bytes` bytes, `from` bytes after a device address.
    fn part(&self, at: u64, from: u64, bytes: u64) -> &'a [u8] {
        self.used.part(self.arena, at.saturating_add(from), bytes)
    }

    /// Bytes of the heads of `warps` warps, and of what else they have.
    fn room(&self, warps: u64, each: u64) -> (u64, u64) {
        self.layout.room(warps, each).unwrap_or_default()
    }

    fn heads(&self, slot: &Slot) -> &'a [u8] {
        self.part(slot.heads, 0, self.room(slot.kind.warps(), 0).0)
    }

    /// The hashes of a launch, if these are all that is kept.
    fn hashes(&self, placed: &PlacedLaunch) -> DecodedStreams {
        let (first, last) = wanted(&placed.plan.request, &placed.launch);
        let bytes = self.part(placed.slot.sums, 0, LAUNCH_SUMS);
        let hashes = launch_hashes::read(placed.plan.finals, last - first, bytes);
        DecodedStreams { hashes, ..DecodedStreams::default() }
    }

    /// What a launch left besides its part of the pool.
    fn buffers(&self, placed: &PlacedLaunch) -> LaunchBuffers<'a> {
        let (first_warp, last) = wanted(&placed.plan.request, &placed.launch);
        let slot = &placed.slot;
        let each = slot.kind.each();
        let (before, own) = (self.room(first_warp, each), self.room(last - first_warp, each));
        LaunchBuffers {
            first_warp,
            warps: last - first_warp,
            heads: if placed.writes_streams() { self.part(slot.heads, before.0, own.0) } else { &[] },
            finals: self.part(slot.finals, before.1, own.1),
            layout: placed.plan.finals,
            sites: placed.plan.module.sites.len(),
        }
    }
}

/// A launch with everything that was recorded of it, and whether it had ended.
fn finish(
    shared: &Shared,
    batch: &CopiedBatch,
    memory: &BatchMemory<'_>,
    placed: PlacedLaunch,
    kept: &KeptWarps<'_>,
    decoded: DecodedStreams,
) -> (Finished, bool) {
    let (state, slot) = (&placed.plan.probe_state, &placed.slot);
    let tallies = match shared.layout.level {
        Level::Probe => {
            let bytes = placed.launch.warps().saturating_mul(state.records.warp);
            records(state, &placed.launch, memory.part(slot.finals, 0, bytes))
        }
        _ => Vec::new(),
    };
    let marks = state.tracks.as_ref().and_then(|_| {
        let bytes = memory.part(slot.tracks, 0, slot.track_bytes());
        let wanted = tracks::wanted(slot.kind.tracks().log, bytes);
        shared.lock().size_history.learn_track(&placed.launch, wanted);
        marks(&placed.plan, &placed.launch, slot.regions(), bytes)
    });
    let took = decoded.bytes.saturating_add(shared.layout.bytes(decoded.dropped));
    shared.lock().size_history.learn(&placed.launch, slot.kind.recorded(), took);
    let mut launch = placed.launch;
    let whole = placed.progress == Progress::Done;
    if !whole {
        let (kind, text) = match &batch.dead {
            Some(why) => (FaultKind::Fault, format!("it had not ended when its context died: {why}")),
            None => (FaultKind::Stuck, "it still ran when the recording ended".to_owned()),
        };
        launch.fault = Some(Fault { kind, text, unfinished: None });
    }
    let (recording, damage) = recording(kept, launch, decoded);
    (Finished { recording, tallies, marks, damage, host_times: placed.host_times }, whole)
}
