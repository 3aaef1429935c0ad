//! Merges parts of one report.
//!
//! A part holds some of the launch pairs ([`crate::DiffOptions::shard`]). Each pair is compared as a whole,
//! so parts can be made on any machine and merged in any order.
//!
//! # Invariants
//! Merging is associative, commutative and idempotent. All parts together give the report of an undivided
//! comparison, byte for byte. Fewer parts give a report with a gap.
//!
//! # Limitations
//! A launch that is too large for one machine cannot be divided.

use super::comparison::Report;
use super::verdict::Verdict;
use crate::error::Error;

impl Report {
    /// Merges two parts of the same comparison.
    ///
    /// # Errors
    /// The parts belong to different comparisons, or they contain the same pair of launches with different
    /// content.
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
                return Err(Error::new(at, "two parts contain it with different content"));
            }
        }
        self.launches.dedup();
        self.conclude();
        Ok(self)
    }
}
