//! Memory of the sample machine, in words of four bytes.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// Memory in words of four bytes; unwritten words are 0. Copies share the sealed part: all snippets of a
/// function start with the same memory and write little.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Memory {
    sealed: Arc<FxHashMap<u64, u32>>,
    written: Vec<(u64, u32)>,
}

impl Memory {
    /// Moves everything written so far to the part that copies share.
    pub fn seal(&mut self) {
        Arc::make_mut(&mut self.sealed).extend(self.written.drain(..));
    }
    /// Word at an address.
    pub fn word(&self, at: u64) -> u32 {
        let written = self.written.iter().find(|w| w.0 == at).map(|w| w.1);
        written.unwrap_or_else(|| self.sealed.get(&at).copied().unwrap_or_default())
    }
    fn set(&mut self, at: u64, word: u32) {
        match self.written.iter_mut().find(|w| w.0 == at) {
            Some(place) => place.1 = word,
            None => self.written.push((at, word)),
        }
    }
    /// All words that were ever written.
    pub fn words(&self) -> impl Iterator<Item = (u64, u32)> {
        let sealed = self.sealed.keys().filter(|at| self.written.iter().all(|w| w.0 != **at));
        sealed.map(|at| (*at, self.word(*at))).chain(self.written.iter().copied())
    }
    /// Lowest address at which two copies differ since they were sealed.
    pub fn differs(&self, other: &Memory) -> Option<u64> {
        debug_assert!(Arc::ptr_eq(&self.sealed, &other.sealed), "they are copies of one");
        let all = self.written.iter().chain(&other.written).map(|w| w.0);
        all.filter(|at| self.word(*at) != other.word(*at)).min()
    }
}

/// Reads 1, 2, 4 or 8 bytes.
pub(super) fn read(memory: &Memory, at: u64, size: u64) -> u64 {
    let word = |at: u64| u64::from(memory.word(at));
    match size {
        8 => word(at) | word(at + 4) << 32,
        2 => word(at & !3) >> (8 * (at & 3)) & 0xFFFF,
        1 => word(at & !3) >> (8 * (at & 3)) & 0xFF,
        _ => word(at),
    }
}

/// Writes 1, 2, 4 or 8 bytes.
pub(super) fn write(memory: &mut Memory, at: u64, size: u64, value: u64) {
    if size < 4 {
        let (at, shift) = (at & !3, 8 * (at & 3));
        let own = (1u32 << (8 * size)) - 1;
        memory.set(at, memory.word(at) & !(own << shift) | (value as u32 & own) << shift);
        return;
    }
    memory.set(at, value as u32);
    if size == 8 {
        memory.set(at + 4, (value >> 32) as u32);
    }
}
