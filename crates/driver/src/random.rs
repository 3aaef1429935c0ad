//! SplitMix64, the generator of the random numbers in launch files and of the keys of memory digests.
//!
//! An argument's stream starts from the state `seed ^ mix(position + 1)`, where `position` is the parameter's, from 0.
//! Each step adds [`GOLDEN`] to the state and gives `mix(state)`.
//!
//! # Invariants
//! The numbers of a launch file are part of its meaning: they are the same on every machine and in every version.

/// 2^64 / golden ratio, odd.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The stream of the argument at `position`.
    pub fn of_argument(seed: u64, position: usize) -> SplitMix {
        SplitMix(seed ^ mix((position as u64).wrapping_add(1)))
    }
    /// The next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

/// SplitMix64's output of a state.
pub fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
