//! The recorded warps of a launch, as runs of consecutive numbers.
//!
//! Launches have a million warps, and mostly all of them are recorded and lost nothing. A list of them would
//! take longer to make than their streams.
//!
//! # Invariants
//! Warps ascend. Memory is proportional to the number of runs and of warps that lost elements.

use std::ops::Range;

use crate::ids::WarpId;
use crate::launch::WarpInfo;

/// Warps in ascending order, with how many elements each lost.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct WarpList {
    /// Runs that no shorter list could express: the index of the first warp of each, and its number.
    runs: Vec<(usize, u64)>,
    len: usize,
    /// The warps that lost elements, by ascending index, and how many.
    dropped: Vec<(usize, u64)>,
}

impl WarpList {
    /// `n` consecutive warps that lost nothing.
    pub fn run(first: WarpId, n: usize) -> WarpList {
        let mut list = WarpList::default();
        list.push_run(first.0, n);
        list
    }

    /// Appends `n` consecutive warps, which come after all others.
    pub fn push_run(&mut self, first: u64, n: usize) {
        if n == 0 {
            return;
        }
        let follows = self.runs.last().is_some_and(|(at, warp)| warp + (self.len - at) as u64 == first);
        if !follows {
            self.runs.push((self.len, first));
        }
        self.len += n;
    }

    /// Appends a warp, which comes after all others.
    pub fn push(&mut self, info: WarpInfo) {
        self.push_run(info.warp.0, 1);
        self.lost(self.len - 1, info.dropped);
    }

    /// Says how many elements the warp at this index lost. Indices ascend from call to call.
    pub fn lost(&mut self, index: usize, dropped: u64) {
        self.dropped.extend(Some((index, dropped)).filter(|(_, n)| *n > 0));
    }

    /// Appends warps that come after all others.
    pub fn extend(&mut self, more: &WarpList) {
        let before = self.len;
        more.runs().for_each(|(first, n)| self.push_run(first, n));
        self.dropped.extend(more.dropped.iter().map(|(at, n)| (before + at, *n)));
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The runs: number of the first warp, and number of warps.
    pub fn runs(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let ends = self.runs.iter().skip(1).map(|(at, _)| *at).chain(std::iter::once(self.len));
        self.runs.iter().zip(ends).map(|((at, first), end)| (*first, end - at))
    }

    /// The indices of the warps that lost elements, ascending, and how many.
    pub fn dropped(&self) -> &[(usize, u64)] {
        &self.dropped
    }

    /// How many elements the warp at an index lost.
    fn dropped_at(&self, index: usize) -> u64 {
        let at = self.dropped.binary_search_by_key(&index, |(at, _)| *at).ok();
        at.and_then(|at| self.dropped.get(at)).map_or(0, |(_, n)| *n)
    }

    /// The warp at an index.
    pub fn get(&self, index: usize) -> Option<WarpInfo> {
        let run = self.runs.partition_point(|(at, _)| *at <= index).checked_sub(1)?;
        let (at, first) = self.runs.get(run).filter(|_| index < self.len)?;
        Some(WarpInfo { warp: WarpId(first + (index - at) as u64), dropped: self.dropped_at(index) })
    }

    /// The index of a warp.
    pub fn index_of(&self, warp: WarpId) -> Option<usize> {
        let run = self.runs.partition_point(|(_, first)| *first <= warp.0).checked_sub(1)?;
        let (at, first) = self.runs.get(run)?;
        let end = self.runs.get(run + 1).map_or(self.len, |(at, _)| *at);
        let index = usize::try_from(warp.0 - first).ok()?.checked_add(*at)?;
        (index < end).then_some(index)
    }

    /// The warps at these indices.
    pub fn part(&self, indices: Range<usize>) -> impl ExactSizeIterator<Item = WarpInfo> + '_ {
        let end = indices.end.min(self.len);
        let mut run = self.runs.partition_point(|(at, _)| *at <= indices.start).saturating_sub(1);
        (indices.start.min(end)..end).map(move |index| {
            run += usize::from(self.runs.get(run + 1).is_some_and(|(at, _)| *at <= index));
            let (at, first) = self.runs.get(run).copied().unwrap_or_default();
            WarpInfo { warp: WarpId(first + (index - at) as u64), dropped: self.dropped_at(index) }
        })
    }

    /// The warps in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = WarpInfo> + '_ {
        self.part(0..self.len)
    }
}

impl FromIterator<WarpInfo> for WarpList {
    fn from_iter<T: IntoIterator<Item = WarpInfo>>(infos: T) -> WarpList {
        let mut list = WarpList::default();
        infos.into_iter().for_each(|info| list.push(info));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_its_warps() {
        let info = |(warp, dropped): (u64, u64)| WarpInfo { warp: WarpId(warp), dropped };
        let warps = [(2, 0), (3, 1), (4, 0), (7, 0), (8, 0), (9, 5), (20, 0)].map(info);
        let list: WarpList = warps.into_iter().collect();
        assert_eq!(list.runs().collect::<Vec<_>>(), [(2, 3), (7, 3), (20, 1)]);
        assert_eq!(list.iter().collect::<Vec<_>>(), warps);
        for (i, warp) in warps.iter().enumerate() {
            assert_eq!((list.get(i), list.index_of(warp.warp)), (Some(*warp), Some(i)));
            assert!(list.part(i..list.len()).eq(warps[i..].iter().copied()));
        }
        assert_eq!((list.get(7), list.part(9..12).len()), (None, 0));
        for other in [0, 1, 5, 6, 10, 19, 21, u64::MAX] {
            assert_eq!(list.index_of(WarpId(other)), None, "{other}");
        }
        for cut in 0..=warps.len() {
            let mut parts: WarpList = warps[..cut].iter().copied().collect();
            parts.extend(&warps[cut..].iter().copied().collect());
            assert_eq!(parts, list);
        }
        assert_eq!(WarpList::run(WarpId(5), 2).iter().map(|i| i.warp.0).collect::<Vec<_>>(), [5, 6]);
        assert_eq!(WarpList::run(WarpId(5), 0), WarpList::default());
    }
}
