//! Compares two recordings: matches launches, compares warps that differ, and merges the findings.
//!
//! # Invariants
//! The report depends on the inputs only, not on threads. Memory is bounded by 32 frames of each side, the
//! trees of the lanes being compared, and the findings kept. The verdict is `same` only if everything was
//! seen: lost, filtered, truncated or unreadable parts are gaps.
//!
//! Launches match by [`launch_match`](crate::launch_match), processes by the caller
//! ([`crate::match_processes`]).

use std::collections::BTreeSet;

use prlx_trace::Trace;
use prlx_trace::kernel::Level;

use crate::error::Error;
use crate::glob::matches;
use crate::launches::{launch_match::match_launches, process_match};
use crate::report::{FoldedLaunches, LaunchReport, ProcessPair, Report, UnmatchedLaunch, UnmatchedProcess};

use super::launch_pair::compare_launches;
use super::launch_selection::{SelectedLaunch, fold_repeats, kernel_name, launch_keys, selected_launches};
use super::module_cache::{ModuleCache, inline_modules};
use super::options::DiffOptions;
use super::recorded_outputs::add_recorded_outputs;

/// Compares two recordings.
///
/// # Errors
/// A kernel pattern matches nothing, a module is malformed, or a stream is damaged.
pub fn diff(a: &Trace, b: &Trace, options: &DiffOptions) -> Result<Report, Error> {
    for pattern in &options.kernels {
        let like = |t: &Trace| t.launches.iter().any(|r| matches(pattern, &kernel_name(t, &r.launch)));
        if !like(a) && !like(b) {
            return Err(Error::new(
                "filter",
                format!("no launch of either side has a kernel like `{pattern}`"),
            ));
        }
    }
    let mut report = Report::new(Default::default());
    report.add([a, b], options)?;
    Ok(report)
}

impl Report {
    /// Compares one process of both sides and adds the result.
    ///
    /// # Errors
    /// A module is malformed, a stream is damaged, or a recording is of a probe program.
    pub fn add(&mut self, traces: [&Trace; 2], options: &DiffOptions) -> Result<(), Error> {
        for (trace, side) in traces.iter().zip(["A", "B"]) {
            // Launches without streams would agree with everything.
            if trace.launches.iter().any(|r| r.launch.level == Level::Probe) {
                let what = "this recording of a probe has tables, but no streams to compare: print it with \
                            `prlx probe show`";
                return Err(Error::new(side, what));
            }
        }
        if self.processes.is_empty() {
            self.producers = traces.map(|t| t.producer.clone());
        }
        let process = self.processes.len() as u64;
        self.processes.push(ProcessPair {
            names: traces.map(|t| t.process.as_ref().map_or_else(String::new, process_match::name)),
            cut: traces.map(|t| t.cut.as_ref().map(ToString::to_string)),
        });
        let mut sides = traces.map(|t| selected_launches(t, options));
        if !options.strict {
            for (side, (trace, launches)) in (0u8..).zip(traces.into_iter().zip(&mut sides)) {
                let folded = fold_repeats(trace, launches);
                self.folded.extend(folded.into_iter().map(|f| FoldedLaunches { process, side, ..f }));
            }
        }
        let [a, b] = launch_keys(traces, [&sides[0], &sides[1]], options.force);
        let pairs = match_launches(&a, &b);
        let selected = |w: &SelectedLaunch| {
            options.launches.is_empty()
                || options.launches.iter().any(|(first, end)| (*first..*end).contains(&w.number))
        };
        let paired =
            pairs.iter().map(|(i, j)| [&sides[0][*i], &sides[1][*j]]).filter(|both| selected(both[0]));
        let launches_of =
            |both: [&SelectedLaunch; 2]| [0, 1].map(|side| &traces[side].launches[both[side].index].launch);
        let inlined = inline_modules(traces, paired.map(launches_of));
        let mut shared = ModuleCache::new(&inlined);
        for (i, j) in &pairs {
            let both = [&sides[0][*i], &sides[1][*j]];
            if !selected(both[0]) {
                continue;
            }
            if options.shard.is_none_or(|s| self.pairs % s.of.max(1) == s.index) {
                let mut found = compare_launches(traces, both, &mut shared, options)?;
                add_recorded_outputs(&mut found, traces, launches_of(both), options)?;
                self.launches.push(LaunchReport { process, ..found });
            }
            self.pairs += 1;
        }
        let unmatched = unmatched([sides[0].len(), sides[1].len()], &pairs);
        for (side, here) in unmatched.iter().enumerate() {
            let there: BTreeSet<usize> = unmatched[1 - side].iter().map(|(_, place)| *place).collect();
            let all = here.iter().map(|(i, place)| (&sides[side][*i], place));
            self.unpaired.extend(all.filter(|(w, _)| selected(w)).map(|(w, place)| UnmatchedLaunch {
                process,
                side: side as u8,
                launch: w.number,
                kernel: w.kernel.clone(),
                replaced: !options.strict && there.contains(place),
            }));
        }
        self.conclude();
        Ok(())
    }

    /// Adds a process that has no match. A process without launches is no difference.
    pub fn add_alone(&mut self, side: u8, trace: &Trace) {
        let name = trace.process.as_ref().map_or_else(String::new, process_match::name);
        let cut = trace.cut.as_ref().map(ToString::to_string);
        self.alone.push(UnmatchedProcess { side, name, launches: trace.launches.len() as u64, cut });
        self.conclude();
    }
}

/// By side: the launches that `pairs` leaves out, by index, with the number of matched launches before each.
fn unmatched(launches: [usize; 2], pairs: &[(usize, usize)]) -> [Vec<(usize, usize)>; 2] {
    [0, 1].map(|side| {
        let mut matched: Vec<usize> = pairs.iter().map(|p| [p.0, p.1][side]).collect();
        matched.sort_unstable();
        let place = |i| matched.binary_search(&i).err().map(|place| (i, place));
        (0..launches[side]).filter_map(place).collect()
    })
}
