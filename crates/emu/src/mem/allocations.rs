//! The table of global allocations.
//!
//! # Invariants
//! An address is never used for two allocations at the same time, and only memory of the host is mapped where
//! something was before. Between two allocations there are bytes that belong to none.

use super::region::Region;

/// The owner of an allocation; reports name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owner {
    /// Allocated through the driver: the name of the buffer.
    User(String),
    /// A variable of a module: its name, and whether it is constant.
    Symbol(String, bool),
    /// A code object of AMD's, with its variables.
    CodeObject(Vec<Variable>),
}

impl Owner {
    /// The name in reports.
    pub fn name(&self) -> &str {
        match self {
            Owner::User(name) | Owner::Symbol(name, _) => name,
            Owner::CodeObject(_) => "the code object",
        }
    }
    /// The name in a sentence: quoted, unless it is a description.
    pub fn quoted(&self) -> String {
        let name = self.name();
        if name.contains(' ') { name.to_owned() } else { format!("`{name}`") }
    }
}

/// A variable in a code object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name in the code object.
    pub name: String,
    /// Its offset in bytes from the begin of the allocation.
    pub offset: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A global allocation.
#[derive(Debug)]
pub struct Allocation {
    /// The first address of the allocation.
    pub base: u64,
    /// The bytes of the allocation.
    pub region: Region,
    /// The owner of the allocation.
    pub owner: Owner,
    /// Ranges of bytes that were never written, in order: first and one past the last.
    unwritten: Vec<(u64, u64)>,
}

/// The lowest address of an allocation.
pub const FIRST: u64 = 0x7f20_0000_0000;

/// The alignment of allocations, and the least distance between two.
const GAP: u64 = 512;

/// Global memory: the allocations, by address.
#[derive(Debug, Default)]
pub struct Memory {
    allocations: Vec<Allocation>,
    freed: Vec<(u64, u64)>,
    next: u64,
    used: u64,
}

