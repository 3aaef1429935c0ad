//! Findings of checks in several runs of one launch: equal ones become one.
//!
//! # Invariants
//! Findings are equal if their kind, allocation and places are. The first run with a finding gives its words.

use std::collections::{BTreeMap, BTreeSet};

use prlx_analyze::runs::schedules::{ScheduleFindings, ScheduleRun, SeenIn};
use prlx_trace::check::{Check, Finding, Findings, Kind, Place};

/// What makes findings of several runs one: the kind, the allocation, and the places.
type FindingKey = (Kind, Option<String>, Vec<Option<PlaceKey>>);

/// A place: the function and its source lines or, where there are none, the line of the module.
type PlaceKey = (String, Vec<(String, u32, u32)>, Option<u32>);

fn place_key(place: &Place) -> PlaceKey {
    let lines: Vec<_> = place.source.iter().map(|l| (l.file.clone(), l.line, l.column)).collect();
    let line = lines.is_empty().then_some(place.module_line);
    (place.function.clone(), lines, line)
}

fn finding_key(f: &Finding) -> FindingKey {
    let memory = f.sides.first().and_then(|s| s.memory.as_ref());
    let allocation = memory.and_then(|m| m.allocation.as_ref()).map(|a| a.name.clone());
    let mut places: Vec<_> = f.sides.iter().take(2).map(|s| s.place.as_ref().map(place_key)).collect();
    if f.kind.check() == Check::Race {
        // The schedule decides which access comes first.
        places.sort();
    }
    (f.kind, allocation, places)
}

/// A finding of some runs.
#[derive(Clone, Debug)]
struct Found {
    finding: Finding,
    /// Its place among the findings of the first run with it.
    at: usize,
    runs: u64,
    /// Numbers of the first runs, ascending.
    first: Vec<u64>,
}

/// The findings of several runs of one launch.
#[derive(Clone, Debug)]
pub struct JoinedFindings {
    /// Runs of a finding that are listed at most.
    listed: usize,
    found: BTreeMap<FindingKey, Found>,
    dropped: u64,
    unchecked: Vec<String>,
}

impl JoinedFindings {
    /// Lists at most this number of runs of a finding.
    pub fn new(listed: usize) -> JoinedFindings {
        JoinedFindings { listed, found: BTreeMap::new(), dropped: 0, unchecked: Vec::new() }
    }
    /// Adds the findings of run `n`.
    pub fn add(&mut self, n: u64, findings: Findings) {
        let mut of_run = BTreeSet::new();
        for (at, finding) in findings.list.into_iter().enumerate() {
            let key = finding_key(&finding);
            if !of_run.insert(key.clone()) {
                continue;
            }
            let entry = || Found { finding: finding.clone(), at, runs: 0, first: Vec::new() };
            let found = self.found.entry(key).or_insert_with(entry);
            let before = found.first.partition_point(|m| *m < n);
            if before == 0 {
                (found.finding, found.at) = (finding, at);
            }
            found.runs += 1;
            found.first.insert(before, n);
            found.first.truncate(self.listed);
        }
        self.dropped = self.dropped.max(findings.dropped);
        for what in findings.unchecked {
            if let Err(at) = self.unchecked.binary_search(&what) {
                self.unchecked.insert(at, what);
            }
        }
    }
    /// The findings in the order of the first run with each. `run` says which run has a number.
    pub fn finish(self, run: impl Fn(u64) -> ScheduleRun) -> ScheduleFindings {
        let mut all: Vec<Found> = self.found.into_values().collect();
        all.sort_by_key(|f| (f.first.first().copied(), f.at));
        let mut out = ScheduleFindings::default();
        for f in all {
            out.found.list.push(f.finding);
            out.seen.push(SeenIn { runs: f.runs, first: f.first.into_iter().map(&run).collect() });
        }
        (out.found.dropped, out.found.unchecked) = (self.dropped, self.unchecked);
        out
    }
}
