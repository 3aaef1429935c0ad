//! Work that is much and alike, done by several threads.
//!
//! Holds: what comes of it is in the order of what it came from, whatever the number of threads; these are few, for a program
//! that is recorded has work of its own. Misses: threads that stay; starting some costs about a tenth of a millisecond.

use std::num::NonZero;

/// Threads, at most, and for each of them this many processors.
const MOST: usize = 8;
const EACH: usize = 2;
/// A thread is worth this many bytes of work.
const WORTH: usize = 256 << 10;

/// Does `work` on each of `all`; `bytes` says how much work one is. Nothing is done for parts whose thread panicked: the panic goes on.
pub fn spread<T: Send, R: Send>(all: Vec<T>, bytes: impl Fn(&T) -> usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    over((processors / EACH).clamp(1, MOST), all, bytes, work)
}

/// The same with so many threads at most.
fn over<T: Send, R: Send>(
    threads: usize,
    mut all: Vec<T>,
    bytes: impl Fn(&T) -> usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let total: usize = all.iter().map(&bytes).sum();
    let threads = (total / WORTH).min(threads);
    if threads < 2 {
        return all.into_iter().map(work).collect();
    }
    // Parts from the end on, each with its share of what is left.
    let (mut parts, mut left) = (Vec::with_capacity(threads), total);
    for n in (1..threads).rev() {
        let (mut at, mut own) = (all.len(), 0);
        while at > 0 && own < left / (n + 1) {
            at -= 1;
            own += bytes(&all[at]);
        }
        left -= own;
        parts.push(all.split_off(at));
    }
    let work = &work;
    let done = |part: Vec<T>| part.into_iter().map(work).collect::<Vec<R>>();
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.into_iter().rev().map(|part| scope.spawn(move || done(part))).collect();
        let mut made = done(all);
        for other in others {
            match other.join() {
                Ok(more) => made.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        made
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn order_does_not_depend_on_threads() {
        for sizes in [vec![], vec![WORTH; 1], vec![WORTH; 7], (0..100).map(|i| i * 9000).collect(), vec![1; 50]] {
            let total: usize = sizes.iter().sum();
            for threads in 1..10 {
                let all: Vec<(usize, usize)> = sizes.iter().copied().enumerate().collect();
                let who = Mutex::new(BTreeSet::new());
                let made = over(
                    threads,
                    all,
                    |(_, size)| *size,
                    |(i, size)| {
                        who.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
                        (i, size)
                    },
                );
                assert!(made.iter().enumerate().all(|(at, (i, size))| at == *i && *size == sizes[at]));
                assert_eq!(made.len(), sizes.len());
                assert!(who.into_inner().unwrap().len() <= (total / WORTH).clamp(1, threads));
            }
        }
        let parts = Mutex::new(BTreeSet::new());
        over(
            4,
            vec![(); 400],
            |()| WORTH,
            |()| parts.lock().unwrap().insert(format!("{:?}", std::thread::current().id())),
        );
        assert_eq!(parts.into_inner().unwrap().len(), 4);
    }
}
