//! The rolling hashes of level `print`, and hashes of single values at level `values`.

use prlx_trace::device::{TURN, VALUE_BITS};

/// Level `values`: [`VALUE_BITS`] bits that stand for values: the highest ones of a product with their
/// rolling hash, which starts as 0. So a single value of 32 bits takes one multiplication on a GPU. Two such
/// values never have the same if they are at most 88 apart, or differ in one bit.
pub fn value_hash(values: impl Iterator<Item = u64>) -> u32 {
    let hash = values.fold(0, RollingHash::step);
    hash.wrapping_mul(RollingHash::K) >> (u32::BITS - u32::from(VALUE_BITS))
}

/// Which rolling hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RollingHash {
    /// Hash of decisions.
    Control = 0,
    /// Hash of loaded values.
    Loaded = 1,
    /// Stored values, and what atomics return.
    Stored = 2,
    /// Hash of barriers; used only by old recordings.
    Sync = 3,
}

impl RollingHash {
    /// The multiplier of the rolling hash: odd, with well-spread bits.
    pub const K: u32 = 0x9E37_79B1;
    /// Bits by which the hash is rotated in each step. What differs in the highest bit alone no
    /// multiplication would spread, and of two such values (the signs of two numbers) one would undo the
    /// other.
    pub const ROTATE: u32 = 7;
    /// What every hash starts from, so that leading zeros count.
    pub const START: u32 = 1;

    /// One step of the hash, as lowered code, hooks and decoders all compute it. 32 bits, which a GPU rotates
    /// in one instruction, and multiplies and adds to in another; a lane's part of what its warp keeps has no
    /// more.
    pub const fn step(hash: u32, value: u64) -> u32 {
        let (low, high) = (value as u32, (value >> 32) as u32);
        (hash ^ high.rotate_left(TURN)).rotate_left(Self::ROTATE).wrapping_mul(Self::K).wrapping_add(low)
    }
    /// A multiplier of lanes: odd, with well-spread bits.
    pub const LANE: u32 = 0x9E37_79B1;

    /// What a lane puts into its warp's hash: its own, in a way of its own, so that neither lanes can trade
    /// nor what differs alike in all of them goes away. Both halves of the product count: a difference in the
    /// lowest bit changes the high one seldom, one in the highest bit the low one never. 32 bits, for a GPU
    /// joins those of 32 lanes in one instruction, and few warps are the only one that differs.
    pub const fn of_lane(hash: u32, lane: u32) -> u32 {
        let factor = lane.wrapping_mul(Self::LANE.wrapping_mul(2)).wrapping_add(Self::LANE);
        let all = hash as u64 * factor as u64;
        (all as u32).wrapping_mul(Self::LANE).wrapping_add((all >> 32) as u32)
    }
    /// A lane's signature, of what it puts into its warp's hashes, in order: never 0.
    pub fn signature(parts: impl Iterator<Item = u32>) -> u8 {
        let all = parts.fold(0u32, |s, part| s.wrapping_mul(Self::LANE).wrapping_add(part));
        ((all >> 24) as u8).max(1)
    }
    /// A checkpoint of the four hashes: never 0.
    pub const fn checkpoint(hashes: [u32; 4]) -> u64 {
        let [control, loaded, stored, sync] = hashes;
        let (low, high) = (control ^ loaded.rotate_left(16), stored ^ sync.rotate_left(16));
        match (high as u64) << 32 | low as u64 {
            0 => 1,
            all => all,
        }
    }
}
