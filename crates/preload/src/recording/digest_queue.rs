//! Launches whose digests are under way: what is to be written of them waits for these.
//!
//! # Invariants
//! A launch that came here is written once, with its digests or with the reason why it has none. No more wait
//! than `Digests` has room for.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use prlx_driver::cuda::Stream;
use prlx_driver::cuda::pointee_digest::{DigestStart, Digests, PendingDigest};
use prlx_trace::{Launch, Streams};

/// The longest that the last ones are waited for at the end.
const END: Duration = Duration::from_secs(1);

/// Why a launch has none.
const UNDER_WAY: &str = "it still ran when the recording ended";

/// One launch.
struct One {
    digests: Arc<Digests>,
    /// None while the driver is called.
    begun: Option<Box<PendingDigest>>,
    /// What is to be written; the inner `None`: nothing, the driver refused it.
    ended: Option<Option<(Launch, Streams)>>,
}

/// All of a process.
#[derive(Default)]
pub struct Digesting(Mutex<All>);

/// By number.
#[derive(Default)]
struct All {
    launches: BTreeMap<u64, One>,
    /// Those that have ended otherwise.
    waiting: VecDeque<u64>,
}

impl Digesting {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A launch is about to be put into a stream, which is not captured. Whether its digests are under way;
    /// if they can't be made, `launch` says so.
    pub fn begin(
        &self,
        digests: &Arc<Digests>,
        launch: &mut Launch,
        stream: Stream,
        places: &[(usize, usize)],
    ) -> bool {
        match digests.before(stream, &launch.params, places) {
            DigestStart::NoPointers => return false,
            DigestStart::Refused(why) => {
                launch.undigested = Some(why.to_owned());
                return false;
            }
            DigestStart::Started(begun) => {
                let one = One { digests: Arc::clone(digests), begun: Some(begun), ended: None };
                self.lock().launches.insert(launch.number, one);
            }
        }
        true
    }

    /// The driver has answered. `taken`: it put the launch into the stream.
    pub fn queued(&self, number: u64, stream: Stream, taken: bool) {
        let found =
            self.lock().launches.get_mut(&number).map(|one| (Arc::clone(&one.digests), one.begun.take()));
        let Some((digests, Some(mut begun))) = found else { return };
        digests.after(&mut begun, stream);
        let mut all = self.lock();
        let Some(one) = all.launches.get_mut(&number) else { return };
        one.begun = Some(begun);
        if !taken && one.ended.is_none() {
            one.ended = Some(None);
            all.waiting.push_back(number);
        }
    }

    /// A launch has ended, or nothing is recorded of it: gives it back with its digests, or keeps it until
    /// they come.
    pub fn ended(&self, launch: Launch, streams: Streams) -> Option<(Launch, Streams)> {
        let mut all = self.lock();
        let number = launch.number;
        match all.launches.get_mut(&number) {
            None => return Some((launch, streams)),
            Some(one) => one.ended = Some(Some((launch, streams))),
        }
        all.waiting.push_back(number);
        all.finished(number, false)
    }

    /// Of the first so many that waited, those whose digests have come.
    pub fn come(&self, looks: usize) -> Vec<(Launch, Streams)> {
        let mut all = self.lock();
        let next: Vec<u64> = all.waiting.iter().copied().take(looks).collect();
        next.into_iter().filter_map(|number| all.finished(number, false)).collect()
    }

    /// Those that wait for digests of a context, as they come; not for long.
    pub fn settled(&self, digests: &Arc<Digests>) -> Vec<(Launch, Streams)> {
        let start = Instant::now();
        let mut found = Vec::new();
        // A thread that is ending may not be able to call the driver any more: another one does.
        let wait = || {
            while !self.lock().waiting_for(digests).is_empty() && start.elapsed() < END {
                found.extend(self.come(usize::MAX));
                std::thread::sleep(Duration::from_micros(100));
            }
        };
        std::thread::scope(|scope| scope.spawn(wait).join()).unwrap_or_default();
        found
    }

    /// All that wait for digests of a context that goes, or has gone: `there` says if not.
    pub fn rest(&self, digests: &Arc<Digests>, there: bool) -> Vec<(Launch, Streams)> {
        let mut found = if there { self.settled(digests) } else { Vec::new() };
        let mut all = self.lock();
        found.extend(all.waiting_for(digests).into_iter().filter_map(|number| all.finished(number, true)));
        all.launches.retain(|_, one| !Arc::ptr_eq(&one.digests, digests));
        found
    }
}

impl All {
    fn waiting_for(&self, digests: &Arc<Digests>) -> Vec<u64> {
        let theirs = |n: &u64| self.launches.get(n).is_some_and(|one| Arc::ptr_eq(&one.digests, digests));
        self.waiting.iter().copied().filter(theirs).collect()
    }

    /// A launch that waited and need no longer; `anyway`: without digests.
    fn finished(&mut self, number: u64, anyway: bool) -> Option<(Launch, Streams)> {
        let one = self.launches.get_mut(&number)?;
        let done = !anyway && one.begun.as_mut().is_some_and(|begun| one.digests.done(begun));
        if !done && !anyway {
            return None;
        }
        self.waiting.retain(|n| *n != number);
        let One { digests, begun, ended } = self.launches.remove(&number)?;
        let found = begun.filter(|_| done).map(|begun| digests.take(*begun));
        let (mut launch, streams) = ended??;
        match found {
            Some(found) => launch.pointees = found,
            None => launch.undigested = Some(UNDER_WAY.to_owned()),
        }
        Some((launch, streams))
    }
}
