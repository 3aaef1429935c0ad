//! The rolling hashes of level `print`.

use prlx_trace::device::TURN;

/// Which rolling hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RollingHash {
    /// Decisions.
    Control = 0,
    /// Loaded values.
    Loaded = 1,
    /// Stored values, and what atomics return.
    Stored = 2,
    /// Barriers: of old recordings alone.
    Sync = 3,
}

impl RollingHash {
    /// The multiplier of the rolling hash: odd, with well-spread bits, and of 32 bits, which a GPU multiplies by in two instructions.
    pub const K: u64 = 0x9E37_79B1;
    /// What every hash starts from, so that leading zeros count.
    pub const START: u64 = 1;

    /// One step of the hash, as lowered code, hooks and decoders all compute it. Both halves of a value meet the hash's low half: what
    /// differs in its highest bits alone no multiplication would spread, and of two such values (the signs of two doubles) one
    /// would undo the other.
    pub const fn step(hash: u64, value: u64) -> u64 {
        let high = ((value >> 32) as u32).rotate_left(TURN) as u64;
        (hash ^ high).wrapping_mul(Self::K) ^ value & u32::MAX as u64
    }
    /// A multiplier of lanes: odd, with well-spread bits.
    pub const LANE: u32 = 0x9E37_79B1;

    /// What a lane puts into its warp's hash: its own, in a way of its own, so that neither lanes can trade nor what differs alike in all
    /// of them goes away. Both halves of the product count: a difference in the lowest bit changes the high one seldom, one in
    /// the highest bit the low one never. 32 bits, for a GPU joins those of 32 lanes in one instruction, and few warps are the only one
    /// that differs.
    pub const fn of_lane(hash: u64, lane: u32) -> u32 {
        let all =
            hash.wrapping_mul(lane.wrapping_mul(Self::LANE.wrapping_mul(2)).wrapping_add(Self::LANE) as u64);
        (all as u32).wrapping_mul(Self::LANE).wrapping_add((all >> 32) as u32)
    }
    /// A lane's signature, of what it puts into its warp's hashes, in order: never 0.
    pub fn signature(parts: impl Iterator<Item = u32>) -> u8 {
        let all = parts.fold(0u32, |s, part| s.wrapping_mul(Self::LANE).wrapping_add(part));
        ((all >> 24) as u8).max(1)
    }
    /// A checkpoint of the four hashes: never 0.
    pub const fn checkpoint(hashes: [u64; 4]) -> u64 {
        match hashes[0] ^ hashes[1].rotate_left(16) ^ hashes[2].rotate_left(32) ^ hashes[3].rotate_left(48) {
            0 => 1,
            all => all,
        }
    }
}
