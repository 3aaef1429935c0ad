//! The memory of a launch's arrays: ranges that overlap are one allocation.
//!
//! Two arrays can have owners of their own and still share bytes, as two NumPy arrays over one `bytearray`.

use crate::launch::Array;

/// Ranges of this process's memory, none of which overlap, as first address and size; sorted.
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// The memory that owns these arrays.
    pub fn of<'a>(arrays: impl Iterator<Item = &'a Array>) -> Ranges {
        let mut owners: Vec<(u64, u64)> = arrays.map(|a| (a.owner, a.bytes)).collect();
        owners.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::new();
        for (start, bytes) in owners {
            match merged.last_mut() {
                Some((first, size)) if start == *first || start < *first + *size => {
                    *size = (*size).max(start + bytes - *first);
                }
                _ => merged.push((start, bytes)),
            }
        }
        Ranges(merged)
    }

    /// The range that holds an array's memory: its first address and its size.
    pub fn holding(&self, array: &Array) -> (u64, u64) {
        let after = self.0.partition_point(|(start, _)| *start <= array.owner);
        after.checked_sub(1).map_or((array.owner, array.bytes), |at| self.0[at])
    }

    /// All ranges.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }
}
