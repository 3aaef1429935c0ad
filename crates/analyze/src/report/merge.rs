//! Parts of one report, put together.
//!
//! A part holds some of the pairs of launches ([`crate::DiffOptions::shard`]); each pair is compared as a whole, so parts
//! are made anywhere, at any time, and put together in any order.
//!
//! Holds: merging is associative, commutative and idempotent; all parts together are the report that was never split, byte for
//! byte. Fewer are a report with a gap that says so.
//!
//! Misses: a launch that is too large for one machine; a pair is the smallest part.

use super::comparison::Report;
use super::verdict::Verdict;
use crate::error::Error;

impl Report {
    /// Puts two parts of the same comparison together.
    ///
    /// # Errors
    /// When they are parts of different comparisons, or both have a pair of launches and do not say the same of it.
    pub fn merge(mut self, other: Report) -> Result<Report, Error> {
        let frame = |r: &Report| Report {
            launches: Vec::new(),
            gaps: Vec::new(),
            verdict: Verdict::Same,
            ..r.clone()
        };
        let same = frame(&self) == frame(&other);
        if !same {
            return Err(Error::new("merge", "these are parts of different reports"));
        }
        self.launches.extend(other.launches);
        self.launches.sort_by_key(|l| (l.process, l.launch));
        for pair in self.launches.windows(2) {
            if (pair[0].process, pair[0].launch) == (pair[1].process, pair[1].launch) && pair[0] != pair[1] {
                let at = format!("launch {} of A", pair[0].launch[0]);
                return Err(Error::new(at, "two parts do not say the same of it"));
            }
        }
        self.launches.dedup();
        self.conclude();
        Ok(self)
    }
}
