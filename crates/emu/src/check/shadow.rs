//! Shadow memory of the race check: the last accesses to each word of shared and global memory.
//!
//! A cell holds up to four records of four bytes. A record describes the lanes of one warp in one
//! instruction. A later access replaces the records that it is ordered after; a fifth record replaces the
//! oldest read.
//!
//! # Limitations
//! At most four unordered readers of a word are remembered. Memory beyond [`LIMIT`] bytes of shadow is not
//! checked, which the report says.

use super::happens_before::CtaNumber;
use super::recent::Recent;

/// Bytes of shadow, at most.
pub const LIMIT: usize = 1 << 30;
/// Words of a page.
const PAGE: u64 = 256;
/// Records of a cell.
const RECORDS: usize = 4;

/// An access of lanes of one warp to one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccessRecord {
    /// The lanes; 0: no record.
    pub lanes: u32,
    /// The number of the CTA.
    pub cta: CtaNumber,
    /// The time of the CTA at the access.
    pub time: u32,
    /// Step (22 bits), warp (5), bytes of the word (4), whether it writes (1).
    packed: u32,
}

impl AccessRecord {
    /// A record of lanes of a warp.
    pub fn new(
        cta: CtaNumber,
        time: u32,
        warp: u32,
        lanes: u32,
        step: u32,
        bytes: u32,
        write: bool,
    ) -> AccessRecord {
        let packed = (step & 0x3f_ffff) << 10 | (warp & 31) << 5 | (bytes & 15) << 1 | u32::from(write);
        AccessRecord { lanes, cta, time, packed }
    }
    /// The step that accessed the word.
    pub fn step(self) -> u32 {
        self.packed >> 10
    }
    /// The warp that accessed the word.
    pub fn warp(self) -> u32 {
        self.packed >> 5 & 31
    }
    /// The bytes of the word that were accessed, one bit each.
    pub fn bytes(self) -> u32 {
        self.packed >> 1 & 15
    }
    /// Whether the access writes the bytes.
    pub fn writes(self) -> bool {
        self.packed & 1 == 1
    }
    /// Whether both records are of one instruction at one time, on the same bytes.
    pub fn same(self, other: AccessRecord) -> bool {
        (self.cta, self.time, self.packed) == (other.cta, other.time, other.packed)
    }
}

/// The records of one word.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShadowCell(pub [AccessRecord; RECORDS]);

impl ShadowCell {
    /// Adds an access.
    pub fn add(&mut self, new: AccessRecord) {
        if let Some(r) = self.0.iter_mut().find(|r| r.lanes != 0 && r.same(new)) {
            r.lanes |= new.lanes;
            return;
        }
        let free = self.0.iter().position(|r| r.lanes == 0);
        let at = free.unwrap_or_else(|| {
            // The records are ordered by age: the oldest read makes room at the end.
            let out = self.0.iter().position(|r| !r.writes()).unwrap_or(0);
            self.0[out..].rotate_left(1);
            RECORDS - 1
        });
        self.0[at] = new;
    }
}

type Page = Box<[ShadowCell]>;

/// The pages of a region, by number.
type Pages = Vec<Option<Page>>;

/// The cells of all accessed words, by region ([`crate::mem::Region::id`]).
#[derive(Debug, Default)]
pub struct ShadowMemory {
    regions: Recent<usize, Pages>,
    bytes: usize,
    /// The most bytes that the cells may take.
    limit: usize,
    /// Whether some word had no room for a cell.
    pub full: bool,
}

impl ShadowMemory {
    /// Shadow memory of at most `room` bytes.
    pub fn new(room: u64) -> ShadowMemory {
        ShadowMemory {
            limit: usize::try_from(room).unwrap_or(usize::MAX).min(LIMIT),
            ..ShadowMemory::default()
        }
    }
    /// The cell of the word `word` of a region; `None` when there is no room.
    pub fn at(&mut self, region: usize, word: u64) -> Option<&mut ShadowCell> {
        let page = (word / PAGE) as usize;
        let pages = self.regions.use_or_default(region);
        if pages.get(page).is_none_or(Option::is_none) {
            let grown = (page + 1).saturating_sub(pages.len());
            self.bytes += grown * size_of::<Option<Page>>();
            pages.resize_with(pages.len() + grown, || None);
            let size = PAGE as usize * size_of::<ShadowCell>();
            if self.bytes + size > self.limit {
                self.full = true;
                return None;
            }
            self.bytes += size;
            pages[page] = Some(vec![ShadowCell::default(); PAGE as usize].into());
        }
        pages[page].as_mut()?.get_mut((word % PAGE) as usize)
    }
    /// Removes the cells of a region.
    pub fn end(&mut self, region: usize) {
        if let Some(pages) = self.regions.take(region) {
            let used = pages.iter().flatten().count() * PAGE as usize * size_of::<ShadowCell>();
            self.bytes -= used + pages.len() * size_of::<Option<Page>>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_cells() {
        let r = AccessRecord::new(7, 9, 31, 0b11, 12345, 0b1010, true);
        assert_eq!((r.step(), r.warp(), r.bytes(), r.writes()), (12345, 31, 0b1010, true));
        let mut c = ShadowCell::default();
        let read = |step| AccessRecord::new(0, 1, 0, 1, step, 15, false);
        c.add(AccessRecord::new(0, 1, 0, 1, 0, 15, true));
        (1..=4).for_each(|s| c.add(read(s)));
        c.add(AccessRecord { lanes: 2, ..read(4) });
        assert_eq!(c.0.map(|r| (r.step(), r.lanes)), [(0, 1), (2, 1), (3, 1), (4, 3)]);
        let mut cells = ShadowMemory::new(1 << 20);
        cells.at(5, 1000).unwrap().add(r);
        assert_eq!(cells.at(5, 1000).unwrap().0[0], r);
        cells.end(5);
        assert_eq!((cells.bytes, cells.at(5, 1000).unwrap().0[0].lanes), (0, 0));
        let mut none = ShadowMemory::new(100);
        assert!(none.at(5, 0).is_none() && none.full);
    }
}
