//! A parallel map on worker threads that the caller owns.
//!
//! Packing frames is many equal pieces of work. [`Workers::map`] divides them over a
//! few threads that stay alive between calls: new threads start with new memory, which takes longer than the
//! work itself.
//!
//! # Invariants
//! Results are in the order of the items, whatever the number of threads.
//!
//! # Limitations
//! The threads inherit the signal mask of the thread that calls [`Workers::new`].

use std::num::NonZero;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Maximum number of worker threads. A recorded program needs the processors for its own work.
const MAX_THREADS: usize = 12;
/// Work on fewer bytes than this runs on the calling thread.
const MIN_BYTES: usize = 128 << 10;

/// Worker threads, or none: then all work runs on the calling thread.
#[derive(Debug, Default)]
pub struct Workers(Option<ThreadPool>);

impl Workers {
    /// All work runs on the calling thread.
    pub const SERIAL: Workers = Workers(None);

    /// One thread per processor, twelve at most. With one processor, or if no thread starts, the result is
    /// [`Workers::SERIAL`].
    pub fn new() -> Workers {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Workers::with_threads(processors.min(MAX_THREADS))
    }

    fn with_threads(threads: usize) -> Workers {
        let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(|_| "prlx-worker".into());
        Workers((threads > 1).then(|| builder.build().ok()).flatten())
    }

    /// Applies `work` to every item. `bytes` is the size of all items together.
    pub fn map<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        bytes: usize,
        work: impl Fn(T) -> R + Sync + Send,
    ) -> Vec<R> {
        match &self.0 {
            Some(pool) if bytes >= MIN_BYTES && items.len() > 1 => {
                pool.install(|| items.into_par_iter().map(work).collect())
            }
            _ => items.into_iter().map(work).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn order_does_not_depend_on_threads() {
        for threads in 2..5 {
            let workers = Workers::with_threads(threads);
            assert!(workers.0.is_some());
            for n in [0, 1, 2, 7, 1000] {
                let squares = workers.map((0..n).collect(), MIN_BYTES, |i: u32| (i, i * i));
                assert_eq!(squares, (0..n).map(|i| (i, i * i)).collect::<Vec<_>>());
            }
            // All threads work at the same time, or this never ends.
            let all = Barrier::new(threads);
            workers.map(vec![(); threads], MIN_BYTES, |()| all.wait().is_leader());
        }
        assert!(Workers::with_threads(1).0.is_none() && Workers::with_threads(0).0.is_none());
    }

    #[test]
    fn little_work_is_not_divided() {
        let here = std::thread::current().id();
        let workers = Workers::with_threads(2);
        assert_eq!(workers.map(vec![(); 5], MIN_BYTES - 1, |()| std::thread::current().id()), [here; 5]);
        assert_eq!(workers.map(vec![()], usize::MAX, |()| std::thread::current().id()), [here]);
    }
}
