//! Profiles a program.

use std::collections::BTreeMap;
use std::ffi::OsString;

use anyhow::{Result, bail};
use prlx_driver::occupancy::threads_per_sm;
use prlx_driver::session::{MODULE_NOT_REWRITTEN, Options, Session};
use prlx_plan::UNPROBED;
use prlx_timeline::{Calibration, Timeline};
use prlx_trace::Trace;

use super::markers::MarkerHint;
use crate::Monitor;
use crate::diff::read_file;
use crate::record::{Ended, ProgramOutput, Supervisor, run_program};

/// A profile of a program.
#[derive(Debug)]
pub struct ProgramProfile {
    /// How the program ended.
    pub ended: Ended,
    /// The processes with marker records. Empty if the program failed before it recorded any.
    pub processes: Vec<ProcessProfile>,
}

/// A profile of one process.
#[derive(Debug)]
pub struct ProcessProfile {
    /// The process number; 0 if it is not known.
    pub pid: u32,
    /// The timeline of all its launches.
    pub timeline: Timeline,
}

/// Profiles a program with the script of `options`.
///
/// # Errors
/// If the program cannot be run, or if it succeeds and nothing was recorded.
pub fn profile_program(
    command: &[OsString],
    options: &Options,
    hint: MarkerHint,
    monitor: &Monitor<'_>,
) -> Result<ProgramProfile> {
    let supervisor = Supervisor::new()?;
    let ended = run_program(command, options, ProgramOutput::Inherited, &supervisor, None, monitor)?;
    if let Some(what) = ended.failure() {
        monitor.warn(&format!("the program {what}"));
    }
    let session = Session::open(&options.folder)?;
    let traces = (0..session.files.len()).map(|i| read_file(&session, i)).collect::<Result<Vec<_>>>()?;
    if traces.iter().all(|t| t.marks.is_empty()) {
        // The program's own failure comes first.
        return match why_nothing(&traces, hint) {
            Some(why) if ended.failure().is_none() => bail!(why),
            why => {
                why.iter().for_each(|why| monitor.warn(why));
                Ok(ProgramProfile { ended, processes: Vec::new() })
            }
        };
    }
    not_profiled(&traces).iter().for_each(|what| monitor.warn(what));
    let marked = traces.iter().filter(|t| !t.marks.is_empty());
    let processes = marked.map(|trace| {
        let timeline = prlx_timeline::timeline(trace, threads_per_sm);
        reduced_occupancy(&timeline).iter().for_each(|what| monitor.warn(what));
        ProcessProfile { pid: trace.process.as_ref().map_or(0, |p| p.pid), timeline }
    });
    let processes = processes.collect();
    Ok(ProgramProfile { ended, processes })
}

/// Kernels of which fewer threads may be resident than without their markers.
fn reduced_occupancy(timeline: &Timeline) -> Vec<String> {
    let said = |c: &Calibration| {
        let [bare, marked] = c.room.filter(|[bare, marked]| marked < bare)?;
        let kernel = prlx_present::safe(&c.kernel);
        Some(format!("{kernel}: markers need registers: {bare} -> {marked} resident threads on an SM"))
    };
    timeline.calibrations.iter().filter_map(said).collect()
}

/// Modules, launches and markers that were not recorded, and why. A kernel without markers is not one of
/// them.
fn not_profiled(traces: &[Trace]) -> Vec<String> {
    let (mut markers, mut modules, mut launches) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for trace in traces {
        for skipped in trace.skipped.iter().filter(|s| s.reason != UNPROBED) {
            let which = if skipped.kernel.is_some() { &mut markers } else { &mut modules };
            *which.entry(skipped.reason.clone()).or_insert(0) += 1;
        }
        let reasons = trace.launches.iter().filter_map(|l| l.launch.skipped.clone());
        // If every unchanged module has no markers, its launches have none either.
        let whole = trace.skipped.iter().filter(|s| s.kernel.is_none());
        let markless = whole.clone().count() > 0 && whole.clone().all(|s| s.reason == UNPROBED);
        let lost =
            reasons.filter(|why| why != UNPROBED && !(markless && why.starts_with(MODULE_NOT_REWRITTEN)));
        lost.for_each(|why| *launches.entry(why).or_insert(0) += 1);
    }
    let of = |all: BTreeMap<String, usize>, one: &str, many: &str| -> Vec<String> {
        let said = |(why, n): (String, usize)| {
            format!("{n} {} not profiled: {}", if n == 1 { one } else { many }, prlx_present::safe(&why))
        };
        all.into_iter().map(said).collect()
    };
    let markers = markers.into_keys().map(|what| prlx_present::safe(&what).to_string());
    let (modules, launches) = (of(modules, "module", "modules"), of(launches, "launch", "launches"));
    modules.into_iter().chain(launches).chain(markers).collect()
}

/// Why nothing was recorded; `None` if there was no module.
fn why_nothing(traces: &[Trace], hint: MarkerHint) -> Option<String> {
    let idle = traces.iter().flat_map(|t| &t.skipped).filter(|s| s.reason == UNPROBED).count();
    let lines: String = not_profiled(traces).iter().map(|what| format!("\n  {what}")).collect();
    let help = hint.text();
    match (idle, lines.is_empty()) {
        (0, true) => None,
        (0, false) => Some(format!("nothing was profiled:{lines}")),
        _ => Some(format!("no kernel of the program has markers{help}{lines}")),
    }
}
