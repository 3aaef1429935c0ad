//! Finds what a launch changes in the memory behind its pointers: keeps a copy of that memory on the device,
//! and compares the two by blocks after the launch, so that little is copied to the host.
//!
//! # Invariants
//! - The device has finished all earlier work of the context before memory is copied, and the launch before
//!   it is compared.
//! - At most `most` bytes are copied, shared fairly among the ranges.
//! - The memory of a copy is kept for the next launch on every way out.
//!
//! # Limitations
//! - Every launch waits for the device twice, so launches of the program lose their overlap.
//! - The device needs as much free memory as is copied.
//! - Managed memory, host memory and memory of other devices are not looked at.

use std::sync::{Mutex, PoisonError};

use super::pointee_digest::{range_sizes, shares, starts};
use crate::cuda::library::open::Library;
use crate::cuda::library::pointers::PointerLookup;
use crate::memory_changes::{BLOCK, BlockInfo, MemoryChanges, RangeChanges};
use crate::queue::{Context, Failure, Function, Stream};

/// Name of the kernel.
const NAME: &str = "prlx_blocks";

/// Threads of a CTA. Each thread reads a block.
const THREADS: u32 = 256;

/// Bytes that the device stores for a block: its hash, and the mask of its changed words.
const INFO: usize = 24;

/// The part of the maximum that is copied if there is no memory for more.
const LESS: u64 = 16;

// The text has these constants as numbers.
const _: () = assert!(BLOCK == 512 && THREADS == 256 && INFO == 24);

/// PTX text of the kernel. For each block of a range it stores what [`BlockInfo`] has. If `compare` is 0, it
/// copies the range to `copy`; otherwise it compares the two.
pub const PTX: &str = r".version 7.0
.target sm_70
.address_size 64

.visible .entry prlx_blocks(
    .param .u64 from,
    .param .u64 copy,
    .param .u64 bytes,
    .param .u64 infos,
    .param .u64 compare
)
.maxntid 256, 1, 1
{
    .reg .pred %p, %compare, %single, %first;
    .reg .b32 %x<2>, %bit, %shift;
    .reg .b64 %at, %put, %end, %n, %infos, %i, %hash, %word, %old, %low, %high, %t, %u;

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
    ld.param.u64 %put, [copy];
    add.u64 %put, %put, %t;
    ld.param.u64 %t, [compare];
    setp.ne.u64 %compare, %t, 0;
    mov.u64 %hash, 0xcbf29ce484222325;
    mov.u64 %low, 0;
    mov.u64 %high, 0;
    mov.u32 %bit, 0;

    // Bytes one by one, if the block does not consist of aligned words.
    or.b64 %t, %at, %n;
    and.b64 %t, %t, 7;
    setp.ne.u64 %single, %t, 0;
WORD:
    setp.ge.u64 %p, %at, %end;
    @%p bra STORE;
    @%single bra BYTES;
    ld.global.u64 %word, [%at];
    mov.u64 %old, %word;
    @%compare ld.global.u64 %old, [%put];
    @!%compare st.global.u64 [%put], %word;
    add.u64 %at, %at, 8;
    add.u64 %put, %put, 8;
    bra ADD;
BYTES:
    mov.u64 %word, 0;
    mov.u64 %old, 0;
    mov.u32 %shift, 0;
BYTE:
    ld.global.u8 %x0, [%at];
    mov.u32 %x1, %x0;
    @%compare ld.global.u8 %x1, [%put];
    @!%compare st.global.u8 [%put], %x0;
    cvt.u64.u32 %t, %x0;
    shl.b64 %t, %t, %shift;
    or.b64 %word, %word, %t;
    cvt.u64.u32 %t, %x1;
    shl.b64 %t, %t, %shift;
    or.b64 %old, %old, %t;
    add.u64 %at, %at, 1;
    add.u64 %put, %put, 1;
    add.u32 %shift, %shift, 8;
    setp.ge.u64 %p, %at, %end;
    @%p bra ADD;
    setp.lt.u32 %p, %shift, 64;
    @%p bra BYTE;
ADD:
    xor.b64 %hash, %hash, %word;
    mul.lo.u64 %hash, %hash, 0x9e3779b97f4a7c15;
    shr.u64 %t, %hash, 32;
    xor.b64 %hash, %hash, %t;

    // Two bits of the mask: one for each word of 4 bytes.
    xor.b64 %old, %old, %word;
    and.b64 %t, %old, 0xffffffff;
    setp.ne.u64 %p, %t, 0;
    selp.b64 %t, 1, 0, %p;
    shr.u64 %u, %old, 32;
    setp.ne.u64 %p, %u, 0;
    selp.b64 %u, 2, 0, %p;
    or.b64 %t, %t, %u;
    and.b32 %x0, %bit, 63;
    shl.b64 %t, %t, %x0;
    setp.lt.u32 %first, %bit, 64;
    @%first or.b64 %low, %low, %t;
    @!%first or.b64 %high, %high, %t;
    add.u32 %bit, %bit, 2;
    bra WORD;
STORE:
    ld.param.u64 %infos, [infos];
    mul.lo.u64 %i, %i, 24;
    add.u64 %infos, %infos, %i;
    st.global.u64 [%infos], %hash;
    st.global.u64 [%infos+8], %low;
    st.global.u64 [%infos+16], %high;
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
    /// Device memory that no launch has: address and size of each piece.
    spare: Mutex<Vec<(u64, u64)>>,
}

