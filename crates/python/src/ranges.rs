//! The memory of a launch's arrays: ranges that overlap are one allocation.
//!
//! Two arrays can have owners of their own and still share bytes, as two NumPy arrays over one `bytearray`.

/// The address of an array on the device is equal to its address in the process modulo this number: Triton
/// looks for pointers that are multiples of 16.
pub const ALIGN: u64 = 16;

/// Ranges of this process's memory, none of which overlap, as first address and size; sorted.
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Merges the memory of arrays, given as addresses and sizes.
    pub fn of(memory: impl Iterator<Item = (u64, u64)>) -> Ranges {
        let mut owners: Vec<(u64, u64)> = memory.collect();
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

    /// The range that holds memory which was given: its first address and its size.
    pub fn holding(&self, memory: (u64, u64)) -> (u64, u64) {
        let after = self.0.partition_point(|(start, _)| *start <= memory.0);
        after.checked_sub(1).map_or(memory, |at| self.0[at])
    }

    /// First addresses and sizes, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }
}
