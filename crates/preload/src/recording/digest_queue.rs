//! Launches that wait for digests of the memory behind their pointers, before they are written to the file.
//!
//! # Invariants
//! - A launch that enters the queue is written once, with its digests or with the reason why it has none.
//! - Digests are taken when they are there, even if their launch is not decoded yet, so that others have
//!   room.
//! - A launch waits for room for its digests, for [`MAX_LAUNCH_WAIT`] at most, and not again until there is
//!   some.
//! - Launches in batches ([`digest_batch`](super::digest_batch)) are in no other part of the queue.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prlx_driver::cuda::pointee_digest::{DigestStart, Digests, PendingDigest};
use prlx_driver::queue::Stream;
use prlx_driver::record::program::MAX_LAUNCH_WAIT;
use prlx_trace::launch::Pointee;
use prlx_trace::{Launch, Streams};

use crate::recording::digest_batch::{BatchStart, OpenBatch, PendingBatch};

/// Why a launch has no digests if there is no room for them.
const FULL: &str = "too many launches with digests are under way";

/// Pause between two looks for room.
const PAUSE: Duration = Duration::from_micros(50);

/// Maximum time that the end of a context waits for the last digests.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Why a launch has no digests if they do not come in time.
const STILL_RUNNING: &str = "it still ran when the recording ended";

/// A launch in the queue.
struct QueuedLaunch {
    digests: Arc<Digests>,
    progress: DigestProgress,
    /// What to write, once the launch has ended. The inner `None`: nothing, because the driver refused the
    /// launch.
    ended: Option<Option<(Launch, Streams)>>,
}

/// How far the digests of a launch are.
enum DigestProgress {
    /// The driver is being called.
    Calling,
    /// They are in progress.
    Pending(Box<PendingDigest>),
    /// They are there.
    Taken(Vec<Pointee>),
}

impl QueuedLaunch {
    /// Takes the digests if they are there. Returns whether they are.
    fn collect(&mut self) -> bool {
        self.progress = match std::mem::replace(&mut self.progress, DigestProgress::Calling) {
            DigestProgress::Pending(pending) => match self.digests.done(&pending) {
                true => DigestProgress::Taken(self.digests.take(*pending).pop().unwrap_or_default()),
                false => DigestProgress::Pending(pending),
            },
            other => other,
        };
        self.is_taken()
    }

    fn is_taken(&self) -> bool {
        matches!(self.progress, DigestProgress::Taken(_))
    }
}

/// The process's launches that wait for digests.
#[derive(Default)]
pub struct DigestQueue {
    queue: Mutex<Queue>,
    /// A launch has entered the empty queue.
    entered: Condvar,
}

#[derive(Default)]
struct Queue {
    /// By launch number.
    launches: BTreeMap<u64, QueuedLaunch>,
    /// Numbers of launches that have ended and lack only their digests.
    waiting: VecDeque<u64>,
    /// Numbers of launches whose digests are not taken.
    untaken: VecDeque<u64>,
    /// A launch waited for room in vain.
    stalled: bool,
    /// Launches that wait for others.
    open: Vec<OpenBatch>,
    /// Batches of launches whose digests are in progress.
    batches: VecDeque<PendingBatch>,
    /// Launches of batches that can be written.
    written: Vec<Launch>,
}

