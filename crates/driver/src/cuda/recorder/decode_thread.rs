//! The decode thread: decodes the copied launches and passes them to the sink, so that the copy thread need
//! not wait for the sink.
//!
//! # Invariants
//! - `State::host_bytes` counts the bytes of batches that were sent to this thread and are not delivered.
//! - It is the last thread to end, and sets `finished`.
//!
//! # Limitations
//! It decodes one batch at a time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use prlx_plan::Plan;
use prlx_trace::device::tracks;
use prlx_trace::kernel::FaultKind;
use prlx_trace::launch::{Fault, Launch};
use prlx_trace::mark::Marks;
use prlx_trace::{FuncId, Level, Recording};

use crate::cuda::recorder::batch::CopiedBatch;
use crate::cuda::recorder::launch::Finished;
use crate::cuda::recorder::layout::{Slot, WARP};
use crate::cuda::recorder::limits::IDLE;
use crate::cuda::recorder::shared::Shared;
use crate::cuda::recorder::state::{HostTimes, Ownership, Progress};
use crate::decode::{DecodedStreams, KeptWarps, LaunchBuffers, Pool, decode_launch};
use crate::digest::Basis;
use crate::record::launches::{recording, records, wanted};

pub(super) type Sink = Box<dyn FnMut(Finished) + Send>;

/// Digest bases of kernels. Computing one takes longer than decoding a small launch.
#[derive(Default)]
struct DigestBases(BTreeMap<(*const Plan, FuncId), (Arc<Plan>, Basis)>);

/// Maximum number of kernels in the cache.
const KNOWN: usize = 256;

impl DigestBases {
    fn of(&mut self, plan: &Arc<Plan>, kernel: FuncId) -> &Basis {
        let key = (Arc::as_ptr(plan), kernel);
        if self.0.len() >= KNOWN && !self.0.contains_key(&key) {
            self.0.clear();
        }
        // The cache keeps the plan alive, so no other plan can have its address.
        &self.0.entry(key).or_insert_with(|| (Arc::clone(plan), Basis::new(&plan.module, kernel))).1
    }
}

/// Runs until the copy thread has ended and everything is delivered.
pub(super) fn run(shared: &Shared, batches: &Receiver<CopiedBatch>, mut sink: Sink) {
    let mut known = DigestBases::default();
    loop {
        match batches.recv_timeout(IDLE) {
            Ok(batch) => {
                let size = batch.bytes.len() as u64;
                let mut bytes = deliver(shared, batch, &mut known, &mut sink);
                bytes.clear();
                let mut state = shared.lock();
                state.host_bytes -= size;
                state.spare = bytes;
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

/// Decodes the tracks of a launch from a copy of their memory; `None` if it has no markers.
pub(super) fn marks(plan: &Plan, launch: &Launch, slot: &Slot, bytes: &[u8]) -> Option<Marks> {
    let layout = plan.probe_state.tracks.as_ref()?;
    let (first_warp, _) = wanted(&plan.request, launch);
    let Launch { module, kernel, number, .. } = *launch;
    let left_out = launch.warps() - slot.kind.recorded().min(launch.warps() - first_warp);
    let tracks = layout.read(kernel, first_warp, slot.kind.tracks().log, bytes);
    Some(Marks { module, launch: number, tracks, left_out })
}

/// Returns the memory of the batch.
fn deliver(shared: &Shared, batch: CopiedBatch, known: &mut DigestBases, sink: &mut Sink) -> Vec<u8> {
    let (pool, arena) = batch.bytes.split_at_checked(batch.pool).unwrap_or_default();
    let part = |at: u64, from: u64, bytes: u64| {
        let from = (at.wrapping_sub(batch.used).wrapping_add(from)) as usize;
        arena.get(from..).and_then(|a| a.get(..bytes as usize)).unwrap_or_default()
    };
    let room = |warps, each| shared.layout.room(warps, each).unwrap_or_default();
    let all = batch.slots.iter().map(|slot| part(slot.heads, 0, room(slot.kind.warps(), 0).0));
    let mut pool = Pool::new(shared.layout.level, WARP, batch.area.pool, pool, batch.area.bucket, all);
    for placed in batch.launches {
        let (state, probes) = (&placed.plan.probe_state, shared.layout.level == Level::Probe);
        // All launches add to the same tables, so mixing does not matter for them.
        if placed.ownership != Ownership::Exclusive
            && !(probes && state.records.warp == 0 && state.tracks.is_none())
        {
            shared.lock().add_unrecorded(
                placed.launch,
                "two instances of its graph ran at once, and wrote to one place",
            );
            continue;
        }
        let (first_warp, last) = wanted(&placed.plan.request, &placed.launch);
        let slot = &placed.slot;
        let each = slot.kind.each();
        let (before, own) = (room(first_warp, each), room(last - first_warp, each));
        let (heads, finals) = (part(slot.heads, before.0, own.0), part(slot.finals, before.1, own.1));
        let (layout, sites) = (placed.plan.finals, placed.plan.module.sites.len());
        let start = Instant::now();
        let kept = KeptWarps::new(&placed.plan, known.of(&placed.plan, placed.launch.kernel), &placed.launch);
        let (decoded, tallies) = match probes {
            false => {
                let buffers = LaunchBuffers { first_warp, heads, finals, layout, sites };
                (decode_launch(&mut pool, buffers, &kept), Vec::new())
            }
            true => {
                let bytes = part(slot.finals, 0, placed.launch.warps().saturating_mul(state.records.warp));
                (DecodedStreams::default(), records(state, &placed.launch, bytes))
            }
        };
        let marks = state.tracks.as_ref().and_then(|_| {
            let bytes = part(slot.tracks, 0, slot.track_bytes());
            shared
                .lock()
                .size_history
                .learn_track(&placed.launch, tracks::wanted(slot.kind.tracks().log, bytes));
            marks(&placed.plan, &placed.launch, slot, bytes)
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
        let (recording, damage) = recording(&kept, launch, decoded);
        let apart = start.elapsed();
        sink(Finished { recording, tallies, marks, damage, host_times: placed.host_times });
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
    batch.bytes
}
