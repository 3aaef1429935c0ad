//! Sums that saturate, percentiles and medians.

use prlx_trace::Picos;

/// An amount whose sums saturate: a damaged recording may hold any number.
pub(crate) trait Amount: Copy {
    /// The sum; the largest amount if it does not fit.
    fn plus(self, other: Self) -> Self;
}

impl Amount for u64 {
    fn plus(self, other: u64) -> u64 {
        self.saturating_add(other)
    }
}

impl Amount for Picos {
    fn plus(self, other: Picos) -> Picos {
        self.saturating_add(other)
    }
}

/// Adds `amount` to `sum`.
pub(crate) fn add<T: Amount>(sum: &mut T, amount: T) {
    *sum = sum.plus(amount);
}

/// The sum of amounts.
pub(crate) fn total<T: Amount + Default>(amounts: impl Iterator<Item = T>) -> T {
    amounts.fold(T::default(), T::plus)
}

/// The percentile of sorted values, by nearest rank. `None` for an empty slice.
pub(crate) fn percentile<T: Copy>(sorted: &[T], percent: u64) -> Option<T> {
    let rank = (sorted.len() as u64 * percent).div_ceil(100).max(1);
    sorted.get(rank as usize - 1).copied()
}

/// The median of values in any order; the default for an empty vector.
pub(crate) fn median<T: Copy + Ord + Default>(mut values: Vec<T>) -> T {
    values.sort_unstable();
    percentile(&values, 50).unwrap_or_default()
}

/// Minimum, median, 95th percentile and maximum. `None` for an empty vector.
pub(crate) fn quantiles<T: Copy + Ord>(mut values: Vec<T>) -> Option<[T; 4]> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    Some([0, last / 2, last * 95 / 100, last].map(|i| values[i]))
}
