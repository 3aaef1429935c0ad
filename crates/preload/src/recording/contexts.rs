//! The ends of contexts, and waits of the program: copies what was recorded while that is possible.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ptr::null_mut;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::recorder::TimeSpent;

use crate::log;
use crate::recording::context_recorder::Of;
use crate::recording::digest_queue::Digesting;
use crate::recording::graph_nodes::Graphs;
use crate::recording::lock::lock;
use crate::recording::session::SESSION;

/// The longest that a program's end waits for its recording.
const END: Duration = Duration::from_secs(10);

/// These contexts are about to go, or the program: what they recorded is brought in. A later launch begins
/// anew.
pub fn bring_in(which: impl Fn(&Of) -> bool) {
    bring(which, true);
}

/// The same of contexts that may have gone: `there` says if not.
fn bring(which: impl Fn(&Of) -> bool, there: bool) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut gone = Vec::new();
    // What is in the file is not beside it.
    let live = session.live.stop();
    lock(&session.contexts).retain(|_, of| match of {
        Some(of) if which(of) => {
            gone.push(Arc::clone(of));
            false
        }
        _ => true,
    });
    for of in &gone {
        let (counts, died) = of.recorder.finish(END);
        if let Some(why) = died {
            let more = match one_by_one() {
                true => "",
                false => "; with CUDA_LAUNCH_BLOCKING=1 every launch is safe before the next one runs",
            };
            log::warn_once(&format!("the recording is not whole: {why}{more}"));
        }
        let tallies = of.recorder.tallies();
        session.write(|file| tallies.iter().flat_map(|(_, of)| of).try_for_each(|tally| file.tally(tally)));
        let (TimeSpent { decoding, delivery }, ms) =
            (of.recorder.time_spent(), |d: Duration| d.as_secs_f64() * 1e3);
        let spent = format!(
            "{:.1} ms to take streams apart, {:.1} to pack and write them",
            ms(decoding),
            ms(delivery)
        );
        log::debug(&format!("{}: {counts:?}; {spent}", of.device));
        session.digested(of, |digesting, digests| digesting.rest(digests, there));
    }
    drop(live);
    if !gone.is_empty() {
        let mut graphs = lock(&session.graphs);
        *graphs = Graphs { count: graphs.count, ..Graphs::default() };
    }
}

/// Whether the driver waits for every launch, as it does where the user asks for it (CUDA's own
/// `CUDA_LAUNCH_BLOCKING`).
pub(super) fn one_by_one() -> bool {
    static ASKED: LazyLock<bool> =
        LazyLock::new(|| std::env::var("CUDA_LAUNCH_BLOCKING").is_ok_and(|v| !v.is_empty() && v != "0"));
    *ASKED
}

/// The program has waited for something: what has ended is brought in.
pub fn waited(real: &Functions) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut context = null_mut();
    // SAFETY: a place for the answer.
    if unsafe { (real.cuCtxGetCurrent)(&mut context) } == 0 {
        let of = lock(&session.contexts).get(&context.addr()).cloned().flatten();
        if let Some(of) = of {
            of.recorder.wait_for_copies();
            session.digested(&of, |digesting, _| digesting.come(usize::MAX));
        }
    }
}

/// A device's primary context may be about to go: its recorder is quiet until [`released`].
pub fn hold(device: i32) -> Option<Arc<Of>> {
    let session = SESSION.get()?.as_ref()?;
    let of = lock(&session.contexts).values().flatten().find(|of| of.is_of(device)).cloned()?;
    session.digested(&of, Digesting::settled);
    of.recorder.pause();
    Some(of)
}

/// It was given back once, and may be gone.
pub fn released(real: &Functions, device: i32, of: Arc<Of>) {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: places for the answers.
    let there =
        unsafe { (real.cuDevicePrimaryCtxGetState)(device, &mut flags, &mut active) } != 0 || active != 0;
    of.recorder.resume(there);
    if !there {
        crate::handles::modules_gone();
        bring(|other| other.is_of(device), false);
    }
}
