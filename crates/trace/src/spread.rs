//! Work that is much and alike, done by several threads.
//!
//! The threads stay: those that come and go begin with new memory each time, which takes longer than the work.
//!
//! Holds: what comes of it is in the order of what it came from, whatever the number of threads; these are few, for a program
//! that is recorded has work of its own. They have the signal mask of the thread that first asks for them.

use std::num::NonZero;
use std::sync::LazyLock;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads, at most.
const MOST: usize = 8;
/// Less work than this many bytes is not divided.
const WORTH: usize = 128 << 10;

/// None: there is one processor, or no thread to be had.
static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    pool(processors.min(MOST))
});

fn pool(threads: usize) -> Option<ThreadPool> {
    let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(|_| "prlx-spread".into());
    (threads > 1).then(|| builder.build().ok()).flatten()
}

/// Does `work` on each of `all`, which is so many bytes in all.
pub fn spread<T: Send, R: Send>(all: Vec<T>, bytes: usize, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    match &*POOL {
        Some(pool) if bytes >= WORTH && all.len() > 1 => over(pool, all, work),
        _ => all.into_iter().map(work).collect(),
    }
}

fn over<T: Send, R: Send>(pool: &ThreadPool, all: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    pool.install(|| all.into_par_iter().map(work).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn order_does_not_depend_on_threads() {
        for threads in 2..5 {
            let pool = pool(threads).unwrap();
            for n in [0, 1, 2, 7, 1000] {
                let made = over(&pool, (0..n).collect(), |i: u32| (i, i * i));
                assert_eq!(made, (0..n).map(|i| (i, i * i)).collect::<Vec<_>>());
            }
            // All of them work at one time, or this never ends.
            let all = Barrier::new(threads);
            over(&pool, vec![(); threads], |()| all.wait().is_leader());
        }
        assert!(pool(1).is_none() && pool(0).is_none());
    }

    #[test]
    fn little_work_is_not_divided() {
        let here = std::thread::current().id();
        assert_eq!(spread(vec![(); 5], WORTH - 1, |()| std::thread::current().id()), [here; 5]);
        assert_eq!(spread(vec![()], usize::MAX, |()| std::thread::current().id()), [here]);
    }
}
