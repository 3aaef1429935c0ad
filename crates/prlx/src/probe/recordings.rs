//! The tables in recordings, and what is missing from them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use prlx_plan::UNPROBED;
use prlx_present::tallies::{Tallies, Unavailable};
use prlx_probe::diagnostics::NO_MATCH;
use prlx_trace::{Level, Trace};

use super::count::count;
use crate::Monitor;
use crate::diff::read_file;
use crate::input;

/// Reads the files of a recording, with their names. Warns about a file that is incomplete.
///
/// # Errors
/// If the recording cannot be read.
pub fn read_recording(path: &Path, monitor: &Monitor<'_>) -> Result<Vec<(String, Trace)>> {
    let session = input::open_session(path)?;
    let mut all = Vec::new();
    for (i, file) in session.files.iter().enumerate() {
        let trace = read_file(&session, i)?;
        if let Some(cut) = &trace.cut {
            monitor.warn(&format!("{}: {cut}: there may have been more", file.path.display()));
        }
        all.push((file.path.display().to_string(), trace));
    }
    Ok(all)
}

/// The tables of recordings that a probe program made.
///
/// # Errors
/// If a recording cannot be read, or has no tables.
pub fn tables_of_recordings(paths: &[PathBuf], monitor: &Monitor<'_>) -> Result<Tallies> {
    let mut all: Vec<(String, Trace)> = Vec::new();
    for path in paths {
        let new = read_recording(path, monitor)?;
        if !new.iter().any(|(_, trace)| has_tables(trace)) {
            let levels: BTreeSet<&str> =
                new.iter().flat_map(|(_, t)| &t.launches).map(|l| l.launch.level.label()).collect();
            match levels.iter().next().filter(|l| **l != Level::Probe.label()) {
                Some(level) => bail!(
                    "{} is a recording at level {level} and has no tables. Use: prlx inspect, prlx diff",
                    path.display()
                ),
                None => bail!("{} has no tables", path.display()),
            }
        }
        all.extend(new);
    }
    Ok(tables(&all))
}

/// Whether a probe program matched something in a module of the trace.
pub(super) fn has_tables(trace: &Trace) -> bool {
    trace.modules.iter().any(|m| !m.tables.is_empty())
}

/// The tables of traces, and what is missing from them.
pub fn tables(traces: &[(String, Trace)]) -> Tallies {
    let named: Vec<(String, &Trace)> = traces.iter().map(|(name, trace)| (name.clone(), trace)).collect();
    let missed =
        not_probed(traces).into_iter().map(|what| Unavailable { tables: Vec::new(), what }).collect();
    Tallies { missed, ..Tallies::of(&named) }
}

/// Modules, launches and instructions that were not probed, and why. A module without a match is not one of
/// them.
pub(super) fn not_probed(traces: &[(String, Trace)]) -> Vec<String> {
    let (mut places, mut modules, mut launches) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    for trace in traces.iter().map(|(_, trace)| trace) {
        for skipped in trace.skipped.iter().filter(|s| s.reason != UNPROBED) {
            match skipped.kernel {
                Some(_) if skipped.reason.ends_with(NO_MATCH) => {}
                Some(_) => drop(places.insert(skipped.reason.clone())),
                None => *modules.entry(&skipped.reason).or_insert(0) += 1,
            }
        }
        let reasons = trace.launches.iter().filter_map(|l| l.launch.skipped.as_ref());
        reasons.filter(|why| *why != UNPROBED).for_each(|why| *launches.entry(why).or_insert(0) += 1);
    }
    let of = |all: BTreeMap<&String, usize>, one: &str, many: &str| -> Vec<String> {
        all.into_iter().map(|(why, n)| format!("{} not probed: {why}", count(n, one, many))).collect()
    };
    let (modules, launches) = (of(modules, "module", "modules"), of(launches, "launch", "launches"));
    modules.into_iter().chain(launches).chain(places).collect()
}

/// Clauses that match in none of the probed modules.
pub(super) fn unmatched_clauses(traces: &[(String, Trace)]) -> Vec<String> {
    // How many modules there are of a name, and in how many of them a clause has no match.
    let mut modules: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut idle: BTreeMap<&str, BTreeMap<(usize, &str), usize>> = BTreeMap::new();
    for (i, (_, trace)) in traces.iter().enumerate() {
        for module in trace.modules.iter().filter(|m| !m.tables.is_empty()) {
            *modules.entry((i, &module.name)).or_default() += 1;
        }
        for skipped in trace.skipped.iter().filter(|s| s.reason.ends_with(NO_MATCH)) {
            *idle.entry(&skipped.reason).or_default().entry((i, &skipped.module)).or_default() += 1;
        }
    }
    let everywhere = |of: &BTreeMap<_, _>| modules.iter().all(|(key, n)| of.get(key).is_some_and(|m| m >= n));
    idle.iter().filter(|(_, of)| everywhere(of)).map(|(reason, _)| (*reason).to_owned()).collect()
}
