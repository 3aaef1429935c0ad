//! A fast hash for maps whose keys are small numbers from files.
//!
//! # Invariants
//! Collisions depend on seeds drawn once per process, so no file can provoke them. No output depends on the
//! seeds: maps with this hash are iterated only to be sorted.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// Makes hashers of the process's seeds.
#[derive(Clone)]
pub(super) struct FastHash([u64; 2]);

impl Default for FastHash {
    fn default() -> FastHash {
        static SEEDS: OnceLock<[u64; 2]> = OnceLock::new();
        FastHash(*SEEDS.get_or_init(|| [0, 1].map(|n| RandomState::new().hash_one(n) | 1)))
    }
}

impl FastHash {
    /// An odd number that no file can know.
    pub fn seed(&self) -> u64 {
        self.0[1]
    }
}

impl BuildHasher for FastHash {
    type Hasher = Mix;
    fn build_hasher(&self) -> Mix {
        Mix { state: self.0[0], by: self.0[1] }
    }
}

/// Multiplies to 128 bits and folds the halves.
pub(super) struct Mix {
    state: u64,
    by: u64,
}

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.state
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }
    fn write_isize(&mut self, n: isize) {
        self.write_u64(n as u64);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
    fn write_u64(&mut self, n: u64) {
        let x = u128::from(self.state ^ n) * u128::from(self.by);
        self.state = (x as u64) ^ (x >> 64) as u64;
    }
}
