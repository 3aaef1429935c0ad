//! A region of bytes: the storage behind every state space.
//!
//! A region owns its bytes, or borrows memory of the host, as an array of a Python program.
//!
//! # Invariants
//! - Every access lies inside its [`Region`]; the caller checks that.
//! - CTAs on several host threads use the same region at once. Every access is therefore a relaxed atomic
//!   access of its own width, which is a plain move on the usual hosts.
//!
//! # Limitations
//! Weak memory orders are not modelled: accesses stay in program order. An access of 16 bytes is two of 8
//! bytes; an access of another CTA may come between them.

#![allow(unsafe_code, reason = "atomic access of several widths to one buffer")]

use std::alloc::{Layout, alloc_zeroed};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use std::sync::{Mutex, PoisonError};

use prlx_lanes::{LANES, V32, V64};

/// Bytes from which on the system maps the memory of a region page by page.
const LARGE: u64 = 16 << 20;
/// Bytes of a page of the system.
const PAGE: u64 = 4096;

/// The system's list of the pages of this process.
#[derive(Debug)]
pub struct Pages(File);

impl Pages {
    /// `None` where the system has no such list, or pages of another size.
    fn open() -> Option<Pages> {
        if cfg!(target_arch = "x86_64") { File::open("/proc/self/pagemap").ok().map(Pages) } else { None }
    }
    /// Whether a range was never accessed since [`Region::new`]: it is zeros.
    pub fn untouched(&self, region: &Region, off: u64, bytes: u64) -> bool {
        let start = region.start.addr().get() as u64 + off;
        let (first, end) = (start / PAGE, (start + bytes).div_ceil(PAGE));
        let mut entries = vec![0; (end - first) as usize * 8];
        // The two highest bits of an entry: the page is in memory, or swapped out.
        self.0.read_exact_at(&mut entries, first * 8).is_ok()
            && entries.iter().skip(7).step_by(8).all(|b| b >> 6 == 0)
    }
}

/// A buffer of bytes that several threads may access.
pub struct Region {
    /// The first byte. Aligned to 8.
    start: NonNull<AtomicU64>,
    /// Whole words that may be accessed from `start` on. Owned regions are rounded up to words.
    words: usize,
    len: u64,
    owned: bool,
}

// SAFETY: all access to the memory is atomic, and the memory belongs to no thread.
unsafe impl Send for Region {}
// SAFETY: as above: several threads may access the memory, because every access is atomic.
unsafe impl Sync for Region {}

impl Drop for Region {
    fn drop(&mut self) {
        if self.owned {
            let words = std::ptr::slice_from_raw_parts_mut(self.start.as_ptr(), self.words);
            // SAFETY: `new` makes an owned region of a boxed slice of this many words, and `try_new` of an
            // allocation that has the layout of one.
            drop(unsafe { Box::from_raw(words) });
        }
    }
}

impl std::fmt::Debug for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Region({} bytes)", self.len)
    }
}

macro_rules! cells {
    ($($load:ident $store:ident $cell:ident $t:ty, $a:ty;)*) => { $(
        #[inline(always)]
        fn $cell(&self, off: u64) -> &$a {
            const N: u64 = size_of::<$t>() as u64;
            assert!(off.is_multiple_of(N) && off < self.len && self.len - off >= N,
                "access outside its region");
            // SAFETY: `from_ptr` needs a valid, aligned pointer and only atomic access meanwhile. `start` has
            // `len` bytes behind it, which live as long as `self`. The assertion keeps the offset in range
            // and a multiple of the size, and `start` is aligned to 8. All access is atomic.
            unsafe { <$a>::from_ptr(self.start.as_ptr().cast::<$t>().add((off / N) as usize)) }
        }
        /// Loads a value, little-endian.
        #[inline(always)]
        pub fn $load(&self, off: u64) -> $t { self.$cell(off).load(Relaxed) }
        /// Stores a value, little-endian.
        #[inline(always)]
        pub fn $store(&self, off: u64, v: $t) { self.$cell(off).store(v, Relaxed) }
    )* };
}

