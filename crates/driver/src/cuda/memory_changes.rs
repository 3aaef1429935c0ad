//! Finds what a launch changes in the memory behind its pointers: keeps a copy of that memory on the device,
//! and compares it by blocks after the launch, so that only blocks with changes are copied to the host.
//!
//! # Invariants
//! - The device has finished all earlier work of the context before memory is copied, and the launch before
//!   it is compared.
//! - At most `most` bytes are copied, shared fairly among the ranges.
//! - The copy is freed on every way out.
//!
//! # Limitations
//! - Every launch waits for the device twice, so launches of the program lose their overlap.
//! - The device needs as much free memory as is copied.
//! - Managed memory, host memory and memory of other devices are not looked at.

use super::calls::pointer;
use super::pointee_digest::{range_end, shares, starts};
use crate::cuda::library::open::Library;
use crate::cuda::library::pointers::PointerLookup;
use crate::memory_changes::{BLOCK, MemoryChanges, RangeChanges};
use crate::queue::{Context, Failure, Function, Stream};

/// Name of the kernel.
const NAME: &str = "prlx_blocks";

/// Threads of a CTA. Each thread reads a block.
const THREADS: u32 = 256;

/// Blocks without changes that are copied to the host rather than making two copies.
const GAP: usize = 64;

// The text has these constants as numbers.
const _: () = assert!(BLOCK == 512 && THREADS == 256);

/// PTX text of the kernel: hashes the blocks of a range as [`block_hash`](crate::memory_changes::block_hash)
/// does, and copies them to `to` unless that is 0.
pub const PTX: &str = r".version 7.0
.target sm_70
.address_size 64

.visible .entry prlx_blocks(.param .u64 from, .param .u64 to, .param .u64 bytes, .param .u64 hashes)
.maxntid 256, 1, 1
{
    .reg .pred %p, %copy, %single;
    .reg .b32 %x<2>;
    .reg .b64 %at, %put, %end, %n, %hashes, %i, %hash, %word, %shift, %t;

    mov.u32 %x0, %ctaid.x;
    mul.wide.u32 %i, %x0, 256;
    mov.u32 %x0, %tid.x;
    cvt.u64.u32 %t, %x0;
    add.u64 %i, %i, %t;
    ld.param.u64 %n, [bytes];
    shl.b64 %t, %i, 9;
    setp.ge.u64 %p, %t, %n;
    @%p bra DONE;
    sub.u64 %n, %n, %t;
    min.u64 %n, %n, 512;
    ld.param.u64 %at, [from];
    add.u64 %at, %at, %t;
    add.u64 %end, %at, %n;
    ld.param.u64 %put, [to];
    setp.ne.u64 %copy, %put, 0;
    add.u64 %put, %put, %t;
    mov.u64 %hash, 0xcbf29ce484222325;

    // Bytes one by one, if the block does not consist of aligned words.
    or.b64 %t, %at, %n;
    and.b64 %t, %t, 7;
    setp.ne.u64 %single, %t, 0;
WORD:
    setp.ge.u64 %p, %at, %end;
    @%p bra STORE;
    @%single bra BYTES;
    ld.global.u64 %word, [%at];
    @%copy st.global.u64 [%put], %word;
    add.u64 %at, %at, 8;
    add.u64 %put, %put, 8;
    bra ADD;
BYTES:
    mov.u64 %word, 0;
    mov.u64 %shift, 0;
BYTE:
    ld.global.u8 %x0, [%at];
    @%copy st.global.u8 [%put], %x0;
    cvt.u64.u32 %t, %x0;
    cvt.u32.u64 %x1, %shift;
    shl.b64 %t, %t, %x1;
    or.b64 %word, %word, %t;
    add.u64 %at, %at, 1;
    add.u64 %put, %put, 1;
    add.u64 %shift, %shift, 8;
    setp.ge.u64 %p, %at, %end;
    @%p bra ADD;
    setp.lt.u64 %p, %shift, 64;
    @%p bra BYTE;
ADD:
    xor.b64 %hash, %hash, %word;
    mul.lo.u64 %hash, %hash, 0x9e3779b97f4a7c15;
    shr.u64 %t, %hash, 32;
    xor.b64 %hash, %hash, %t;
    bra WORD;
STORE:
    ld.param.u64 %hashes, [hashes];
    shl.b64 %i, %i, 3;
    add.u64 %hashes, %hashes, %i;
    st.global.u64 [%hashes], %hash;
DONE:
    ret;
}
";

