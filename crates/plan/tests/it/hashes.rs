//! Hashes of values: what differs alike everywhere, as signs do, is seen.

use prlx_plan::{RollingHash, value_hash};
use prlx_trace::device::digest;

const LANES: u32 = 32;

/// A lane's hash of these values.
fn hash(values: &[u64]) -> u32 {
    values.iter().fold(RollingHash::START, |h, v| RollingHash::step(h, *v))
}

/// Pairs of values of a lane that differ in these bits.
fn pair(lane: u32, count: usize, flipped: u64) -> [Vec<u64>; 2] {
    let value = |i: u64| u64::from(lane + 3).wrapping_mul(0x1234_5678_9ABC_DEF1).wrapping_mul(2 * i + 1);
    [0, flipped].map(|flip| (0..count as u64).map(|i| value(i) ^ flip).collect())
}

/// Signs of doubles, of floats, of the lower of two halves, an exponent's lowest bit, all at once.
const FLIPS: [u64; 6] = [1 << 63, 1 << 31, 1 << 15, 1 << 52, 1 << 23, 1 << 63 | 1 << 31];

#[test]
fn values_that_differ_alike_do_not_undo_each_other() {
    for flip in FLIPS {
        for count in 1..9 {
            for lane in 0..LANES {
                let [a, b] = pair(lane, count, flip).map(|v| hash(&v));
                assert_ne!(a, b, "{count} values with {flip:#x}");
            }
        }
    }
    // A bit that leaves the one half comes into the other.
    assert_ne!(hash(&[5, 1 << 40]), hash(&[5 ^ 1 << 8, 0]));
}

#[test]
fn lanes_that_differ_alike_do_not_undo_each_other() {
    for flip in FLIPS {
        for count in 1..5 {
            // What was loaded and what was stored: the same in a kernel that copies.
            let lanes = |side: usize, lane| RollingHash::of_lane(hash(&pair(lane, count, flip)[side]), lane);
            let warp = |side| (0..LANES).fold(0, |all, lane| all ^ lanes(side, lane));
            assert_ne!(warp(0), warp(1), "{count} values with {flip:#x}");
            let sign = |side, lane| RollingHash::signature([lanes(side, lane); 2].into_iter());
            let signed = (0..LANES).filter(|l| sign(0, *l) != sign(1, *l)).count();
            assert!(signed > 24, "{signed} lanes have another signature for {count} values with {flip:#x}");
            let event =
                |side: usize| (0..LANES).fold(0, |all, l| all ^ digest(l, &pair(l, count, flip)[side]));
            assert_ne!(event(0), event(1), "an event of {count} values with {flip:#x}");
        }
    }
}

/// Of warps in which one bit of one lane's hash, or of all lanes', is another one, as many go unseen as 32
/// bits let by chance: none of these.
#[test]
fn every_bit_of_a_hash_tells() {
    let own = |lane: u32| hash(&[u64::from(lane) * 7919 + 1, 42]);
    let warp =
        |of: &dyn Fn(u32) -> u32| (0..LANES).fold(0, |all, lane| all ^ RollingHash::of_lane(of(lane), lane));
    let as_is = warp(&own);
    for bit in 0..32 {
        for lane in 0..LANES {
            assert_ne!(warp(&|l| own(l) ^ u32::from(l == lane) << bit), as_is, "bit {bit} of lane {lane}");
        }
        assert_ne!(warp(&|l| own(l) ^ 1 << bit), as_is, "bit {bit} of all lanes");
    }
}

#[test]
fn lanes_do_not_trade() {
    let [a, b] = [hash(&[1]), hash(&[2])];
    assert_ne!(
        RollingHash::of_lane(a, 0) ^ RollingHash::of_lane(b, 1),
        RollingHash::of_lane(b, 0) ^ RollingHash::of_lane(a, 1)
    );
}

/// Numbers that look random.
fn numbers() -> impl Iterator<Item = u32> {
    (1..)
        .map(|i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i << 7).wrapping_mul(0xD6E8_FEB8_6659_FD93))
        .map(|n| (n >> 32) as u32)
}

/// What level `values` records of single values tells those that are near each other, or differ in one bit.
#[test]
fn near_values_have_other_bits() {
    let of = |value: u32| value_hash(std::iter::once(value.into()));
    for value in numbers().take(20_000) {
        for apart in 1..=88 {
            assert_ne!(of(value), of(value.wrapping_add(apart)), "{value:#x} and {apart} more");
        }
        for bit in 0..32 {
            assert_ne!(of(value), of(value ^ 1 << bit), "{value:#x} and bit {bit}");
        }
    }
}

/// Where several values differ alike, most lanes that have other values still tell.
#[test]
fn changes_of_several_values_seldom_go_unseen() {
    let mut numbers = numbers();
    for flip in FLIPS.into_iter().chain([u64::from(u32::MAX), u64::MAX, 1]) {
        for count in 2..=8 {
            let unseen = (0..4096).filter(|_| {
                let values: Vec<u64> = numbers.by_ref().take(count).map(u64::from).collect();
                let flipped = values.iter().map(|v| v ^ flip);
                value_hash(values.iter().copied()) == value_hash(flipped)
            });
            let unseen = unseen.count();
            assert!(unseen < 4096 / 4, "{count} values with {flip:#x}: {unseen} of 4096");
        }
    }
}
