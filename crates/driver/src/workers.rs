//! The worker threads that all recordings of this process share.
//!
//! The threads start with the first recording and stay until the process ends. They inherit the signal mask
//! of the thread that starts the first recording.

use std::sync::LazyLock;

use prlx_trace::parallel::Workers;

/// Threads that decode and compress the streams of launches.
pub static WORKERS: LazyLock<Workers> = LazyLock::new(Workers::new);
