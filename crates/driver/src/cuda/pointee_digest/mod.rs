//! Digests the memory that the pointers among a launch's parameters lead to, before and after the launch.
//!
//! [`Digests::before`] and [`Digests::after`] are called around a launch. Each puts a kernel (`kernel`) into
//! the launch's stream, which stores its results in host memory. [`Digests::take`] returns the digests once
//! they are there. A copy to the host with an event behind it would delay the program's next kernel, and
//! asking for events takes the driver's lock.
//!
//! A pointer is an 8-byte word at a multiple of 8 within one parameter whose value lies in an allocation. Its
//! range extends to the next such pointer, or to the end of the allocation. Caching allocators put many
//! tensors into one allocation, so the last range may cover other tensors as well. At most `most` bytes are
//! digested per launch, shared fairly among the ranges: [`Pointee::digested`] has the bytes of each.
//!
//! [`Digests::after_several`] digests the memory of several launches at once, after the last of them. The
//! ranges of all launches divide the memory, so that no byte is read twice; the digest of a range of several
//! parts is made of those of its parts.
//!
//! # Invariants
//! - No call waits for the device, and only the constructor allocates.
//! - The kernel reads only memory of the context's own device, and small page-locked memory of the host, that
//!   the driver reports as readable.
//! - If there is no room for the digests of a launch, the caller learns why.
//!
//! # Limitations
//! - Managed memory, larger host memory and memory of other devices are not digested.
//! - Memory before a pointer is not digested, and neither is memory behind pointers that lie in memory.
//! - If other streams or the host write to the memory at the same time, the digest is that of some mixture.
//! - A program must not unmap memory while a kernel that has its address is queued, even if that kernel does
//!   not use it: the digest reads it.

mod kernel;

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use kernel::{LEAST_SHARE, NAME, RANGES, RESULT, SLOT, TAG, THREADS};
use prlx_trace::launch::Pointee;

use super::calls::attribute;
use crate::cuda::library::mapped::MappedBuffer;
use crate::cuda::library::open::Library;
use crate::cuda::library::pinned::PinnedBuffer;
use crate::cuda::library::pointers::{PointerInfo, PointerLookup};
use crate::digest;
use crate::error::{Error, ErrorKind};
use crate::queue::{Context, CopyBuffer, Failure, Function, HostMemory, Stream, wait};

pub use kernel::PTX;

/// Number of slots: how many launches' digests can be in progress at the same time. A launch with more than
/// [`RANGES`] ranges takes several.
const SLOTS: usize = 1024;

/// Maximum number of ranges of a launch: kernels have at most 4 KiB of parameters before CUDA 12.1, and so at
/// most 512 pointers.
const MOST_RANGES: usize = 16 * RANGES;

/// Number of launches whose ranges and bytes are allowed for several launches at once.
const SHARED: usize = 8;

/// Bytes of a slot's results, for both sides.
const RESULTS: u64 = 2 * RANGES as u64 * RESULT;

/// Number of CTAs for each SM that share the ranges of a launch: as many as run at the same time.
const CTAS: u64 = 8;

/// Why a launch has no digests if the driver reports an error.
const REFUSED: &str = "the driver refused to start the digest";

/// Time limit of the self-test.
const START: Duration = Duration::from_secs(20);

/// Bytes of memory that the self-test digests.
const TRIAL: usize = 4096;

/// Digests launches in one context.
pub struct Digests {
    library: Library,
    context: Context,
    function: Function,
    /// Device address of the first slot.
    slots: u64,
    /// The results of all slots. Never freed, because that could wait for a kernel that never ends.
    results: ManuallyDrop<MappedBuffer>,
    /// Ordinal of the device.
    device: u32,
    /// Number of CTAs that run at the same time.
    ctas: u64,
    /// Maximum bytes to digest per launch.
    most: u64,
    pid: u32,
    free: Mutex<Vec<DigestSlot>>,
}

