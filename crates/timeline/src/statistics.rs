//! Sums that saturate, percentiles and medians.

/// Adds `amount` to `sum`. A damaged recording may hold any number, so the sum saturates.
pub(crate) fn add(sum: &mut u64, amount: u64) {
    *sum = sum.saturating_add(amount);
}

/// The percentile of sorted values, by nearest rank. `None` for an empty slice.
pub(crate) fn percentile(sorted: &[u64], percent: u64) -> Option<u64> {
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted.get(rank as usize - 1).copied()
}

/// The median of values in any order; 0 for an empty vector.
pub(crate) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    percentile(&values, 50).unwrap_or(0)
}

/// Minimum, median, 95th percentile and maximum. `None` for an empty vector.
pub(crate) fn quantiles(mut values: Vec<u64>) -> Option<[u64; 4]> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some([0, last / 2, last * 95 / 100, last].map(|i| values[i]))
}
