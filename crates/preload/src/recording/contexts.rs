//! Ends of contexts and waits of the program: copies what was recorded while that is possible.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ptr::null_mut;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prlx_driver::cuda::Functions;
use prlx_driver::record::program::TimeSpent;

use crate::log;
use crate::recording::context_recorder::ContextRecorder;
use crate::recording::digest_queue::DigestQueue;
use crate::recording::graph_nodes::Graphs;
use crate::recording::lock::lock;
use crate::recording::session::{SESSION, Session};

/// Maximum time that the end of a context or of the program waits for its recording.
const MAX_FINISH_WAIT: Duration = Duration::from_secs(10);

/// Completes the recordings of contexts that are about to be destroyed. A launch after that creates a new
/// recorder.
pub fn finish_contexts(which: impl Fn(&ContextRecorder) -> bool) {
    finish(which, true);
}

/// As [`finish_contexts`]; `alive` is false if the contexts are destroyed already.
fn finish(which: impl Fn(&ContextRecorder) -> bool, alive: bool) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut ended = Vec::new();
    // The tables go to the process's file now, so they must not be in the live file too.
    let live = session.live.remove();
    lock(&session.contexts).retain(|_, context| match context {
        Some(context) if which(context) => {
            ended.push(Arc::clone(context));
            false
        }
        _ => true,
    });
    if alive {
        ended.iter().for_each(|context| session.digest_batches(Some(context)));
    }
    for context in &ended {
        let (counts, failed) = context.recorder.finish(MAX_FINISH_WAIT);
        if let Some(why) = failed {
            let hint = match launches_are_blocking() {
                true => "",
                false => "; with CUDA_LAUNCH_BLOCKING=1 every launch is saved before the next one runs",
            };
            log::warn_once(&format!("the recording is incomplete: {why}{hint}"));
        }
        let tallies = context.recorder.tallies();
        session.write(|file| tallies.iter().flat_map(|(_, all)| all).try_for_each(|tally| file.tally(tally)));
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let TimeSpent { decoding, delivery } = context.recorder.time_spent();
        log::debug(&format!(
            "{}: {counts:?}; {:.1} ms to decode streams, {:.1} to compress and write them",
            context.device,
            ms(decoding),
            ms(delivery)
        ));
        session.append_digested(context, |queue, digests| queue.take_all(digests, alive));
    }
    drop(live);
    if !ended.is_empty() {
        let mut graphs = lock(&session.graphs);
        *graphs = Graphs { count: graphs.count, ..Graphs::default() };
    }
}

/// Whether the driver waits for every launch, because the user has set CUDA's `CUDA_LAUNCH_BLOCKING`.
pub(super) fn launches_are_blocking() -> bool {
    static BLOCKING: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|v| !v.is_empty() && v != "0"));
    *BLOCKING
}

/// The session, and the recorder of the current context, if there is one already.
fn current(real: &Functions) -> Option<(&'static Session, Arc<ContextRecorder>)> {
    let session = SESSION.get()?.as_ref()?;
    let mut context = null_mut();
    // SAFETY: the driver's function (P2); the output is a local variable (P3).
    if unsafe { (real.cuCtxGetCurrent)(&mut context) } != 0 {
        return None;
    }
    let found = lock(&session.contexts).get(&context.addr()).cloned().flatten();
    found.map(|context| (session, context))
}

/// Copies ended launches of the current context to the host, after the program has waited.
pub fn copy_after_wait(real: &Functions) {
    if let Some((session, context)) = current(real) {
        context.recorder.wait_for_copies();
        session.append_digested(&context, |queue, _| queue.take_ready());
    }
}

/// Digests launches that wait for others, before the program waits for the device.
pub fn before_wait() {
    if let Some(Some(session)) = SESSION.get() {
        session.digest_batches(None);
    }
}

/// Digests launches that wait for others, before memory or a stream goes away. `at_once`: the driver does not
/// wait for kernels that read the memory.
pub fn before_release(at_once: bool) {
    let Some(Some(session)) = SESSION.get() else { return };
    session.digest_batches(None);
    if at_once && session.options.batched_digests {
        session.digest_queue.wait_for_batches();
    }
}

/// Completes what is recorded of launches before a stream of the current context is captured.
pub fn before_capture(real: &Functions) {
    before_wait();
    if let Some((_, context)) = current(real) {
        context.recorder.before_capture();
    }
}

/// Pauses the recorder of a device's primary context, which the program's next call may destroy. Continues
/// with [`resume_primary`].
pub fn pause_primary(device: i32) -> Option<Arc<ContextRecorder>> {
    let session = SESSION.get()?.as_ref()?;
    let found = lock(&session.contexts).values().flatten().find(|c| c.is_primary_of(device)).cloned()?;
    session.digest_batches(Some(&found));
    session.append_digested(&found, DigestQueue::wait_and_take);
    found.recorder.pause();
    Some(found)
}

/// Continues a paused recorder after the program has released the primary context. If the context is
/// destroyed, ends its recording.
pub fn resume_primary(real: &Functions, device: i32, paused: Arc<ContextRecorder>) {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: the driver's function (P2); outputs are local variables (P3).
    let code = unsafe { (real.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) };
    let alive = code != 0 || active != 0;
    paused.recorder.resume(alive);
    if !alive {
        crate::handles::clear_modules();
        finish(|context| context.is_primary_of(device), false);
    }
}