impl Region {
    /// A buffer of zeros.
    pub fn new(len: u64) -> Region {
        let zeros = vec![0u64; len.div_ceil(8) as usize].into_boxed_slice();
        let words = zeros.len();
        let start = Box::leak(zeros).as_mut_ptr().cast::<AtomicU64>();
        // `AtomicU64` has the size, alignment and bit validity of `u64`.
        Region { start: NonNull::new(start).unwrap_or(NonNull::dangling()), words, len, owned: true }
    }
    /// A buffer of zeros; `None` if the host has no memory for it.
    pub fn try_new(len: u64) -> Option<Region> {
        let words = usize::try_from(len.div_ceil(8)).ok()?;
        if words == 0 {
            return Some(Region::new(len));
        }
        let layout = Layout::array::<u64>(words).ok()?;
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Region { start: start.cast(), words, len, owned: true })
    }
    /// `len` bytes of the host's memory; `None` if `start` is not a multiple of 8.
    ///
    /// # Safety
    /// The memory must stay allocated and writable as long as the region lives. If another thread of the
    /// process accesses it meanwhile, what both see is undefined, as it is for memory that a GPU writes.
    pub unsafe fn borrowed(start: NonNull<u8>, len: u64) -> Option<Region> {
        let start = start.cast::<AtomicU64>();
        start.is_aligned().then_some(Region { start, words: (len / 8) as usize, len, owned: false })
    }
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: from `start` on there are so many words, which live as long as `self` and are only accessed
        // atomically.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
    /// Whether the region owns its bytes.
    pub fn owned(&self) -> bool {
        self.owned
    }
    /// The pages of a large region that owns its bytes, if the system lists them.
    pub fn pages(&self) -> Option<Pages> {
        if self.owned && self.len >= LARGE { Pages::open() } else { None }
    }
    /// Bytes from an offset to the next page of the system.
    pub fn to_page(&self, off: u64) -> u64 {
        (self.start.addr().get() as u64 + off).wrapping_neg() % PAGE
    }
    /// The size in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }
    /// A number that no other region has while this one lives.
    pub fn id(&self) -> usize {
        self.start.addr().get()
    }
    cells! {
        load8 store8 cell8 u8, AtomicU8;
        load16 store16 cell16 u16, AtomicU16;
        load32 store32 cell32 u32, AtomicU32;
        load64 store64 cell64 u64, AtomicU64;
    }
    /// Loads 1, 2, 4 or 8 bytes, zero-extended.
    pub fn load(&self, off: u64, bytes: u8) -> u64 {
        match bytes {
            1 => self.load8(off).into(),
            2 => self.load16(off).into(),
            4 => self.load32(off).into(),
            _ => self.load64(off),
        }
    }
    /// Stores 1, 2, 4 or 8 bytes.
    pub fn store(&self, off: u64, bytes: u8, v: u64) {
        match bytes {
            1 => self.store8(off, v as u8),
            2 => self.store16(off, v as u16),
            4 => self.store32(off, v as u32),
            _ => self.store64(off, v),
        }
    }
    /// Replaces a value by `f` of it atomically, and returns the old value.
    #[inline(always)]
    pub fn update(&self, off: u64, bytes: u8, f: impl Fn(u64) -> u64) -> u64 {
        macro_rules! update {
            ($cell:ident, $t:ty) => {{
                let cell = self.$cell(off);
                let mut old = cell.load(Relaxed);
                loop {
                    match cell.compare_exchange_weak(old, f(old.into()) as $t, SeqCst, Relaxed) {
                        Ok(_) => return old.into(),
                        Err(now) => old = now,
                    }
                }
            }};
        }
        match bytes {
            1 => update!(cell8, u8),
            2 => update!(cell16, u16),
            4 => update!(cell32, u32),
            _ => update!(cell64, u64),
        }
    }
    /// Replaces 16 bytes by `f` of them, atomically with respect to other calls of this function.
    pub fn update128(&self, off: u64, f: impl Fn(u128) -> u128) -> u128 {
        static ONE: Mutex<()> = Mutex::new(());
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let old = u128::from(self.load64(off)) | u128::from(self.load64(off + 8)) << 64;
        let new = f(old);
        self.store64(off, new as u64);
        self.store64(off + 8, (new >> 64) as u64);
        old
    }
    /// Replaces a value by `f` of it when only one host thread uses the region.
    #[inline(always)]
    pub fn update_alone(&self, off: u64, bytes: u8, f: impl Fn(u64) -> u64) -> u64 {
        let old = self.load(off, bytes);
        self.store(off, bytes, f(old));
        old
    }
    /// Copies bytes out. The range must lie inside the region.
    pub fn read(&self, mut off: u64, mut out: &mut [u8]) {
        while !out.is_empty() {
            if off.is_multiple_of(8) && out.len() >= 8 {
                let (now, rest) = out.split_at_mut(8);
                now.copy_from_slice(&self.load64(off).to_le_bytes());
                (out, off) = (rest, off + 8);
            } else {
                let (now, rest) = out.split_at_mut(1);
                now[0] = self.load8(off);
                (out, off) = (rest, off + 1);
            }
        }
    }
    /// Copies bytes in. The range must lie inside the region.
    pub fn write(&self, mut off: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match bytes.split_first_chunk::<8>() {
                Some((now, rest)) if off.is_multiple_of(8) => {
                    self.store64(off, u64::from_le_bytes(*now));
                    (bytes, off) = (rest, off + 8);
                }
                _ => {
                    self.store8(off, bytes[0]);
                    (bytes, off) = (&bytes[1..], off + 1);
                }
            }
        }
    }
    /// Sets all bytes from a generator of words.
    pub fn fill_words(&self, mut word: impl FnMut() -> u64) {
        for w in self.words() {
            w.store(word(), Relaxed);
        }
    }
}