/// A place for the sums and results of [`RANGES`] ranges.
struct DigestSlot {
    number: u64,
    /// The tag of the results that the slot gets next. It is never 0.
    tag: u64,
}

/// A pointee, with the ranges that it consists of; none if it is not digested.
type RangedPointee = (Pointee, Range<usize>);

/// The parameters of a launch: the buffer, and offset and size of each in it.
pub type ParamsAndPlaces<'a> = (&'a [u8], &'a [(usize, usize)]);

/// Launches whose digests are in progress. Pass it to [`Digests::after`], if it comes from
/// [`Digests::before`], and then to [`Digests::take`].
#[must_use]
pub struct PendingDigest {
    /// One for each [`RANGES`] ranges.
    slots: Vec<DigestSlot>,
    /// Address and bytes of each range.
    ranges: Vec<[u64; 2]>,
    /// Those of each launch.
    pointees: Vec<Vec<RangedPointee>>,
    /// What is digested: memory before (0), and after (1). The last is digested last.
    sides: &'static [u64],
    /// Whether all kernels are in the stream.
    whole: bool,
}

/// Result of [`Digests::before`] and [`Digests::after_several`].
pub enum DigestStart {
    /// The parameters contain no pointer.
    NoPointers,
    /// The digests were put into the stream.
    Started(Box<PendingDigest>),
    /// The launch cannot be digested while those that are in progress are.
    Full,
    /// The launch cannot be digested, for this reason.
    Refused(&'static str),
}

impl Digests {
    /// Prepares digests for launches in `context`, which belongs to the device with this ordinal. `most` is
    /// the maximum number of bytes per launch. `image` is [`PTX`], or the machine code of it.
    ///
    /// # Errors
    /// If a driver call fails, or if the device computes other digests than the host.
    pub fn new(
        library: Library,
        context: Context,
        device: u32,
        image: &[u8],
        most: u64,
    ) -> Result<Digests, Error> {
        let failed = |e: Failure| e.during("digests");
        let make = || Digests::make(library, context, (device, image), most).map_err(failed)?.self_tested();
        library.with_relaxed_capture(|| library.with_context(context, make)).map_err(failed)?
    }

    fn make(
        library: Library,
        context: Context,
        (device, image): (u32, &[u8]),
        most: u64,
    ) -> Result<Digests, Failure> {
        let function = library.function(library.load(image)?, NAME)?;
        let processors = library.attribute(library.device(device)?, attribute::PROCESSORS)?;
        let slots = library.alloc(SLOTS * SLOT as usize + TRIAL)?;
        let results = ManuallyDrop::new(MappedBuffer::new(library, SLOTS * RESULTS as usize)?);
        let free = Mutex::new((0..SLOTS as u64).map(|number| DigestSlot { number, tag: 1 }).collect());
        let (ctas, pid) = ((u64::from(processors) * CTAS).max(1), std::process::id());
        Ok(Digests { library, context, function, slots, results, device, ctas, most, pid, free })
    }