/// A launch whose memory was copied. Pass it to [`ChangeFinder::after`].
#[derive(Debug)]
#[must_use]
pub struct CopiedLaunch {
    ranges: Vec<CopiedRange>,
    /// Its device memory: address and size. It has the copies, and from `infos` to `end` what is known of
    /// their blocks.
    memory: (u64, u64),
    infos: u64,
    end: u64,
}

/// The memory behind a pointer.
#[derive(Debug)]
struct CopiedRange {
    /// Byte offset of the pointer in the parameter buffer.
    offset: u32,
    /// The address that the parameter holds.
    address: u64,
    size: u64,
    copied: u64,
    /// Where the copy is in the launch's device memory, and what is known of its blocks.
    copy: u64,
    infos: u64,
}

impl CopiedRange {
    fn blocks(&self) -> u64 {
        self.copied.div_ceil(BLOCK as u64)
    }
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
            let spare = Mutex::default();
            Ok(ChangeFinder { library, context, function, stream, device, most, spare })
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
            self.library.synchronize()?;
            let mut launch = self.ranges(params, places, self.most);
            if launch.end > 0 {
                launch.memory = match self.take_memory(launch.end) {
                    Ok(memory) => memory,
                    // The program may leave little memory free.
                    Err(_) => {
                        launch = self.ranges(params, places, self.most / LESS);
                        self.take_memory(launch.end)?
                    }
                };
                if let Err(e) = self.run(&launch, false) {
                    self.give_back(&launch);
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
        let found = self.in_context(|| self.compare(launch));
        self.give_back(launch);
        found
    }

    fn in_context<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        self.library.with_relaxed_capture(|| self.library.with_context(self.context, work))?
    }

    /// Device memory of at least so many bytes.
    fn take_memory(&self, bytes: u64) -> Result<(u64, u64), Failure> {
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match spare {
            Some((at, size)) if size >= bytes => return Ok((at, size)),
            Some((at, _)) => self.library.free(at)?,
            None => {}
        }
        Ok((self.library.alloc(usize::try_from(bytes).unwrap_or(usize::MAX))?, bytes))
    }

    /// Keeps the memory of a launch that is not needed any more, as the driver did not accept it.
    pub fn give_back(&self, launch: &CopiedLaunch) {
        if launch.memory.1 > 0 {
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(launch.memory);
        }
    }

