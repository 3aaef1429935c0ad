//! The fastest of several launches. The benchmarks of the CPU device take it in by `#[path]`.

use anyhow::Result;

/// Wave or warp instructions, and seconds of the fastest launch of five. The first launch, which decodes the
/// code, does not count.
pub fn fastest(mut launch: impl FnMut() -> Result<(u64, f64)>) -> Result<(u64, f64)> {
    launch()?;
    (0..5).try_fold((0, f64::INFINITY), |(_, least), _| launch().map(|(n, t)| (n, least.min(t))))
}