    /// Zeroes the slots and digests a known text in a stream of its own. Later launches then need no driver
    /// call that could wait.
    fn self_tested(self) -> Result<Digests, Error> {
        let failed = |e: Failure| e.during("digests");
        let library = self.library;
        let trial = self.slots + SLOTS as u64 * SLOT;
        let bytes: Vec<u8> = (0..TRIAL as u32).map(|i| ((i * i) >> 3) as u8).collect();
        // These ranges cover every path of the kernel: words in pairs, single words, unaligned words, and
        // less than a word.
        let parts = [(0, 2001), (2008, 1000), (3011, 700), (3713, 7)];
        let work = || -> Result<Vec<Pointee>, Failure> {
            let stream = library.create_stream()?;
            let mut dma = PinnedBuffer::new(library, TRIAL)?;
            dma.zero_device(stream, &[(self.slots, SLOTS * SLOT as usize)])?;
            self.settle(&mut dma)?;
            dma.copy_to_device(stream, &[(trial, &bytes)])?;
            self.settle(&mut dma)?;
            let ranges = parts.map(|(from, bytes)| [trial + from, bytes]).to_vec();
            let pointee = |i: usize| (Pointee { digested: ranges[i][1], ..Pointee::default() }, i..i + 1);
            let pointees = vec![(0..ranges.len()).map(pointee).collect()];
            let slots = self.lock().pop().into_iter().collect();
            let mut one = PendingDigest { slots, ranges, pointees, sides: &[0, 1], whole: false };
            self.launch(&one, 0, stream)?;
            self.follow(&mut one, stream)?;
            // Only an event behind the kernels.
            dma.zero_device(stream, &[])?;
            self.settle(&mut dma)?;
            library.destroy_stream(stream)?;
            Ok(self.take(one).concat())
        };
        let found = work().map_err(failed)?;
        let right = parts.iter().zip(&found).all(|((from, n), p)| {
            let here = Some(digest::memory(&bytes[*from as usize..][..*n as usize]));
            (p.before, p.after) == (here, here)
        });
        if found.len() == parts.len() && right {
            return Ok(self);
        }
        let why = match found.iter().all(|p| p.after.is_some()) {
            true => "the device digests other than the host",
            false => "the device is busy",
        };
        Err(Error::new(ErrorKind::Record, format!("digests: {why}")))
    }

