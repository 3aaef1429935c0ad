//! Launches that wait for digests of the memory behind their pointers, before they are written to the file.
//!
//! # Invariants
//! - A launch that enters the queue is written once, with its digests or with the reason why it has none.
//! - The queue is bounded by the number of digests that `Digests` has room for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prlx_driver::cuda::Stream;
use prlx_driver::cuda::pointee_digest::{DigestStart, Digests, PendingDigest};
use prlx_trace::{Launch, Streams};

/// Maximum time that the end of a context waits for the last digests.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Why a launch has no digests if they do not come in time.
const STILL_RUNNING: &str = "it still ran when the recording ended";

/// A launch in the queue.
struct QueuedLaunch {
    digests: Arc<Digests>,
    /// `None` while the driver is called.
    pending: Option<Box<PendingDigest>>,
    /// What to write, once the launch has ended. The inner `None`: nothing, because the driver refused the
    /// launch.
    ended: Option<Option<(Launch, Streams)>>,
}

/// The process's launches that wait for digests.
#[derive(Default)]
pub struct DigestQueue(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    /// By launch number.
    launches: BTreeMap<u64, QueuedLaunch>,
    /// Numbers of launches that have ended and lack only their digests.
    waiting: VecDeque<u64>,
}

impl DigestQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts to digest a launch that is about to go into a stream, which must not be captured. `layout` has
    /// offset and size of each parameter. Returns whether digests were started; if they cannot be, `launch`
    /// gets the reason.
    pub fn begin(
        &self,
        digests: &Arc<Digests>,
        launch: &mut Launch,
        stream: Stream,
        layout: &[(usize, usize)],
    ) -> bool {
        match digests.before(stream, &launch.params, layout) {
            DigestStart::NoPointers => return false,
            DigestStart::Refused(why) => {
                launch.undigested = Some(why.to_owned());
                return false;
            }
            DigestStart::Started(pending) => {
                let queued =
                    QueuedLaunch { digests: Arc::clone(digests), pending: Some(pending), ended: None };
                self.lock().launches.insert(launch.number, queued);
            }
        }
        true
    }

    /// The driver has returned. `accepted`: the launch is in the stream.
    pub fn launch_queued(&self, number: u64, stream: Stream, accepted: bool) {
        let found = self.lock().launches.get_mut(&number).map(|q| (Arc::clone(&q.digests), q.pending.take()));
        let Some((digests, Some(mut pending))) = found else { return };
        digests.after(&mut pending, stream);
        let mut queue = self.lock();
        let Some(queued) = queue.launches.get_mut(&number) else { return };
        queued.pending = Some(pending);
        if !accepted && queued.ended.is_none() {
            queued.ended = Some(None);
            queue.waiting.push_back(number);
        }
    }

    /// A launch has ended, or nothing is recorded of it. Returns it with its digests, or keeps it until they
    /// are there.
    pub fn ended(&self, launch: Launch, streams: Streams) -> Option<(Launch, Streams)> {
        let mut queue = self.lock();
        let number = launch.number;
        match queue.launches.get_mut(&number) {
            None => return Some((launch, streams)),
            Some(queued) => queued.ended = Some(Some((launch, streams))),
        }
        queue.waiting.push_back(number);
        queue.take(number, false)
    }

    /// Takes the launches whose digests are there, among the first `count` that wait.
    pub fn take_ready(&self, count: usize) -> Vec<(Launch, Streams)> {
        let mut queue = self.lock();
        let next: Vec<u64> = queue.waiting.iter().copied().take(count).collect();
        next.into_iter().filter_map(|number| queue.take(number, false)).collect()
    }

    /// Waits for the digests of one context's ended launches, for at most [`MAX_WAIT`]. Returns all launches
    /// whose digests arrived meanwhile.
    pub fn wait_and_take(&self, digests: &Arc<Digests>) -> Vec<(Launch, Streams)> {
        self.take_while(|queue| !queue.waiting_for(digests).is_empty())
    }

    /// Waits until a launch that has run is decoded and its digests are there, for at most [`MAX_WAIT`].
    /// Returns all launches whose digests arrived meanwhile.
    pub fn wait_for(&self, number: u64) -> Vec<(Launch, Streams)> {
        self.take_while(|queue| queue.launches.contains_key(&number))
    }

    /// Takes the launches whose digests are there while the queue is `open`, for at most [`MAX_WAIT`].
    fn take_while(&self, open: impl Fn(&Queue) -> bool + Sync) -> Vec<(Launch, Streams)> {
        let start = Instant::now();
        let mut found = Vec::new();
        // A thread that is ending may no longer be able to call the driver, so another thread waits.
        let wait = || {
            while open(&self.lock()) && start.elapsed() < MAX_WAIT {
                found.extend(self.take_ready(usize::MAX));
                std::thread::sleep(Duration::from_micros(100));
            }
        };
        std::thread::scope(|scope| scope.spawn(wait).join()).unwrap_or_default();
        found
    }

    /// Takes all launches of a context that ends, with the digests that arrive in time. `alive` is false if
    /// the context is destroyed already.
    pub fn take_all(&self, digests: &Arc<Digests>, alive: bool) -> Vec<(Launch, Streams)> {
        let mut found = if alive { self.wait_and_take(digests) } else { Vec::new() };
        let mut queue = self.lock();
        found.extend(queue.waiting_for(digests).into_iter().filter_map(|number| queue.take(number, true)));
        queue.launches.retain(|_, q| !Arc::ptr_eq(&q.digests, digests));
        found
    }
}

impl Queue {
    fn waiting_for(&self, digests: &Arc<Digests>) -> Vec<u64> {
        let of_context = |n: &u64| self.launches.get(n).is_some_and(|q| Arc::ptr_eq(&q.digests, digests));
        self.waiting.iter().copied().filter(of_context).collect()
    }

    /// Takes a launch that has ended, if its digests are there. `force`: takes it without digests.
    fn take(&mut self, number: u64, force: bool) -> Option<(Launch, Streams)> {
        let queued = self.launches.get_mut(&number)?;
        let done = !force && queued.pending.as_mut().is_some_and(|pending| queued.digests.done(pending));
        if !done && !force {
            return None;
        }
        self.waiting.retain(|n| *n != number);
        let QueuedLaunch { digests, pending, ended } = self.launches.remove(&number)?;
        let found = pending.filter(|_| done).map(|pending| digests.take(*pending));
        let (mut launch, streams) = ended??;
        match found {
            Some(found) => launch.pointees = found,
            None => launch.undigested = Some(STILL_RUNNING.to_owned()),
        }
        Some((launch, streams))
    }
}