    /// The ranges of a launch, with places for their copies.
    fn ranges(&self, params: &[u8], places: &[(usize, usize)], most: u64) -> CopiedLaunch {
        let found = PointerLookup::new(self.library).pointers(params, places);
        let ours =
            |info: &super::PointerInfo| info.is_own_memory_of(self.device) || info.is_small_host_memory();
        let starts = starts(found.iter().filter(|f| ours(&f.2)));
        let sizes = range_sizes(&starts);
        let shares = shares(most, &sizes);
        let mut at = 0;
        let mut ranges = Vec::new();
        for (offset, address, info) in &found {
            let own = starts.binary_search_by_key(address, |(start, _)| *start).ok().filter(|_| ours(info));
            let (size, copied) = own.map_or((info.end - address, 0), |i| (sizes[i], shares[i]));
            let (offset, address, copy) = (*offset, *address, at);
            ranges.push(CopiedRange { offset, address, size, copied, copy, infos: 0 });
            at += copied.next_multiple_of(BLOCK as u64);
        }
        let infos = at;
        for range in &mut ranges {
            range.infos = at;
            at += range.blocks() * INFO as u64;
        }
        CopiedLaunch { ranges, memory: (0, 0), infos, end: at }
    }

    /// Copies all ranges, or compares them with their copies, and waits for it.
    fn run(&self, launch: &CopiedLaunch, compare: bool) -> Result<(), Failure> {
        let memory = launch.memory.0;
        for range in launch.ranges.iter().filter(|r| r.copied > 0) {
            let [copy, infos] = [memory + range.copy, memory + range.infos];
            let words = [range.address, copy, range.copied, infos, compare.into()].map(u64::to_le_bytes);
            let params: [&[u8]; 5] = words.each_ref().map(|word| &word[..]);
            let ctas = range.blocks().div_ceil(THREADS.into());
            let grid = [u32::try_from(ctas).unwrap_or(u32::MAX), 1];
            self.library.launch_in_stream(self.function, self.stream, grid, THREADS, &params)?;
        }
        self.library.synchronize()
    }

    /// What is known of the blocks of each range.
    fn read_infos(&self, launch: &CopiedLaunch) -> Result<Vec<Vec<BlockInfo>>, Failure> {
        let mut bytes = vec![0; usize::try_from(launch.end - launch.infos).unwrap_or_default()];
        if !bytes.is_empty() {
            self.library.read(launch.memory.0 + launch.infos, &mut bytes)?;
        }
        let word = |info: &[u8; INFO], i: usize| u64::from_le_bytes(std::array::from_fn(|k| info[8 * i + k]));
        let mut infos = bytes.as_chunks().0.iter().map(|info| BlockInfo {
            hash: word(info, 0),
            mask: u128::from(word(info, 2)) << 64 | u128::from(word(info, 1)),
        });
        let of = |range: &CopiedRange| infos.by_ref().take(range.blocks() as usize).collect();
        Ok(launch.ranges.iter().map(of).collect())
    }

    fn compare(&self, launch: &CopiedLaunch) -> Result<MemoryChanges, Failure> {
        self.library.synchronize()?;
        let before = self.read_infos(launch)?;
        self.run(launch, true)?;
        let after = self.read_infos(launch)?;
        let mut ranges = Vec::new();
        for ((range, before), after) in launch.ranges.iter().zip(before).zip(after) {
            let before: Vec<u64> = before.iter().map(|block| block.hash).collect();
            let sizes = [range.offset.into(), range.size, range.copied];
            let mut found = RangeChanges::new(sizes, &before, &after);
            for run in found.wanted().chunk_by(|a, b| a + 1 == *b) {
                let [Some(first), Some(last)] = [run.first(), run.last()] else { continue };
                let begin = first * BLOCK as u64;
                let bytes = ((last + 1) * BLOCK as u64).min(range.copied) - begin;
                let mut content = [0; 2].map(|_: i32| vec![0; bytes as usize]);
                self.library.read(launch.memory.0 + range.copy + begin, &mut content[0])?;
                self.library.read(range.address + begin, &mut content[1])?;
                found.add(*first, &content[0], &content[1]);
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