/// Places of several lanes in a region. Every lane of [`CheckedLanes::mask`] may access `width` bytes at its
/// place, which has been checked.
#[derive(Debug)]
pub struct CheckedLanes<'a> {
    region: &'a Region,
    addr: &'a V64,
    base: u64,
    width: u64,
    mask: u32,
    row: bool,
}

impl Region {
    /// The lanes of `mask` whose address, less `base`, is the place of `width` bytes in this region and a
    /// multiple of `width` (a power of two).
    #[inline(always)]
    pub fn lanes<'a>(&'a self, addr: &'a V64, base: u64, mask: u32, width: u64) -> CheckedLanes<'a> {
        let mut lanes = CheckedLanes { region: self, addr, base, width, mask: 0, row: false };
        let Some(last) = self.len.checked_sub(width) else { return lanes };
        let first = addr.0[0].wrapping_sub(base);
        if mask == u32::MAX {
            let mut off = 0;
            for l in 0..LANES {
                off |= addr.0[l].wrapping_sub(addr.0[0].wrapping_add(l as u64 * width));
            }
            let end = first.checked_add((LANES as u64 - 1) * width);
            if off == 0 && first & (width - 1) == 0 && end.is_some_and(|end| end <= last) {
                lanes.row = true;
                lanes.mask = mask;
                return lanes;
            }
        }
        let mut bits = [0u32; 8];
        for c in 0..LANES / 8 {
            for (i, bits) in bits.iter_mut().enumerate() {
                let l = c * 8 + i;
                let off = addr.0[l].wrapping_sub(base);
                *bits |= if (off <= last) & (off & (width - 1) == 0) { 1 << l } else { 0 };
            }
        }
        lanes.mask = bits.iter().fold(0, |m, b| m | b) & mask;
        lanes
    }
}

macro_rules! lanes {
    ($($load:ident $store:ident $t:ty, $a:ty, $p:ty, $v:ident;)*) => { $(
        /// Loads an element of each lane, `at` bytes into its place.
        #[inline(always)]
        pub fn $load(&self, at: u64, out: &mut $v) {
            self.each(at, size_of::<$t>() as u64, |l, p| {
                // SAFETY: `from_ptr` needs a valid, aligned pointer and only atomic access meanwhile. `each`
                // gives aligned pointers to this many bytes in the region, and the module only uses atomic
                // access.
                out.0[l] = unsafe { <$a>::from_ptr(p.cast::<$t>()) }.load(Relaxed) as $p;
            });
        }
        /// Stores an element of each lane, in lane order.
        #[inline(always)]
        pub fn $store(&self, at: u64, v: &$v) {
            self.each(at, size_of::<$t>() as u64, |l, p| {
                // SAFETY: as in the load above: `each` gives aligned pointers into the region.
                unsafe { <$a>::from_ptr(p.cast::<$t>()) }.store(v.0[l] as $t, Relaxed);
            });
        }
    )* };
}

