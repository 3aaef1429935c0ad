//! Writes launches to the file when their digests are there, so that threads of the program need not.

use std::time::Duration;

use crate::panic_guard::guard;
use crate::recording::digest_queue::DigestQueue;
use crate::recording::flush::block_signals;
use crate::recording::session::SESSION;

/// Pause between two looks at the launches that wait. A killed process loses what ended since the last one.
const PAUSE: Duration = Duration::from_millis(1);

/// Starts the thread, which runs as long as the process.
pub(super) fn start() {
    let run = || {
        block_signals();
        loop {
            std::thread::sleep(PAUSE);
            guard(|| {
                let session = SESSION.get()?.as_ref()?;
                session.digest_queue.wait_for_launches();
                session.append_taken(DigestQueue::take_ready);
                Some(())
            });
        }
    };
    let _ = std::thread::Builder::new().name("prlx-digests".into()).spawn(run);
}