/// Finds what launches change, in one context.
pub struct ChangeFinder {
    library: Library,
    context: Context,
    function: Function,
    stream: Stream,
    /// Ordinal of the device.
    device: u32,
    /// Maximum bytes to copy per launch.
    most: u64,
}

/// A launch whose memory was copied. Pass it to [`ChangeFinder::after`].
#[derive(Debug)]
#[must_use]
pub struct CopiedLaunch {
    ranges: Vec<CopiedRange>,
    /// Device address of the copies, and of the hashes behind them.
    copies: u64,
}

/// The memory behind a pointer, and its copy.
#[derive(Debug)]
struct CopiedRange {
    /// Byte offset of the pointer in the parameter buffer.
    offset: u32,
    /// The address that the parameter holds.
    address: u64,
    size: u64,
    copied: u64,
    /// Device addresses of the copy, and of the hashes of its blocks.
    copy: u64,
    hashes: u64,
}

impl ChangeFinder {
    /// For launches in `context`, which belongs to the device with this ordinal. `most` is the maximum number
    /// of bytes per launch. `image` is [`PTX`], or the machine code of it.
    ///
    /// # Errors
    /// If a driver call fails.
    pub fn new(
        library: Library,
        context: Context,
        device: u32,
        image: &[u8],
        most: u64,
    ) -> Result<ChangeFinder, Failure> {
        let make = || {
            let function = library.function(library.load(image)?, NAME)?;
            let stream = library.create_stream()?;
            Ok(ChangeFinder { library, context, function, stream, device, most })
        };
        library.with_relaxed_capture(|| library.with_context(context, make))?
    }

    /// Waits for the device and copies the memory behind a launch's pointers. `params` is the parameter
    /// buffer, and `places` has offset and size of each parameter.
    ///
    /// # Errors
    /// If the driver refuses, as after a fault, or if there is no memory for the copy.
    pub fn before(&self, params: &[u8], places: &[(usize, usize)]) -> Result<CopiedLaunch, Failure> {
        self.in_context(|| {
            let mut launch = self.ranges(params, places);
            self.library.synchronize()?;
            let bytes = launch.ranges.last().map_or(0, |r| r.hashes + hash_bytes(r.copied));
            if bytes > 0 {
                launch.copies = self.library.alloc(usize::try_from(bytes).unwrap_or(usize::MAX))?;
                let copied = self.hash(&launch, |r| [r.address, launch.copies + r.copy]);
                if let Err(e) = copied {
                    self.free(&launch);
                    return Err(e);
                }
            }
            Ok(launch)
        })
    }

    /// Waits for the launch, and finds what has changed.
    ///
    /// # Errors
    /// If the driver refuses, as after a fault.
    pub fn after(&self, launch: &CopiedLaunch) -> Result<MemoryChanges, Failure> {
        self.in_context(|| {
            let found = self.compare(launch);
            self.free(launch);
            found
        })
    }

    /// Frees the copy of a launch that the driver did not accept.
    pub fn discard(&self, launch: &CopiedLaunch) {
        // After a fault there is nothing to free.
        let _ = self.in_context(|| {
            self.free(launch);
            Ok(())
        });
    }

