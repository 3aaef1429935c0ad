//! Digests of what pointers lead to that a launch has among its parameters, before the launch and after it.
//!
//! [`Digests::before`] and [`Digests::after`] stand around a launch, and put a kernel each into its stream
//! (`kernel`), and a copy and an event behind them. [`Digests::take`] gives what they found when that event
//! has passed.
//!
//! **What is digested.** A pointer is a word of 8 bytes, at a multiple of 8 within one parameter, whose value
//! lies in an allocation. It leads to what lies from there up to the next such pointer, or to the end of the
//! allocation: a caching allocator gives many tensors of one allocation, and so others are seen too that lie
//! behind the last one. Of one launch no more than `most` bytes are digested, shared alike:
//! [`Pointee::digested`] says how many of each.
//!
//! # Invariants
//! Nothing is waited for; nothing is allocated beside the first time; what is read is memory of the context's
//! own device that the driver says it may read. A launch whose digests there is no room for is told of.
//! # Limitations
//! Managed memory, the host's, another device's; what lies before a pointer, and what pointers in memory lead
//! to; memory that other streams write to meanwhile is digested as it is found. Memory that a program unmaps
//! while a kernel which was given its address, and does not use it, waits to run, is read all the same.

mod kernel;

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use kernel::{NAME, OUT, RANGES, RESULT, SHARE, SLOT, THREADS};
use prlx_trace::launch::Pointee;

use super::calls::{attribute, pointer};
use crate::cuda::library::failure::Failure;
use crate::cuda::library::handles::{Context, Function, Stream};
use crate::cuda::library::open::Library;
use crate::cuda::library::pinned::PinnedBuffer;
use crate::cuda::library::pointers::PointerInfo;
use crate::digest;
use crate::error::{Error, ErrorKind};

pub use kernel::PTX;

/// Launches whose digests may be under way at a time.
const SLOTS: usize = 1024;

/// CTAs for each multiprocessor.
const CTAS: u32 = 4;

/// The longest that the first digests of all are waited for.
const START: Duration = Duration::from_secs(20);

/// Bytes that these are of.
const TRIAL: usize = 4096;

/// Digests launches in one context of CUDA.
pub struct Digests {
    library: Library,
    context: Context,
    function: Function,
    /// Where the slots begin.
    slots: u64,
    /// The device's ordinal.
    device: u32,
    /// CTAs of a range, at most.
    ctas: u32,
    /// Bytes of a launch, at most.
    most: u64,
    pid: u32,
    free: Mutex<Vec<DigestSlot>>,
}

/// A slot, and where the host gets its results.
struct DigestSlot {
    address: u64,
    results: PinnedBuffer,
}

/// What a pointer leads to, and the number of the range that it is, if that is digested.
type RangedPointee = (Pointee, Option<usize>);

/// A launch whose digests are under way. It goes to [`Digests::after`], then to [`Digests::take`].
#[must_use]
pub struct PendingDigest {
    slot: DigestSlot,
    /// Address and bytes.
    ranges: Vec<[u64; 2]>,
    pointees: Vec<RangedPointee>,
    /// Both kernels are in the stream.
    whole: bool,
}

/// What [`Digests::before`] did.
pub enum DigestStart {
    /// There is nothing to digest.
    NoPointers,
    /// It is under way.
    Started(Box<PendingDigest>),
    /// It can't be done, for this reason.
    Refused(&'static str),
}

impl Digests {
    /// For launches in `context`, of the device of that ordinal; no more than `most` bytes of each are
    /// digested. `image` is [`PTX`], or what an assembler made of it.
    ///
    /// # Errors
    /// When a call of the driver fails, or what the device digests is not what the host does.
    pub fn new(
        library: Library,
        context: Context,
        device: u32,
        image: &[u8],
        most: u64,
    ) -> Result<Digests, Error> {
        let failed = |e: Failure| e.during("digests");
        let make = || Digests::make(library, context, device, image, most).map_err(failed)?.self_tested();
        library.with_relaxed_capture(|| library.with_context(context, make)).map_err(failed)?
    }