impl DigestQueue {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is a launch in the queue.
    pub fn wait_for_launches(&self) {
        let mut queue = self.lock();
        while queue.launches.is_empty() && queue.batches.is_empty() && queue.written.is_empty() {
            queue = self.entered.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
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
        let mut start = digests.before(stream, &launch.params, layout);
        let began = Instant::now();
        while matches!(start, DigestStart::Full) && self.makes_room(began) {
            start = digests.before(stream, &launch.params, layout);
        }
        let why = match start {
            DigestStart::NoPointers => return false,
            DigestStart::Full => FULL,
            DigestStart::Refused(why) => why,
            DigestStart::Started(pending) => {
                let (digests, progress) = (Arc::clone(digests), DigestProgress::Pending(pending));
                let queued = QueuedLaunch { digests, progress, ended: None };
                let mut queue = self.lock();
                queue.launches.insert(launch.number, queued);
                queue.untaken.push_back(launch.number);
                if queue.launches.len() == 1 {
                    self.entered.notify_all();
                }
                return true;
            }
        };
        launch.undigested = Some(why.to_owned());
        false
    }

    /// Takes digests, to make room for others. Returns false if there is none for a launch that has waited
    /// since `began`.
    fn makes_room(&self, began: Instant) -> bool {
        let mut queue = self.lock();
        let taken = queue.collect();
        let late = queue.stalled || began.elapsed() >= MAX_LAUNCH_WAIT;
        queue.stalled = late && taken == 0;
        drop(queue);
        if taken == 0 && !late {
            std::thread::sleep(PAUSE);
        }
        taken > 0 || !late
    }

    /// Adds a launch that is about to go into a stream to the launches that wait for others.
    pub fn add_to_batch(
        &self,
        digests: &Arc<Digests>,
        launch: Launch,
        stream: Stream,
        layout: &[(usize, usize)],
    ) {
        self.lock().open_batch(digests, stream).add(launch, layout);
    }

    /// Digests the launches that wait for others, in all batches that `which` selects and whose streams are
    /// not captured.
    pub fn digest_batches(&self, which: impl Fn(&OpenBatch) -> bool) {
        let began = Instant::now();
        let selected = |batch: &mut OpenBatch| which(batch).then(|| batch.take_accepted()).flatten();
        let selected: Vec<OpenBatch> = self.lock().open.iter_mut().filter_map(selected).collect();
        for batch in selected {
            if batch.is_captured() {
                self.lock().put_back(batch);
                continue;
            }
            let mut start = batch.start();
            loop {
                match start {
                    BatchStart::Full(batch) if self.makes_room(began) => start = batch.start(),
                    BatchStart::Full(batch) => start = BatchStart::Done(batch.give_up(FULL)),
                    BatchStart::Pending(pending) => {
                        self.lock().batches.push_back(pending);
                        break;
                    }
                    BatchStart::Done(launches) => {
                        self.lock().written.extend(launches);
                        break;
                    }
                }
            }
            self.entered.notify_all();
        }
        self.lock().open.retain(|batch| !batch.is_empty());
    }

    /// The driver has returned. `accepted`: the launch is in the stream.
    pub fn launch_queued(&self, number: u64, stream: Stream, accepted: bool) {
        let found = self.lock().open.iter_mut().find_map(|b| b.queued(number, accepted).then(|| b.is_full()));
        if let Some(full) = found {
            if full {
                self.digest_batches(|batch| batch.is_in(stream));
            }
            return;
        }
        let found = self.lock().launches.get_mut(&number).map(|queued| {
            (Arc::clone(&queued.digests), std::mem::replace(&mut queued.progress, DigestProgress::Calling))
        });
        let Some((digests, DigestProgress::Pending(mut pending))) = found else { return };
        digests.after(&mut pending, stream);
        let mut queue = self.lock();
        let Some(queued) = queue.launches.get_mut(&number) else { return };
        queued.progress = DigestProgress::Pending(pending);
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

    /// Takes the launches that have ended and whose digests are there.
    pub fn take_ready(&self) -> Vec<(Launch, Streams)> {
        let mut queue = self.lock();
        queue.collect();
        let Queue { launches, waiting, .. } = &mut *queue;
        let taken = |number: &u64| launches.get(number).is_some_and(QueuedLaunch::is_taken);
        let next: Vec<u64> = waiting.iter().copied().filter(taken).collect();
        let mut found: Vec<(Launch, Streams)> =
            next.into_iter().filter_map(|number| queue.take(number, false)).collect();
        found.extend(queue.written.drain(..).map(|launch| (launch, Streams::default())));
        found
    }

    /// Waits for the digests of one context's ended launches, for at most [`MAX_WAIT`]. Returns all launches
    /// whose digests arrived meanwhile.
    pub fn wait_and_take(&self, digests: &Arc<Digests>) -> Vec<(Launch, Streams)> {
        let in_batch = |queue: &Queue| queue.batches.iter().any(|batch| batch.has(digests));
        self.take_while(|queue| !queue.waiting_for(digests).is_empty() || in_batch(queue))
    }

    /// Waits for the digests of all batches, for at most [`MAX_WAIT`], until which memory must not go away.
    pub fn wait_for_batches(&self) {
        let start = Instant::now();
        while start.elapsed() < MAX_WAIT {
            let mut queue = self.lock();
            queue.collect();
            if queue.batches.is_empty() {
                break;
            }
            drop(queue);
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until a launch that has run is decoded and its digests are there, for at most [`MAX_WAIT`].
    /// Returns all launches whose digests arrived meanwhile.
    pub fn wait_for(&self, number: u64) -> Vec<(Launch, Streams)> {
        self.take_while(|queue| queue.launches.contains_key(&number))
    }

    /// Takes the launches whose digests are there while the queue is `open`, for at most [`MAX_WAIT`].
    fn take_while(&self, open: impl Fn(&Queue) -> bool) -> Vec<(Launch, Streams)> {
        let start = Instant::now();
        let mut found = Vec::new();
        while open(&self.lock()) && start.elapsed() < MAX_WAIT {
            found.extend(self.take_ready());
            std::thread::sleep(Duration::from_micros(100));
        }
        // Launches that need no waiting.
        found.extend(self.take_ready());
        found
    }

    /// Takes all launches of a context that ends, with the digests that arrive in time. `alive` is false if
    /// the context is destroyed already.
    pub fn take_all(&self, digests: &Arc<Digests>, alive: bool) -> Vec<(Launch, Streams)> {
        let mut found = if alive { self.wait_and_take(digests) } else { Vec::new() };
        let mut queue = self.lock();
        found.extend(queue.waiting_for(digests).into_iter().filter_map(|number| queue.take(number, true)));
        queue.launches.retain(|_, q| !Arc::ptr_eq(&q.digests, digests));
        let Queue { launches, untaken, open, batches, .. } = &mut *queue;
        untaken.retain(|number| launches.contains_key(number));
        let open = open.extract_if(.., |batch| batch.has(digests)).flat_map(|b| b.give_up(STILL_RUNNING));
        let mut left: Vec<Launch> = open.collect();
        for batch in std::mem::take(batches) {
            match batch.has(digests) {
                true => left.extend(batch.take(STILL_RUNNING)),
                false => batches.push_back(batch),
            }
        }
        found.extend(left.into_iter().map(|launch| (launch, Streams::default())));
        found
    }
}

impl Queue {
    /// The launches that wait for others, of this context and stream.
    fn open_batch(&mut self, digests: &Arc<Digests>, stream: Stream) -> &mut OpenBatch {
        let position = self.open.iter().position(|batch| batch.is_of(digests, stream));
        let position = position.unwrap_or_else(|| {
            self.open.push(OpenBatch::new(Arc::clone(digests), stream));
            self.open.len() - 1
        });
        &mut self.open[position]
    }

    /// Puts launches back that cannot be digested yet.
    fn put_back(&mut self, batch: OpenBatch) {
        match self.open.iter_mut().find(|open| open.same_place(&batch)) {
            Some(open) => open.put_back(batch),
            None => self.open.push(batch),
        }
    }

    fn waiting_for(&self, digests: &Arc<Digests>) -> Vec<u64> {
        let of_context = |n: &u64| self.launches.get(n).is_some_and(|q| Arc::ptr_eq(&q.digests, digests));
        self.waiting.iter().copied().filter(of_context).collect()
    }

    /// Takes a launch that has ended, if its digests are there. `force`: takes it without digests.
    fn take(&mut self, number: u64, force: bool) -> Option<(Launch, Streams)> {
        if !force && !self.launches.get_mut(&number)?.collect() {
            return None;
        }
        self.waiting.retain(|n| *n != number);
        let QueuedLaunch { progress, ended, .. } = self.launches.remove(&number)?;
        let (mut launch, streams) = ended??;
        match progress {
            DigestProgress::Taken(found) => launch.pointees = found,
            _ => launch.undigested = Some(STILL_RUNNING.to_owned()),
        }
        Some((launch, streams))
    }

    /// Takes the digests that are there. Returns of how many launches or batches.
    fn collect(&mut self) -> usize {
        let Queue { launches, untaken, batches, written, .. } = self;
        let before = untaken.len();
        untaken.retain(|number| launches.get_mut(number).is_some_and(|queued| !queued.collect()));
        let mut taken = before - untaken.len();
        for batch in std::mem::take(batches) {
            match batch.is_done() {
                true => {
                    written.extend(batch.take(STILL_RUNNING));
                    taken += 1;
                }
                false => batches.push_back(batch),
            }
        }
        taken
    }
}
