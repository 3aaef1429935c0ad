//! Hashes of whole launches, made on the device from what their warps left at their end.
//!
//! A recording that wants such hashes copies 64 bytes of a launch to the host, and not 40 bytes or more of
//! each of its warps. The copy thread puts a kernel before its copies, for which the API brings the code.
//! The kernel's grid has the parts along y: in each warp of a launch, the words of one kind.
//!
//! # Invariants
//! - The hash of a kind of words is [`digest::memory`](crate::digest::memory) of these words, warp by warp,
//!   each as a 64-bit number.
//! - A launch is hashed once, after it has ended. Its sums are zero before.
//! - The words are zero afterwards, so that the memory can have those of another launch.
//!
//! # Limitations
//! Warps that a filter leaves out are hashed where they lie between warps that it takes.

use prlx_trace::device::Finals;
use prlx_trace::launch::StreamHashes;

use crate::digest;
use crate::queue::{Failure, Function, Queue, Stream};
use crate::record::memory::launches::wanted;
use crate::record::program::layout::LAUNCH_SUMS;
use crate::record::program::state::{Ownership, PlacedLaunch};

/// Kinds of words that have a hash each: control, loaded values, stored values, signatures.
const KINDS: usize = 4;

/// Bytes of the two sums of one kind.
const SUMS: usize = 16;

const _: () = assert!(LAUNCH_SUMS == (KINDS * SUMS) as u64);

/// Name of the kernel.
const NAME: &str = "prlx_launch_hashes";

/// Maximum number of parts in one launch of the kernel.
pub(crate) const PARTS: usize = 96;

/// Bytes of a part among the parameters: the address of its first word, the address of its sums, then in 32
/// bits each the number of warps, the bytes from one warp to the next and the number of words in a warp.
pub(crate) const PART: usize = 32;

/// Number of threads in a CTA.
pub(crate) const THREADS: u32 = 256;

/// Maximum number of CTAs for a part: some four for each SM of a large GPU.
const CTAS: u32 = 512;

/// Starts the kernel in one context.
pub(super) struct LaunchHasher {
    function: Function,
}

/// The words of one kind in all warps of a launch.
struct Part {
    /// Address of the first word.
    at: u64,
    /// Address of the sums.
    sums: u64,
    warps: u32,
    /// Bytes from one warp to the next.
    each: u32,
    /// Number of words in a warp.
    words: u32,
}

/// First and last word of each kind among what a warp writes at its end.
fn words(layout: Finals) -> [(u64, u64); KINDS] {
    let hash = |i: usize| (layout.hash(i) / 4, layout.hash(i + 1) / 4);
    // What lies between hashes and signatures is undefined.
    [hash(0), hash(1), hash(2), (layout.signatures() / 4, layout.bytes() / 4)]
}

impl LaunchHasher {
    /// Loads the kernel into the current context. `image` is [`PTX`], or the machine code of it.
    ///
    /// # Errors
    /// If a driver call fails.
    pub fn new(queue: &dyn Queue, image: &[u8]) -> Result<LaunchHasher, Failure> {
        Ok(LaunchHasher { function: queue.load_kernel(image, NAME)? })
    }

    /// Puts the kernel into a stream, as often as these launches need it. They have ended.
    ///
    /// # Errors
    /// If a driver call fails.
    pub fn start(&self, queue: &dyn Queue, launches: &[PlacedLaunch], stream: Stream) -> Result<(), Failure> {
        let own = launches.iter().filter(|placed| placed.ownership == Ownership::Exclusive);
        let parts: Vec<Part> = own.flat_map(parts).collect();
        for some in parts.chunks(PARTS) {
            let mut bytes = [0; PARTS * PART];
            for (to, part) in bytes.chunks_exact_mut(PART).zip(some) {
                let Part { at, sums, warps, each, words } = part;
                let fields = [at.to_le_bytes(), sums.to_le_bytes()].concat().into_iter();
                let numbers = [warps, each, words].into_iter().flat_map(|n| n.to_le_bytes());
                to.iter_mut().zip(fields.chain(numbers)).for_each(|(to, from)| *to = from);
            }
            let most = some.iter().map(|part| part.warps).max().unwrap_or(0);
            let grid = [most.div_ceil(THREADS).clamp(1, CTAS), some.len() as u32];
            queue.start_kernel(self.function, stream, grid, THREADS, &[&bytes])?;
        }
        Ok(())
    }
}

/// The parts of a launch that have words.
fn parts(placed: &PlacedLaunch) -> impl Iterator<Item = Part> {
    let PlacedLaunch { plan, slot, launch, .. } = placed;
    let (first, last) = wanted(&plan.request, launch);
    let (each, sums) = (slot.kind.each(), slot.sums);
    let (finals, warps) = (slot.finals + first * each, (last - first) as u32);
    words(plan.finals).into_iter().zip(0..).filter(move |((from, to), _)| from < to && warps > 0).map(
        move |((from, to), kind)| Part {
            at: finals + 4 * from,
            sums: sums + kind * SUMS as u64,
            warps,
            each: each as u32,
            words: (to - from) as u32,
        },
    )
}

/// The hashes of a launch of `warps` recorded warps, from a copy of its sums; `None` if they are missing.
pub(super) fn read(layout: Finals, warps: u64, bytes: &[u8]) -> Option<StreamHashes> {
    let mut sums = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
    let mut hash = |(from, to): (u64, u64)| {
        let sums = [sums.next()?, sums.next()?];
        Some(digest::concluded(sums, 8 * (to - from) * warps))
    };
    let [control, loaded, stored, signatures] = words(layout).map(&mut hash);
    Some(StreamHashes { warps, control: control?, loaded: loaded?, stored: stored?, signatures: signatures? })
}