    fn make(
        library: Library,
        context: Context,
        device: u32,
        image: &[u8],
        most: u64,
    ) -> Result<Digests, Failure> {
        let function = library.function(library.load(image)?, NAME)?;
        let processors = library.attribute(library.device(device)?, attribute::PROCESSORS)?;
        let bytes = SLOTS * SLOT as usize + TRIAL;
        let slots = library.alloc(bytes)?;
        let results = PinnedBuffer::several(library, SLOTS, RANGES * 2 * RESULT)?;
        let slot = |(i, results): (u64, PinnedBuffer)| DigestSlot { address: slots + i * SLOT, results };
        let free = Mutex::new((0..).zip(results).map(slot).collect());
        let (ctas, pid) = ((processors * CTAS).max(1), std::process::id());
        Ok(Digests { library, context, function, slots, device, ctas, most, pid, free })
    }

    /// Zeroes the slots, and digests something known, in a stream of its own: later launches need nothing of
    /// the driver that they could wait for.
    fn self_tested(self) -> Result<Digests, Error> {
        let failed = |e: Failure| e.during("digests");
        let library = self.library;
        let trial = self.slots + SLOTS as u64 * SLOT;
        let bytes: Vec<u8> = (0..TRIAL as u32).map(|i| ((i * i) >> 3) as u8).collect();
        // Words in pairs, words alone, bits of two words, and less than a word.
        let parts = [(0, 2001), (2008, 1000), (3011, 700), (3713, 7)];
        let work = || -> Result<Vec<Pointee>, Failure> {
            let stream = library.create_stream()?;
            let mut dma = PinnedBuffer::new(library, TRIAL)?;
            dma.zero_device(stream, &[(self.slots, SLOTS * SLOT as usize)])?;
            self.settle(&mut dma)?;
            dma.copy_to_device(stream, &[(trial, &bytes)])?;
            self.settle(&mut dma)?;
            let ranges = parts.map(|(from, bytes)| [trial + from, bytes]).to_vec();
            let pointee = |i: usize| (Pointee { digested: ranges[i][1], ..Pointee::default() }, Some(i));
            let pointees = (0..ranges.len()).map(pointee).collect();
            let Some(slot) = self.lock().pop() else { return Ok(Vec::new()) };
            let mut one = PendingDigest { slot, ranges, pointees, whole: false };
            self.launch(&one, 0, stream)?;
            self.follow(&mut one, stream)?;
            let start = Instant::now();
            while !self.done(&mut one) && start.elapsed() < START {
                std::thread::yield_now();
            }
            library.destroy_stream(stream)?;
            Ok(self.take(one))
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
        dma.wait(|| {
            std::thread::yield_now();
            start.elapsed() < START
        })
        .map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<DigestSlot>> {
        // Nothing panics while it is info, and nothing asks the driver.
        self.free.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Before a launch into `stream`, which is not captured: `params` are its parameters, `places` where each
    /// lies in them and its bytes. The context is the calling thread's current one.
    pub fn before(&self, stream: Stream, params: &[u8], places: &[(usize, usize)]) -> DigestStart {
        if std::process::id() != self.pid {
            return DigestStart::Refused("the process was forked");
        }
        self.library.with_relaxed_capture(|| {
            let (pointees, ranges) = self.pointees(params, places);
            if pointees.is_empty() {
                return DigestStart::NoPointers;
            }
            let Some(slot) = self.lock().pop() else {
                return DigestStart::Refused("too many launches with digests are under way");
            };
            let pending = PendingDigest { slot, ranges, pointees, whole: false };
            match self.launch(&pending, 0, stream) {
                Ok(()) => DigestStart::Started(Box::new(pending)),
                Err(_) => {
                    self.lock().push(pending.slot);
                    DigestStart::Refused("the driver refused to start the digest")
                }
            }
        })
    }

    /// After that launch, whether the driver took it or not, into the same stream.
    pub fn after(&self, pending: &mut PendingDigest, stream: Stream) {
        if std::process::id() == self.pid {
            // What fails leaves the slot in use: the device may yet write there.
            let _ = self.library.with_relaxed_capture(|| self.follow(pending, stream));
        }
    }

    fn follow(&self, pending: &mut PendingDigest, stream: Stream) -> Result<(), Failure> {
        self.launch(pending, 1, stream)?;
        let bytes = pending.ranges.len() * 2 * RESULT;
        pending.slot.results.copy_from_device(stream, &[(pending.slot.address + OUT, bytes)])?;
        pending.whole = true;
        Ok(())
    }

    /// Whether its digests have come. The thread's context may be any.
    pub fn done(&self, pending: &mut PendingDigest) -> bool {
        let mut ask = || self.library.with_context(self.context, || pending.slot.results.done());
        pending.whole
            && self.library.with_relaxed_capture(&mut ask).is_ok_and(|done| done.is_ok_and(|done| done))
    }

    /// What was found; without digests, if these have not come.
    pub fn take(&self, mut pending: PendingDigest) -> Vec<Pointee> {
        let done = self.done(&mut pending);
        let results = if done { pending.slot.results.bytes().unwrap_or_default() } else { &[] };
        let digest = |range: usize, side: usize| {
            let at = results.get((range * 2 + side) * RESULT..)?;
            let (a, rest) = at.split_first_chunk()?;
            let sums = [u64::from_le_bytes(*a), u64::from_le_bytes(*rest.first_chunk()?)];
            Some(digest::concluded(sums, pending.ranges[range][1]))
        };
        let of = |(pointee, range): &RangedPointee| {
            let [before, after] = [0, 1].map(|side| digest((*range)?, side));
            Pointee { before, after, ..*pointee }
        };
        let found = pending.pointees.iter().map(of).collect();
        if done {
            self.lock().push(pending.slot);
        }
        found
    }

    /// Puts the kernel into a stream, for the time before the launch (0) or behind it (1).
    fn launch(&self, pending: &PendingDigest, side: u32, stream: Stream) -> Result<(), Failure> {
        let mut ranges = [0; RANGES * 16];
        for (to, from) in ranges.chunks_exact_mut(8).zip(pending.ranges.as_flattened()) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        let most = pending.ranges.iter().map(|r| r[1]).max().unwrap_or(0);
        let ctas = most.div_ceil(SHARE).clamp(1, self.ctas.into()) as u32;
        let grid = [ctas, pending.ranges.len() as u32];
        let (slot, side) = (pending.slot.address.to_le_bytes(), side.to_le_bytes());
        match pending.ranges.is_empty() {
            true => Ok(()),
            false => {
                self.library.launch_in_stream(self.function, stream, grid, THREADS, &[&slot, &side, &ranges])
            }
        }
    }

    /// The pointers among parameters, and the ranges that they lead to.
    fn pointees(&self, params: &[u8], places: &[(usize, usize)]) -> (Vec<RangedPointee>, Vec<[u64; 2]>) {
        let mut found: Vec<(u32, u64, PointerInfo)> = Vec::new();
        for (at, size) in places {
            for word in (at.next_multiple_of(8)..).step_by(8).take_while(|w| w + 8 <= at + size) {
                let Some(value) = params.get(word..).and_then(|p| p.first_chunk()) else { break };
                let value = u64::from_le_bytes(*value);
                // No device has memory in the first page.
                let info = if value < 4096 { None } else { self.library.pointer_info(value) };
                found.extend(info.map(|info| (word as u32, value, info)));
            }
        }
        let ours = |info: &PointerInfo| {
            info.kind == pointer::DEVICE && !info.managed && info.device == self.device && info.readable
        };
        let mut starts: Vec<u64> = found.iter().filter(|f| ours(&f.2)).map(|f| f.1).collect();
        starts.sort_unstable();
        starts.dedup();
        let end = |value: u64, info: &PointerInfo| {
            let next = starts.get(starts.partition_point(|s| *s <= value)).copied();
            next.map_or(info.end, |next| next.min(info.end))
        };
        let taken = &starts[..starts.len().min(RANGES)];
        let mut sizes: Vec<u64> = vec![0; taken.len()];
        let range = |value: u64, info: &PointerInfo| taken.binary_search(&value).ok().filter(|_| ours(info));
        for (_, value, info) in &found {
            if let Some(i) = range(*value, info) {
                sizes[i] = end(*value, info) - value;
            }
        }
        let digested = shares(self.most, &sizes);
        let pointee = |(offset, value, info): &(u32, u64, PointerInfo)| {
            let range = range(*value, info);
            let digested = range.map_or(0, |i| digested[i]);
            let bytes = end(*value, info) - value;
            (Pointee { offset: *offset, bytes, digested, ..Pointee::default() }, range)
        };
        let pointees = found.iter().map(pointee).collect();
        (pointees, taken.iter().zip(&digested).map(|(at, bytes)| [*at, *bytes]).collect())
    }
}

impl std::fmt::Debug for Digests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Digests")
            .field("device", &self.device)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// How much of each there is room for in `most`: all of what is small, and alike of the rest.
fn shares(most: u64, sizes: &[u64]) -> Vec<u64> {
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
