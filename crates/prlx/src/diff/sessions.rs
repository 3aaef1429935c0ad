//! Compares two sessions, or two single recordings, process by process.

use std::collections::BTreeSet;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use prlx_analyze::view::{PathViewOptions, ViewModel};
use prlx_analyze::{DiffOptions, ProcessMatch, Report};
use prlx_driver::session::{KernelPattern, LaunchPart, LaunchPartState, Session};
use prlx_trace::{Recording, Trace};

use crate::Monitor;

/// A comparison: the report, and what viewers show of its findings.
#[derive(Debug, Default)]
pub struct Compared {
    /// The report of the comparison.
    pub report: Report,
    /// Source text and views of findings, as many as were asked for.
    pub scene: ViewModel,
}

/// Compares two traces; the report calls them `names`.
///
/// # Errors
/// If a trace cannot be decoded.
pub fn diff_traces(
    a: &Trace,
    b: &Trace,
    names: [String; 2],
    options: &DiffOptions,
    monitor: &Monitor<'_>,
) -> Result<Report> {
    let _activity = monitor.activity("comparing");
    let mut report = prlx_analyze::diff(a, b, options)?;
    report.names = names;
    Ok(report)
}

/// Compares two sessions, or single recordings, process by process.
///
/// Only launches of `part` whose kernel matches one of `kernels` count; an empty list means all kernels. With
/// `views`, the scene holds what viewers show of so many findings of each launch.
///
/// # Errors
/// If a recording cannot be read or decoded, or no launch matches the filters.
pub fn diff_sessions(
    sides: &[Session; 2],
    names: [String; 2],
    (kernels, part): (&[KernelPattern], &LaunchPart),
    options: DiffOptions,
    views: Option<usize>,
    monitor: &Monitor<'_>,
) -> Result<Compared> {
    let matching = match_processes(sides);
    let activity = monitor.steps(matching.pairs.len() as u64, "comparing processes");
    let wanted = |name: &str| kernels.is_empty() || kernels.iter().any(|p| p.matches(name));
    let mut seen = BTreeSet::new();
    let launches = options.launches.clone();
    let mut report = Report::new(names);
    let mut scene = ViewModel::default();
    for (i, j) in &matching.pairs {
        monitor.check()?;
        let (mut a, mut b) = (read_file(&sides[0], *i)?, read_file(&sides[1], *j)?);
        keep_part(&mut a, part);
        keep_part(&mut b, part);
        let here: BTreeSet<String> =
            [&a, &b].into_iter().flat_map(kernel_names).filter(|n| wanted(n)).collect();
        let mut options = options.clone();
        if here.is_empty() {
            // An empty list of kernels would mean all of them.
            options.launches = vec![(0, 0)];
        } else if !kernels.is_empty() {
            options.kernels = here.iter().cloned().collect();
        }
        seen.extend(here);
        let process = report.processes.len() as u64;
        report.add([&a, &b], &options)?;
        name_files(&mut report, [(&sides[0], *i), (&sides[1], *j)]);
        if let Some(views) = views {
            scene.add([&a, &b], &report, process, views, &PathViewOptions::default())?;
        }
        activity.step();
    }
    for (side, all) in (0u8..).zip(&matching.alone) {
        for i in all {
            let mut trace = read_file(&sides[usize::from(side)], *i)?;
            keep_part(&mut trace, part);
            let names: Vec<String> = kernel_names(&trace).collect();
            let mut names = names.iter();
            trace.launches.retain(|_| names.next().is_some_and(|n| wanted(n)));
            seen.extend(kernel_names(&trace));
            report.add_alone(side, &trace);
        }
    }
    drop(activity);
    if !kernels.is_empty() && seen.is_empty() {
        let all: Vec<&str> = kernels.iter().map(KernelPattern::text).collect();
        bail!("no launch of either side has a kernel that matches {}", all.join(" or "));
    }
    if !part.is_all() && report.pairs == 0 && report.unpaired.is_empty() {
        bail!("no launch lies between --from and --to, or in --range");
    }
    if !launches.is_empty() && report.pairs == 0 && report.unpaired.is_empty() {
        bail!("the launch filter matches no launch that both sides have");
    }
    Ok(Compared { report, scene })
}

