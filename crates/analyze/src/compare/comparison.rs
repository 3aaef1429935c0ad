//! Two recordings, compared: launches in pairs, warps that differ, findings put together.
//!
//! Holds: the report depends on the inputs alone, not on threads. Memory is bounded by 32 frames of each side, the
//! trees of the lanes at work, and the findings kept. `same` is only said when everything was seen: what was lost, left
//! out, cut short or could not be read is a gap.
//!
//! Launches are paired by [`order`], processes by their caller ([`crate::match_processes`]).

use std::collections::BTreeSet;

use prlx_trace::Trace;
use prlx_trace::kernel::Level;

use crate::error::Error;
use crate::glob::matches;
use crate::launches::{launch_match::match_launches, process_match};
use crate::report::{LaunchReport, ProcessPair, Report, UnmatchedLaunch, UnmatchedProcess};

use super::launch_pair::compare_launches;
use super::launch_selection::{SelectedLaunch, items, kernel_name, wanted};
use super::module_cache::{ModuleCache, inline_modules};
use super::options::DiffOptions;

/// Compares two recordings.
///
/// # Errors
/// When a filter matches nothing, a module is ill-formed, or the streams are damaged.
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
    /// Compares what one process did on both sides, and adds it.
    ///
    /// # Errors
    /// When a module is ill-formed, the streams are damaged, or a recording is of a probe program.
    pub fn add(&mut self, traces: [&Trace; 2], options: &DiffOptions) -> Result<(), Error> {
        for (trace, side) in traces.iter().zip(["A", "B"]) {
            // EntryKind has no streams would agree with everything.
            if trace.launches.iter().any(|r| r.launch.level == Level::Probe) {
                let what =
                    "it is of a probe program: tables, and nothing to compare; `prlx probe show` prints them";
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
        let sides = traces.map(|t| wanted(t, options));
        let [a, b] = items(traces, [&sides[0], &sides[1]], options.force);
        let pairs = match_launches(&a, &b);
        let asked = |w: &SelectedLaunch| {
            options.launches.is_empty()
                || options.launches.iter().any(|(first, end)| (*first..*end).contains(&w.number))
        };
        let paired = pairs.iter().map(|(i, j)| [&sides[0][*i], &sides[1][*j]]).filter(|both| asked(both[0]));
        let launches_of =
            |both: [&SelectedLaunch; 2]| [0, 1].map(|side| &traces[side].launches[both[side].index].launch);
        let inlined = inline_modules(traces, paired.map(launches_of));
        let mut shared = ModuleCache::new(&inlined);
        for (i, j) in &pairs {
            let both = [&sides[0][*i], &sides[1][*j]];
            if !asked(both[0]) {
                continue;
            }
            if options.shard.is_none_or(|s| self.pairs % s.of.max(1) == s.index) {
                let found = compare_launches(traces, both, &mut shared, options)?;
                self.launches.push(LaunchReport { process, ..found });
            }
            self.pairs += 1;
        }
        for (side, all) in (0u8..).zip(&sides) {
            let paired: BTreeSet<usize> = pairs.iter().map(|p| [p.0, p.1][usize::from(side)]).collect();
            let alone = all.iter().enumerate().filter(|(i, w)| !paired.contains(i) && asked(w));
            let unpaired = |(_, w): (usize, &SelectedLaunch)| UnmatchedLaunch {
                process,
                side,
                launch: w.number,
                kernel: w.kernel.clone(),
            };
            self.unpaired.extend(alone.map(unpaired));
        }
        self.conclude();
        Ok(())
    }

    /// Adds a process that the other side has no partner for. One that launched nothing is no difference.
    pub fn add_alone(&mut self, side: u8, trace: &Trace) {
        let name = trace.process.as_ref().map_or_else(String::new, process_match::name);
        let cut = trace.cut.as_ref().map(ToString::to_string);
        self.alone.push(UnmatchedProcess { side, name, launches: trace.launches.len() as u64, cut });
        self.conclude();
    }
}