impl Memory {
    /// Memory without allocations. The first one lies at `first` or at `FIRST`, whichever is higher.
    pub fn from(first: u64) -> Memory {
        Memory { next: first, ..Memory::default() }
    }
    /// Allocates zeros; `None` when more than `limit` bytes would be in use, or the host
    /// has no memory for them.
    pub fn alloc(&mut self, bytes: u64, align: u64, limit: u64, owner: Owner) -> Option<u64> {
        let used = self.used.checked_add(bytes)?;
        if used > limit {
            return None;
        }
        let region = Region::try_new(bytes)?;
        let base = self.next.max(FIRST).checked_next_multiple_of(align.max(GAP))?;
        self.next = base.checked_add(bytes)?.checked_add(GAP)?;
        self.used = used;
        self.allocations.push(Allocation { base, region, owner, unwritten: Vec::new() });
        Some(base)
    }
    /// Maps a region at `base`; false if it lies in or next to an allocation, or above `FIRST`.
    pub fn map(&mut self, base: u64, region: Region, owner: Owner) -> bool {
        let end = base.saturating_add(region.len()).saturating_add(GAP);
        let i = self.allocations.partition_point(|a| a.base <= base);
        let below = i.checked_sub(1).map(|i| &self.allocations[i]);
        let free = below.is_none_or(|a| a.base + a.region.len() + GAP <= base)
            && self.allocations.get(i).is_none_or(|a| end <= a.base)
            && end <= FIRST;
        if free {
            self.used = self.used.saturating_add(region.len());
            self.allocations.insert(i, Allocation { base, region, owner, unwritten: Vec::new() });
        }
        free
    }
    /// Removes what was mapped at exactly `base`; something else can be mapped there afterwards.
    pub fn unmap(&mut self, base: u64) {
        if let Ok(i) = self.allocations.binary_search_by_key(&base, |a| a.base) {
            self.used = self.used.saturating_sub(self.allocations.remove(i).region.len());
        }
    }
    /// All allocations, by address.
    pub fn all(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations.iter()
    }
    /// The bytes of all allocations.
    pub fn used(&self) -> u64 {
        self.used
    }
    /// Frees the allocation at exactly `base`; false if there is none.
    pub fn free(&mut self, base: u64) -> bool {
        let Ok(i) = self.allocations.binary_search_by_key(&base, |a| a.base) else { return false };
        let a = self.allocations.remove(i);
        self.used -= a.region.len();
        self.freed.push((base, a.region.len()));
        true
    }
    /// Makes a whole allocation zeros again, without writing them. False if the range is another one, or
    /// memory of the host.
    pub fn renew(&mut self, at: u64, bytes: u64) -> bool {
        let Ok(i) = self.allocations.binary_search_by_key(&at, |a| a.base) else { return false };
        let region = &mut self.allocations[i].region;
        let whole = region.owned() && region.len() == bytes;
        let zeros = Region::try_new(bytes).filter(|_| whole);
        zeros.map(|zeros| *region = zeros).is_some()
    }
    /// The allocation that holds `at`, and its index: a hint for the next call.
    #[inline(always)]
    pub fn find(&self, at: u64, hint: &mut usize) -> Option<&Allocation> {
        if let Some(a) = self.allocations.get(*hint)
            && at.wrapping_sub(a.base) < a.region.len()
        {
            return Some(a);
        }
        self.search(at, hint)
    }
    #[cold]
    fn search(&self, at: u64, hint: &mut usize) -> Option<&Allocation> {
        let i = self.allocations.partition_point(|a| a.base <= at).checked_sub(1)?;
        let a = &self.allocations[i];
        if at - a.base >= a.region.len() {
            return None;
        }
        *hint = i;
        Some(a)
    }
    /// The region that holds a whole range, and the offset of the range there.
    pub fn range(&self, at: u64, bytes: u64) -> Option<(&Region, u64)> {
        self.range_near(at, bytes, &mut 0)
    }
    /// The same; `hint` is the number of the allocation that is looked at first, and then of the one found.
    pub fn range_near(&self, at: u64, bytes: u64, hint: &mut usize) -> Option<(&Region, u64)> {
        let a = self.find(at, hint)?;
        (a.region.len() - (at - a.base) >= bytes).then_some((&a.region, at - a.base))
    }
    /// The allocation that holds an address or is nearest to it.
    pub fn nearest(&self, at: u64) -> Option<&Allocation> {
        let after = self.allocations.partition_point(|a| a.base <= at);
        let below = after.checked_sub(1).map(|i| &self.allocations[i]);
        let distance = |a: &Allocation| at.saturating_sub(a.base + a.region.len());
        match (below, self.allocations.get(after)) {
            (Some(b), Some(a)) => Some(if distance(b) <= a.base - at { b } else { a }),
            (below, above) => below.or(above),
        }
    }
    /// Whether an address lies in a constant variable.
    pub fn is_constant(&self, at: u64) -> bool {
        self.find(at, &mut 0).is_some_and(|a| matches!(a.owner, Owner::Symbol(_, true)))
    }
    /// Whether an address lies in an allocation that has been freed.
    pub fn was_freed(&self, at: u64) -> bool {
        self.freed.iter().any(|&(b, n)| at >= b && at - b < n)
    }
    /// Marks a range of an allocation as never written.
    pub fn mark_unwritten(&mut self, at: u64, bytes: u64) {
        if let Some((a, off)) = self.allocation_at_mut(at) {
            let end = off.saturating_add(bytes).min(a.region.len());
            a.unwritten.push((off, end));
            a.unwritten.sort_unstable();
        }
    }
    /// Marks a range as written.
    pub fn mark_written(&mut self, at: u64, bytes: u64) {
        let Some((a, off)) = self.allocation_at_mut(at) else { return };
        let end = off.saturating_add(bytes);
        let parts = |&(from, to): &(u64, u64)| [(from, to.min(off)), (from.max(end), to)];
        a.unwritten = a.unwritten.iter().flat_map(parts).filter(|(from, to)| from < to).collect();
    }
    /// Marks all allocations as written.
    pub fn mark_all_written(&mut self) {
        self.allocations.iter_mut().for_each(|a| a.unwritten.clear());
    }
    /// The ranges that were never written: region, offset, bytes.
    pub fn unwritten_ranges(&self) -> impl Iterator<Item = (&Region, u64, u64)> {
        self.allocations
            .iter()
            .flat_map(|a| a.unwritten.iter().map(|&(from, to)| (&a.region, from, to - from)))
    }
    fn allocation_at_mut(&mut self, at: u64) -> Option<(&mut Allocation, u64)> {
        let i = self.allocations.partition_point(|a| a.base <= at).checked_sub(1)?;
        let a = &mut self.allocations[i];
        let off = at - a.base;
        (off < a.region.len()).then_some((a, off))
    }
    /// Names the allocation that begins at exactly `base`.
    pub fn name(&mut self, base: u64, name: &str) {
        if let Ok(i) = self.allocations.binary_search_by_key(&base, |a| a.base) {
            self.allocations[i].owner = Owner::User(name.into());
        }
    }
    /// Describes what is near an address that no allocation holds, for messages.
    pub fn describe_near(&self, at: u64) -> String {
        if let Some(&(base, len)) = self.freed.iter().find(|&&(b, n)| at >= b && at - b < n) {
            return format!("it lies in {len} bytes at {base:#x} that have been freed");
        }
        let after = self.allocations.partition_point(|a| a.base <= at);
        let below = after.checked_sub(1).map(|i| {
            let a = &self.allocations[i];
            (at - a.base - a.region.len().min(at - a.base), a, false)
        });
        let above = self.allocations.get(after).map(|a| (a.base - at, a, true));
        let nearest = match (below, above) {
            (Some(b), Some(a)) => Some(if b.0 <= a.0 { b } else { a }),
            (b, a) => b.or(a),
        };
        match nearest {
            None => "nothing is allocated".into(),
            Some((distance, a, before)) => format!(
                "the nearest allocation is {} ({} bytes at {:#x}): {distance} bytes {}",
                a.owner.quoted(),
                a.region.len(),
                a.base,
                if before { "before it" } else { "past its end" },
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_written() {
        let mut m = Memory::default();
        let a = m.alloc(100, 1, 1 << 20, Owner::User("a".into())).unwrap();
        let unwritten = |m: &Memory| m.unwritten_ranges().map(|(_, at, n)| (at, n)).collect::<Vec<_>>();
        m.mark_unwritten(a, 100);
        m.mark_written(a + 10, 20);
        m.mark_written(a + 90, 100);
        assert_eq!(unwritten(&m), [(0, 10), (30, 60)]);
        m.mark_written(a, 40);
        assert_eq!(unwritten(&m), [(40, 50)]);
        m.mark_all_written();
        assert_eq!(unwritten(&m), []);
    }

    #[test]
    fn mapped_regions_keep_their_distance() {
        let mut m = Memory::default();
        let owner = || Owner::User("x".into());
        assert!(m.map(0x1000, Region::new(100), owner()));
        assert!(!m.map(0x1064, Region::new(8), owner()) && !m.map(0xf00, Region::new(8), owner()));
        assert!(m.map(0x2000, Region::new(8), owner()) && !m.map(FIRST, Region::new(8), owner()));
        assert_eq!((m.used(), m.range(0x1000, 100).is_some()), (108, true));
        m.unmap(0x1000);
        assert!(m.used() == 8 && m.range(0x1000, 1).is_none() && !m.was_freed(0x1000));
        assert!(m.map(0x1000, Region::new(100), owner()));
    }

    #[test]
    fn allocations_have_gaps_and_names() {
        let mut m = Memory::default();
        let a = m.alloc(100, 1, 1 << 20, Owner::User("a buffer".into())).unwrap();
        let b = m.alloc(100, 4096, 1 << 20, Owner::Symbol("table".into(), false)).unwrap();
        assert!(b >= a + 100 + GAP && b.is_multiple_of(4096));
        assert!(m.range(a, 100).is_some() && m.range(a, 101).is_none());
        assert!(
            m.describe_near(a + 104).contains("a buffer (100 bytes")
                && m.describe_near(a + 104).contains("4 bytes past its end")
        );
        assert!(
            m.describe_near(b - 8).contains("`table`")
                && m.describe_near(b - 8).contains("8 bytes before it")
        );
        assert!(m.free(a) && !m.free(a));
        assert!(m.describe_near(a).contains("freed"));
        assert!(m.alloc(1 << 20, 1, 1 << 20, Owner::User(String::new())).is_none());
    }
}
