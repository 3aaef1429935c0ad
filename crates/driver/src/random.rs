//! SplitMix64, the generator of the random numbers in launch files and of the keys of memory digests.
//!
//! An argument's stream starts from the state `seed ^ mix(position + 1)`, where `position` is the position of
//! the parameter, from 0. Each step adds [`GOLDEN`] to the state and returns `mix(state)`.
//!
//! # Invariants
//! The numbers of a launch file are part of its meaning: they are the same on every machine and in every
//! version.

/// 2^64 divided by the golden ratio, rounded to an odd number.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The stream of the argument at `position`.
    pub fn of_argument(seed: u64, position: usize) -> SplitMix {
        SplitMix(seed ^ mix((position as u64).wrapping_add(1)))
    }
    /// Returns the next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }
}

/// The output function of SplitMix64.
pub fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::SplitMix;

    #[test]
    fn the_generator_is_splitmix64() {
        // The first numbers for state 1234567, as in the reference implementation's published output.
        let mut r = SplitMix(1_234_567);
        let got: Vec<u64> = (0..5).map(|_| r.draw()).collect();
        assert_eq!(
            got,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }
}
