//! The worker threads of this process, which recordings share.
//!
//! The threads start at the first recording and stay until the process ends. They have the signal mask of the
//! thread that records first.

use std::sync::LazyLock;

use prlx_trace::parallel::Workers;

/// Threads that read, digest and pack the streams of launches.
pub static WORKERS: LazyLock<Workers> = LazyLock::new(Workers::new);
