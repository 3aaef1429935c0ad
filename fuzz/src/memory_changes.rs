//! Reads any bytes as what two launches changed in memory, and compares them.
//!
//! # Invariants
//! Reading never panics. What was read is written as it was. A launch does not differ from itself, and two
//! launches differ in whatever order they are compared.

use std::mem::discriminant;

use prlx_driver::memory_changes::{ChangesCompared, MemoryChanges};

/// Runs the target on one input, of which each half is a file.
pub fn run(data: &[u8]) {
    let (a, b) = data.split_at(data.len() / 16 * 8);
    let Ok(a) = MemoryChanges::from_bytes(a) else { return };
    assert!(!matches!(a.compare(&a), ChangesCompared::Differ { .. }));
    let Ok(read) = MemoryChanges::from_bytes(b) else { return };
    assert_eq!(MemoryChanges::from_bytes(&read.to_bytes()), Ok(read.clone()));
    assert_eq!(discriminant(&a.compare(&read)), discriminant(&read.compare(&a)));
}