impl CheckedLanes<'_> {
    /// The lanes whose place is inside the region.
    #[inline(always)]
    pub fn mask(&self) -> u32 {
        self.mask
    }
    /// The region that the lanes access.
    #[inline(always)]
    pub fn region(&self) -> &Region {
        self.region
    }
    /// The offset of the place of a lane.
    #[inline(always)]
    pub fn offset(&self, l: usize) -> u64 {
        self.addr.0[l].wrapping_sub(self.base)
    }
    /// Calls `f` for every lane with a pointer to `size` bytes, `at` bytes into the place of the lane.
    #[inline(always)]
    fn each(&self, at: u64, size: u64, mut f: impl FnMut(usize, *mut u8)) {
        assert!(
            size <= self.width && at <= self.width - size && at & (size - 1) == 0,
            "outside the place of a lane"
        );
        let start = self.region.start.as_ptr().cast::<u8>();
        // The additions below stay inside the region: `Region::lanes` checked that every lane of the mask has
        // `width` bytes inside the region, at a multiple of `width`, and the assertion keeps `at` and `size`
        // inside those. In a row the places of all lanes follow each other.
        if self.row {
            let first = self.offset(0) + at;
            for l in 0..LANES {
                // SAFETY: the offset is inside the region, by the argument above.
                f(l, unsafe { start.add((first + l as u64 * self.width) as usize) });
            }
        } else if self.mask == u32::MAX {
            for l in 0..LANES {
                // SAFETY: the offset is inside the region, by the argument above.
                f(l, unsafe { start.add((self.offset(l) + at) as usize) });
            }
        } else {
            let mut rest = self.mask;
            while rest != 0 {
                let l = rest.trailing_zeros() as usize & (LANES - 1);
                rest &= rest - 1;
                // SAFETY: the offset is inside the region, by the argument above.
                f(l, unsafe { start.add((self.offset(l) + at) as usize) });
            }
        }
    }
    lanes! {
        load8 store8 u8, AtomicU8, u32, V32;
        load16 store16 u16, AtomicU16, u32, V32;
        load64 store64 u64, AtomicU64, u64, V64;
    }
    /// Loads 4 bytes of each lane.
    #[inline(always)]
    pub fn load32(&self, at: u64, out: &mut V32) {
        if self.row && self.width == 4 && self.offset(0).is_multiple_of(8) {
            let first = self.offset(0) / 8;
            for (i, w) in self.region.words()[first as usize..][..LANES / 2].iter().enumerate() {
                let v = w.load(Relaxed);
                out.0[2 * i] = v as u32;
                out.0[2 * i + 1] = (v >> 32) as u32;
            }
            return;
        }
        self.each(at, 4, |l, p| {
            // SAFETY: `each` gives aligned pointers to 4 bytes in the region, and the module only uses atomic
            // access.
            out.0[l] = unsafe { AtomicU32::from_ptr(p.cast::<u32>()) }.load(Relaxed);
        });
    }
    /// Stores 4 bytes of each lane, in lane order.
    #[inline(always)]
    pub fn store32(&self, at: u64, v: &V32) {
        if self.row && self.width == 4 && self.offset(0).is_multiple_of(8) {
            let first = self.offset(0) / 8;
            for (i, w) in self.region.words()[first as usize..][..LANES / 2].iter().enumerate() {
                w.store(u64::from(v.0[2 * i]) | u64::from(v.0[2 * i + 1]) << 32, Relaxed);
            }
            return;
        }
        self.each(at, 4, |l, p| {
            // SAFETY: as in `load32`: `each` gives aligned pointers to 4 bytes in the region.
            unsafe { AtomicU32::from_ptr(p.cast::<u32>()) }.store(v.0[l], Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrowed_memory_is_the_hosts() {
        let mut host = [1u64, 2, 3];
        let start = NonNull::from(&mut host).cast::<u8>();
        // SAFETY: `host` outlives both regions, and nothing else accesses it meanwhile.
        let (r, odd) = unsafe { (Region::borrowed(start, 21).unwrap(), Region::borrowed(start.add(4), 8)) };
        assert!(odd.is_none());
        r.store32(16, 9);
        r.store8(20, 7);
        assert!(std::panic::catch_unwind(|| r.store8(21, 1)).is_err());
        assert!(std::panic::catch_unwind(|| r.store64(16, 1)).is_err());
        drop(r);
        assert_eq!(host, [1, 2, 9 | 7 << 32]);
    }

    #[test]
    fn widths_and_ranges() {
        // The compiler may omit an allocation that nobody uses, and take it as successful.
        let too_large = std::hint::black_box(Region::try_new(1 << 60));
        assert!(Region::try_new(u64::MAX).is_none() && too_large.is_none());
        assert_eq!(Region::try_new(0).unwrap().len(), 0);
        let r = Region::try_new(13).unwrap();
        r.write(3, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        let mut out = [0; 10];
        r.read(3, &mut out);
        assert_eq!(out, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(r.load32(4), 0x0504_0302);
        assert_eq!(r.update(4, 4, |v| v + 1), 0x0504_0302);
        assert_eq!(r.load(4, 1), 3);
        assert!(std::panic::catch_unwind(|| r.load16(12)).is_err());
    }
}
