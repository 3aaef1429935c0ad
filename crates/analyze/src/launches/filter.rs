//! Restricts a comparison to the warps, kinds and sites that the user selects.
//!
//! # Invariants
//! Everything that the filter removes is reported as a gap. A filtered comparison can differ, but is never
//! `same`.

use prlx_trace::{SiteId, WarpId};

use crate::report::{Coverage, FindingKind};

use super::gaps::Gaps;

/// What to compare and report. An empty list selects everything.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Ranges of warps of the grid: the first and the last.
    pub warps: Vec<(u64, u64)>,
    /// Kinds of findings to report.
    pub kinds: Vec<FindingKind>,
    /// Sites whose findings to report, by either side's number.
    pub sites: Vec<u32>,
}

impl Filter {
    /// Whether a warp is compared.
    pub(crate) fn selects_warp(&self, warp: WarpId) -> bool {
        self.warps.is_empty() || self.warps.iter().any(|(first, last)| (*first..=*last).contains(&warp.0))
    }

    /// Whether a finding is reported.
    pub(crate) fn selects(&self, kind: FindingKind, sites: [Option<SiteId>; 2]) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind))
            && (self.sites.is_empty() || sites.iter().flatten().any(|s| self.sites.contains(&s.0)))
    }

    /// Adds the gaps that the filter makes: the warps it removed, and `visits` that differ but are not
    /// reported.
    pub(crate) fn gaps(&self, coverage: &Coverage, visits: u64, gaps: &mut Gaps) {
        let mut put = |key: &str, n: u64, one: &str, many: &str| {
            if n > 0 {
                gaps.insert(
                    key.into(),
                    format!("{n} {} excluded by a filter", if n == 1 { one } else { many }),
                );
            }
        };
        put("4 findings", visits, "difference was", "differences were");
        let removed = self.removed_warps(coverage.warps.total);
        put("4 warps", removed, "warp was", "warps were");
        if removed == coverage.warps.missing {
            gaps.remove("5");
        }
    }

    /// The number of the launch's warps that the filter removes.
    fn removed_warps(&self, total: u64) -> u64 {
        if self.warps.is_empty() {
            return 0;
        }
        let mut ranges = self.warps.clone();
        ranges.sort_unstable();
        let (mut taken, mut from) = (0, 0);
        for (first, last) in ranges {
            let (first, end) = (first.max(from), last.saturating_add(1).min(total));
            taken += end.saturating_sub(first);
            from = from.max(end);
        }
        total - taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_count_once() {
        for (warps, removed) in [
            (vec![], 0),
            (vec![(0, 9)], 0),
            (vec![(3, 5), (4, 6), (3, 3)], 6),
            (vec![(8, u64::MAX), (20, 30)], 8),
        ] {
            let filter = Filter { warps, ..Filter::default() };
            assert_eq!(filter.removed_warps(10), removed, "{filter:?}");
            assert_eq!(
                (0..10).filter(|w| !filter.selects_warp(WarpId(*w))).count() as u64,
                removed,
                "{filter:?}"
            );
        }
    }
}