    fn in_context<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.library.with_relaxed_capture(|| self.library.with_context(self.context, work))?
    }

    fn free(&self, launch: &CopiedLaunch) {
        if launch.copies != 0 {
            let _ = self.library.free(launch.copies);
        }
    }

    /// The ranges of a launch, with places for their copies, counted from 0.
    fn ranges(&self, params: &[u8], places: &[(usize, usize)]) -> CopiedLaunch {
        let found = PointerLookup::new(self.library).pointers(params, places);
        let ours = |info: &super::PointerInfo| {
            info.kind == pointer::DEVICE && !info.managed && info.device == self.device && info.readable
        };
        let starts = starts(found.iter().filter(|f| ours(&f.2)));
        let size = |(start, end): &(u64, u64)| range_end(&starts, *start, *end) - start;
        let sizes: Vec<u64> = starts.iter().map(size).collect();
        let copied = shares(self.most, &sizes);
        let mut at = 0;
        let mut ranges = Vec::new();
        for (offset, address, info) in &found {
            let own = starts.binary_search_by_key(address, |(start, _)| *start).ok().filter(|_| ours(info));
            let (size, copied) = own.map_or((info.end - address, 0), |i| (sizes[i], copied[i]));
            ranges.push(CopiedRange {
                offset: *offset,
                address: *address,
                size,
                copied,
                copy: at,
                hashes: 0,
            });
            at += copied.next_multiple_of(BLOCK as u64);
        }
        for range in &mut ranges {
            range.hashes = at;
            at += hash_bytes(range.copied);
        }
        CopiedLaunch { ranges, copies: 0 }
    }

    /// Hashes the blocks of all ranges, from and to these device addresses, and waits for it.
    fn hash(&self, launch: &CopiedLaunch, places: impl Fn(&CopiedRange) -> [u64; 2]) -> Result<(), Failure> {
        for range in launch.ranges.iter().filter(|r| r.copied > 0) {
            let [from, to] = places(range);
            let words = [from, to, range.copied, launch.copies + range.hashes].map(u64::to_le_bytes);
            let params: [&[u8]; 4] = words.each_ref().map(|word| &word[..]);
            let blocks = range.copied.div_ceil(BLOCK as u64).div_ceil(THREADS.into());
            let grid = [u32::try_from(blocks).unwrap_or(u32::MAX), 1];
            self.library.launch_in_stream(self.function, self.stream, grid, THREADS, &params)?;
        }
        self.library.synchronize()
    }

    fn read_hashes(&self, launch: &CopiedLaunch) -> Result<Vec<Vec<u64>>, Failure> {
        let read = |range: &CopiedRange| {
            let mut bytes = vec![0; usize::try_from(hash_bytes(range.copied)).unwrap_or_default()];
            if !bytes.is_empty() {
                self.library.read(launch.copies + range.hashes, &mut bytes)?;
            }
            let (words, _) = bytes.as_chunks();
            Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
        };
        launch.ranges.iter().map(read).collect()
    }

    fn compare(&self, launch: &CopiedLaunch) -> Result<MemoryChanges, Failure> {
        self.library.synchronize()?;
        let before = self.read_hashes(launch)?;
        self.hash(launch, |r| [r.address, 0])?;
        let after = self.read_hashes(launch)?;
        let mut ranges = Vec::new();
        for ((range, before), after) in launch.ranges.iter().zip(before).zip(after) {
            let changed: Vec<usize> = (0..after.len()).filter(|i| before[*i] != after[*i]).collect();
            let mut found =
                RangeChanges::new([range.offset.into(), range.size, range.copied], [&before, &after]);
            for run in changed.chunk_by(|a, b| b - a <= GAP) {
                let [Some(first), Some(last)] = [run.first(), run.last()] else { continue };
                let begin = (first * BLOCK) as u64;
                let bytes = ((last + 1) * BLOCK).min(range.copied as usize) - first * BLOCK;
                let mut content = [vec![0; bytes], vec![0; bytes]];
                self.library.read(launch.copies + range.copy + begin, &mut content[0])?;
                self.library.read(range.address + begin, &mut content[1])?;
                let [before, after] = &content;
                found.add(*first as u64, before, after);
            }
            ranges.push(found);
        }
        Ok(MemoryChanges::new(ranges))
    }
}

impl std::fmt::Debug for ChangeFinder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeFinder").field("device", &self.device).finish_non_exhaustive()
    }
}

/// Bytes of the hashes of a range.
fn hash_bytes(copied: u64) -> u64 {
    copied.div_ceil(BLOCK as u64) * 8
}