    fn settle(&self, dma: &mut PinnedBuffer) -> Result<(), Failure> {
        let start = Instant::now();
        wait(dma, || {
            std::thread::yield_now();
            start.elapsed() < START
        })
        .map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<DigestSlot>> {
        // Nothing panics or calls the driver while the lock is held.
        self.free.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Digests the memory before a launch into `stream`, which must not be captured. `params` is the
    /// parameter buffer, and `places` has offset and size of each parameter. The launch's context must be the
    /// calling thread's current one.
    pub fn before(&self, stream: Stream, params: &[u8], places: &[(usize, usize)]) -> DigestStart {
        self.start(stream, &[(params, places)], &[0, 1])
    }

    /// Digests the memory after several launches of this context into `stream`, which must not be captured.
    /// At most eight times as many bytes are digested as for one launch.
    pub fn after_several(&self, stream: Stream, launches: &[ParamsAndPlaces<'_>]) -> DigestStart {
        let start = || self.start(stream, launches, &[1]);
        self.library.with_context(self.context, start).unwrap_or(DigestStart::Refused(REFUSED))
    }

    /// Whether a stream is being captured. True as well if the driver cannot say.
    pub fn is_captured(&self, stream: Stream) -> bool {
        let ask = || self.library.is_captured(stream);
        self.library.with_context(self.context, ask).is_ok_and(|captured| captured.unwrap_or(true))
    }

    /// Puts the digests of the first of these sides into a stream.
    fn start(&self, stream: Stream, launches: &[ParamsAndPlaces<'_>], sides: &'static [u64]) -> DigestStart {
        if std::process::id() != self.pid {
            return DigestStart::Refused("the process was forked");
        }
        self.library.with_relaxed_capture(|| {
            let (pointees, ranges) = self.pointees(launches);
            if pointees.iter().all(Vec::is_empty) {
                return DigestStart::NoPointers;
            }
            let mut free = self.lock();
            let Some(rest) = free.len().checked_sub(ranges.len().div_ceil(RANGES)) else {
                return DigestStart::Full;
            };
            let slots = free.split_off(rest);
            drop(free);
            let whole = sides.len() == 1;
            let mut pending = PendingDigest { slots, ranges, pointees, sides, whole };
            match self.launch(&pending, sides[0], stream) {
                Ok(()) => DigestStart::Started(Box::new(pending)),
                Err(_) => {
                    self.lock().append(&mut pending.slots);
                    DigestStart::Refused(REFUSED)
                }
            }
        })
    }

    /// Digests the memory after that launch, in the same stream, whether the driver accepted the launch or
    /// not.
    pub fn after(&self, pending: &mut PendingDigest, stream: Stream) {
        if std::process::id() == self.pid {
            // After a failure the slot stays in use, because the device may still write to it.
            let _ = self.library.with_relaxed_capture(|| self.follow(pending, stream));
        }
    }

    fn follow(&self, pending: &mut PendingDigest, stream: Stream) -> Result<(), Failure> {
        self.launch(pending, 1, stream)?;
        pending.whole = true;
        Ok(())
    }

    /// Whether the digests are complete. Calls no function of the driver.
    pub fn done(&self, pending: &PendingDigest) -> bool {
        // The last range is the last one to be digested, mostly.
        let mut ranges = (0..pending.ranges.len()).rev();
        let is_there = |range, side| self.sums(pending, range, side).is_some();
        pending.whole && ranges.all(|range| pending.sides.iter().rev().all(|side| is_there(range, *side)))
    }

    /// The sums of a range, if they are there.
    fn sums(&self, pending: &PendingDigest, range: usize, side: u64) -> Option<[u64; 2]> {
        let slot = pending.slots.get(range / RANGES)?;
        let place = (range % RANGES) as u64 * 2 + side;
        let at = self.results.device() + slot.number * RESULTS + place * RESULT;
        let word = |offset: usize| self.results.word(at + offset as u64);
        (word(TAG)? == slot.tag).then_some(())?;
        // The device stores the tag behind the sums.
        fence(Ordering::Acquire);
        Some([word(0)?, word(8)?])
    }

    /// Returns the pointees of each launch; without digests, if those are not complete.
    pub fn take(&self, mut pending: PendingDigest) -> Vec<Vec<Pointee>> {
        let done = self.done(&pending);
        let digest = |range: usize, side: u64| {
            let sums = self.sums(&pending, range, side).filter(|_| done)?;
            Some(digest::concluded(sums, pending.ranges[range][1]))
        };
        let joined = |ranges: &Range<usize>, side: u64| {
            let parts: Option<Vec<u64>> = ranges.clone().map(|range| digest(range, side)).collect();
            parts?.into_iter().reduce(digest::joined)
        };
        let of = |(pointee, ranges): &RangedPointee| {
            let [before, after] =
                [0, 1].map(|side| joined(ranges, side).filter(|_| pending.sides.contains(&side)));
            Pointee { before, after, ..*pointee }
        };
        let found = pending.pointees.iter().map(|launch| launch.iter().map(of).collect()).collect();
        if done {
            pending.slots.iter_mut().for_each(|slot| slot.tag += 1);
            self.lock().append(&mut pending.slots);
        }
        found
    }

    /// Puts the kernel into a stream, for each slot. `side` is 0 before the launch and 1 after it.
    fn launch(&self, pending: &PendingDigest, side: u64, stream: Stream) -> Result<(), Failure> {
        for (slot, some) in pending.slots.iter().zip(pending.ranges.chunks(RANGES)) {
            let mut ranges = [0; RANGES * 16];
            for (to, from) in ranges.chunks_exact_mut(8).zip(some.as_flattened()) {
                to.copy_from_slice(&from.to_le_bytes());
            }
            let (all, most) = some.iter().fold((0u64, 1), |(all, most), r| (all + r[1], most.max(r[1])));
            // All CTAs run at once: a CTA has a price of its own, and a second wave of them is another one.
            let share = all.div_ceil(self.ctas).max(1).next_power_of_two().ilog2().max(LEAST_SHARE);
            let grid = [((most - 1) >> share) as u32 + 1, some.len() as u32];
            let results = self.results.device() + slot.number * RESULTS;
            let [sums, results, tag] =
                [self.slots + slot.number * SLOT, results, slot.tag].map(u64::to_le_bytes);
            let (side, share) = ((side as u32).to_le_bytes(), share.to_le_bytes());
            let params: [&[u8]; 6] = [&sums, &results, &tag, &side, &share, &ranges];
            self.library.launch_in_stream(self.function, stream, grid, THREADS, &params)?;
        }
        Ok(())
    }

    /// Finds the pointers among the parameters of each launch, and the ranges that they lead to.
    fn pointees(&self, launches: &[ParamsAndPlaces<'_>]) -> (Vec<Vec<RangedPointee>>, Vec<[u64; 2]>) {
        let mut lookup = PointerLookup::new(self.library);
        let found: Vec<Vec<(u32, u64, PointerInfo)>> =
            launches.iter().map(|(params, places)| lookup.pointers(params, places)).collect();
        let ours = |info: &PointerInfo| info.is_own_memory_of(self.device) || info.is_small_host_memory();
        let all = starts(found.iter().flatten().filter(|f| ours(&f.2)));
        let times = launches.len().clamp(1, SHARED);
        let taken = &all[..all.len().min(MOST_RANGES * times)];
        let sizes = &range_sizes(&all)[..taken.len()];
        let digested = shares(self.most.saturating_mul(times as u64), sizes);
        let pointees = found.iter().map(|found| {
            let own = starts(found.iter().filter(|f| ours(&f.2)));
            let pointee = |(offset, value, info): &(u32, u64, PointerInfo)| {
                let end = range_end(&own, *value, info.end);
                let position = |at: u64| taken.partition_point(|(start, _)| *start < at);
                let ranges = match ours(info) {
                    true => position(*value)..position(end),
                    false => 0..0,
                };
                let digested = digested[ranges.clone()].iter().sum();
                (Pointee { offset: *offset, bytes: end - value, digested, ..Pointee::default() }, ranges)
            };
            found.iter().map(pointee).collect()
        });
        let ranges = taken.iter().zip(&digested).map(|((at, _), bytes)| [*at, *bytes]).collect();
        (pointees.collect(), ranges)
    }
}

/// Values of pointers, ascending, each once, with the end of its allocation.
pub(super) fn starts<'a>(found: impl Iterator<Item = &'a (u32, u64, PointerInfo)>) -> Vec<(u64, u64)> {
    let all: BTreeMap<u64, u64> = found.map(|(_, value, info)| (*value, info.end)).collect();
    all.into_iter().collect()
}

/// The sizes of the ranges that begin at `starts`.
pub(super) fn range_sizes(starts: &[(u64, u64)]) -> Vec<u64> {
    starts.iter().map(|(start, end)| range_end(starts, *start, *end) - start).collect()
}

/// The end of the range of a pointer into an allocation that ends at `end`: where the next of `starts`
/// begins, or the end of the allocation.
fn range_end(starts: &[(u64, u64)], value: u64, end: u64) -> u64 {
    let next = starts.get(starts.partition_point(|(start, _)| *start <= value));
    next.map_or(end, |(next, _)| (*next).min(end))
}

impl std::fmt::Debug for Digests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digests")
            .field("device", &self.device)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// Shares `most` bytes fairly: small ranges get all of their size, the others equal parts of the rest.
pub(super) fn shares(most: u64, sizes: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|i| sizes[*i]);
    let mut out = vec![0; sizes.len()];
    let mut left = most;
    for (n, i) in order.iter().enumerate() {
        out[*i] = sizes[*i].min(left / (sizes.len() - n) as u64);
        left -= out[*i];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn what_is_small_is_digested_whole() {
        assert_eq!(shares(100, &[10, 20]), [10, 20]);
        assert_eq!(shares(100, &[80, 10, 80]), [45, 10, 45]);
        assert_eq!(shares(100, &[1000, 0, 1000, 1000]), [33, 0, 33, 34]);
        assert_eq!(shares(0, &[5]), [0]);
        assert_eq!(shares(7, &[]), [0; 0]);
    }
}
