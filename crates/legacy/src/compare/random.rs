//! Numbers for tests that look random, the same in every run.

/// Returns a function that gives the next number below `n`.
pub(super) fn random(mut seed: u64) -> impl FnMut(u32) -> u32 {
    move |n| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as u32 % n
    }
}