/// Names the last pair of processes after its files, if these are recordings of launch files in a folder:
/// they have no process.
fn name_files(report: &mut Report, files: [(&Session, usize); 2]) {
    let Some(pair) = report.processes.last_mut() else { return };
    for (name, (session, i)) in pair.names.iter_mut().zip(files) {
        if name.is_empty() && session.is_folder() {
            *name = session.files[i].path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        }
    }
}

/// Removes the launches of a trace outside of a part.
fn keep_part(trace: &mut Trace, part: &LaunchPart) {
    if part.is_all() {
        return;
    }
    let mut state = LaunchPartState::default();
    let kept: BTreeSet<u64> = launches_by_number(trace)
        .into_iter()
        .filter(|(number, r)| state.takes(part, (&kernel_name(trace, r), *number), &r.launch, &trace.ranges))
        .map(|(number, _)| number)
        .collect();
    let numbers: Vec<u64> = match &trace.process {
        Some(_) => trace.launches.iter().map(|r| r.launch.number).collect(),
        None => (0..trace.launches.len() as u64).collect(),
    };
    let mut numbers = numbers.into_iter();
    trace.launches.retain(|_| numbers.next().is_some_and(|n| kept.contains(&n)));
}

/// Which files of two sessions are of the same process.
pub fn match_processes(sides: &[Session; 2]) -> ProcessMatch {
    let [a, b] = sides.each_ref().map(|s| s.files.iter().map(|f| f.process.clone()).collect::<Vec<_>>());
    prlx_analyze::match_processes(&a, &b)
}

/// Reads the traces of a pair of processes on demand; the function keeps the last pair in memory.
pub fn trace_pairs(sides: &[Session; 2]) -> impl FnMut(u64) -> Result<[Rc<Trace>; 2]> + '_ {
    let matching = match_processes(sides);
    let mut last: Option<(u64, [Rc<Trace>; 2])> = None;
    move |process| {
        if let Some((_, traces)) = last.as_ref().filter(|(p, _)| *p == process) {
            return Ok(traces.clone());
        }
        let (i, j) = *matching.pairs.get(process as usize).context("no such process")?;
        let traces = [Rc::new(read_file(&sides[0], i)?), Rc::new(read_file(&sides[1], j)?)];
        last = Some((process, traces.clone()));
        Ok(traces)
    }
}

/// Kernel names of a trace's launches, in their order.
fn kernel_names(t: &Trace) -> impl Iterator<Item = String> + '_ {
    t.launches.iter().map(|r| kernel_name(t, r))
}

/// The kernel name of a launch; empty if the trace does not have it.
pub fn kernel_name(t: &Trace, r: &Recording) -> String {
    let function =
        t.modules.get(r.launch.module.index()).and_then(|m| m.functions.get(r.launch.kernel.index()));
    function.map_or_else(String::new, |f| f.name.clone())
}

/// The launches of a trace with the numbers that users give them, in ascending order.
///
/// Launches of a program are numbered as the process made them. Other traces number theirs from 0.
pub fn launches_by_number(t: &Trace) -> Vec<(u64, &Recording)> {
    let number = |(i, r): (u64, &Recording)| if t.process.is_some() { r.launch.number } else { i };
    let mut all: Vec<_> = (0u64..).zip(&t.launches).map(|(i, r)| (number((i, r)), r)).collect();
    all.sort_by_key(|(number, _)| *number);
    all
}

/// Reads a file of a session. In a folder, a file that cannot be read becomes a trace that is cut at its
/// start.
///
/// # Errors
/// If a single recording cannot be read.
pub fn read_file(session: &Session, i: usize) -> Result<Trace> {
    let file = &session.files[i];
    match session.read(file) {
        Err(e) if session.is_folder() => {
            let cut = prlx_trace::Error { offset: 0, field: "file".into(), what: e.message };
            Ok(Trace { process: file.process.clone(), cut: Some(cut), ..Trace::default() })
        }
        trace => Ok(trace?),
    }
}
