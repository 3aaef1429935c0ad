//! Runs launch files under many schedules, groups equal outcomes, and compares the two most frequent ones.
//!
//! # Invariants
//! - A run is one seed on a CPU device of one host thread, so it has the same outcome each time. The result
//!   does not depend on how many runs work side by side.
//! - Inputs are the launch file's under every seed.
//! - Memory is in proportion to the number of outcomes, not of runs.
//!
//! # Limitations
//! - An outcome is what the outputs hold at the end, by their bits. Outcomes within the tolerance of the most
//!   frequent one are joined with it. Runs that take different paths to the same outputs, or print different
//!   text, count as equal.
//! - Stopped runs are grouped by how they were stopped (a fault, or stuck), not by where.
//! - Findings of checks are joined by kind, allocation and places. The first run with a finding gives its
//!   threads and counts.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use prlx_analyze::Verdict;
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::Fault;
use prlx_analyze::runs::schedules::{OutputContent, ScheduleOutcome, ScheduleRun, Schedules};
use prlx_driver::job::ArgValue;
use prlx_driver::{Error, ErrorKind, Job, Output, element};
use prlx_trace::Printed;
use prlx_trace::check::Findings;
use prlx_trace::kernel::FaultKind;
use prlx_trace::names::display_name;

use crate::Monitor;
use crate::compare::{CompareOptions, compare_launch_files, compare_outputs};
use crate::device::{Device, DeviceChoice, DeviceOptions};
use crate::joined_findings::JoinedFindings;
use crate::record::{load, with_seed};

/// Runs that are listed for each outcome.
const LISTED_RUNS: usize = 8;
/// Elements that are listed for each output.
const LISTED_ELEMENTS: usize = 6;

/// How a run ended; runs of one outcome have equal endings.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Ending {
    /// It completed: names and digests of the outputs.
    Outputs(Vec<(String, u64)>),
    /// It was stopped.
    Stopped { stuck: bool },
}

/// Runs with equal endings.
#[derive(Default)]
struct Group {
    runs: u64,
    /// Numbers of the first runs, ascending.
    first: Vec<u64>,
    /// What stopped the first run.
    fault: Option<Fault>,
    /// What its outputs hold.
    outputs: Vec<OutputContent>,
    /// What the first run printed.
    printed: Printed,
    /// Number of its runs whose outputs have other bits, within the tolerance.
    within_tolerance: u64,
}

impl Group {
    fn add(&mut self, n: u64, result: RunResult) {
        self.runs += 1;
        let at = self.first.partition_point(|m| *m < n);
        if at == 0 {
            (self.fault, self.outputs, self.printed) = (result.fault, result.outputs, result.printed);
        }
        self.first.insert(at, n);
        self.first.truncate(LISTED_RUNS);
    }

    /// Adds the runs of a group whose outputs are equal to this one's within the tolerance.
    fn join(&mut self, other: Group) {
        self.runs += other.runs;
        self.within_tolerance += other.runs;
        self.first.extend(other.first);
        self.first.truncate(LISTED_RUNS);
    }
}

/// The result of one run.
struct RunResult {
    ending: Ending,
    fault: Option<Fault>,
    outputs: Vec<OutputContent>,
    printed: Printed,
    findings: Findings,
}

/// Runs the launch files, one or two, under every seed, with the checks that the options choose, and compares
/// the first runs of the two most frequent outcomes.
///
/// # Errors
/// If the options choose a GPU, a file cannot be read or has neither outputs nor checks, or a run fails for
/// another reason than a fault.
pub fn explore(
    files: &[&Path],
    seeds: &Range<u64>,
    options: &CompareOptions,
    monitor: &Monitor<'_>,
) -> Result<Schedules> {
    let device = &options.device;
    if device.device != DeviceChoice::Cpu {
        bail!("--seeds needs the CPU device: PRLX cannot choose the schedule of a GPU");
    }
    let jobs = files.iter().map(|f| load(f, device)).collect::<Result<Vec<Job>>>()?;
    let (mut groups, findings) = run_all(&jobs, seeds, device, monitor)?;
    // The checks have seen all runs.
    let device = &DeviceOptions { check: None, ..device.clone() };
    let run = |n: u64| ScheduleRun {
        file: (n % files.len() as u64) as usize,
        seed: seeds.start + n / files.len() as u64,
    };
    let job = |n: u64| with_seed(&jobs[run(n).file], run(n).seed);
    join_within_tolerance(&mut groups, job, device, options.tolerance, monitor)?;
    let report = match &groups[..] {
        [(_, a), (_, b), ..] => {
            let runs = [run(a.first[0]), run(b.first[0])];
            let names = runs.map(|r| format!("{} --seed {}", files[r.file].display(), r.seed));
            let jobs = [a, b].map(|g| job(g.first[0]));
            let device = DeviceOptions { threads: Some(1), ..device.clone() };
            let options = CompareOptions { device, ..options.clone() };
            let report = compare_launch_files(&jobs, names, &options, monitor)?.report;
            if report.verdict == Verdict::Same {
                // It would be a bug of the CPU device.
                monitor
                    .warn("the two recordings agree although the runs did not: replaying a schedule failed");
            }
            Some(report)
        }
        _ => None,
    };
    let verdict = match &groups[..] {
        [(Ending::Outputs(_), _)] => Verdict::Same,
        [_] => Verdict::Unknown,
        _ => Verdict::Differs,
    };
    let outcomes = groups.into_iter().map(|(_, g)| ScheduleOutcome {
        runs: g.runs,
        first: g.first.iter().map(|n| run(*n)).collect(),
        fault: g.fault,
        outputs: g.outputs,
        printed: g.printed,
        within_tolerance: g.within_tolerance,
    });
    Ok(Schedules {
        verdict,
        files: files.iter().map(|f| f.display().to_string()).collect(),
        kernel: jobs[0].kernel.clone(),
        seeds: [seeds.start, seeds.end],
        runs: (seeds.end - seeds.start) * files.len() as u64,
        outcomes: outcomes.collect(),
        report,
        checks: options.device.check.map(|_| findings.finish(run)),
    })
}

/// Whether an output of some run is not what its launch file expects.
pub fn unexpected(schedules: &Schedules) -> bool {
    schedules.outcomes.iter().flat_map(|o| &o.outputs).any(|o| o.wrong.is_some_and(|n| n > 0))
}

/// Runs every job under every seed and groups equal endings: the most frequent first, then the one that came
/// first. Also returns what the checks found. Run `n` is that of job `n % jobs.len()` under the seed
/// `n / jobs.len()` after the first.
fn run_all(
    jobs: &[Job],
    seeds: &Range<u64>,
    device: &DeviceOptions,
    monitor: &Monitor<'_>,
) -> Result<(Vec<(Ending, Group)>, JoinedFindings)> {
    let files = jobs.len() as u64;
    let runs = (seeds.end - seeds.start).saturating_mul(files);
    let activity = monitor.steps(runs, &format!("running {}", display_name(&jobs[0].kernel)));
    let next = AtomicU64::new(0);
    let groups: Mutex<BTreeMap<Ending, Group>> = Mutex::default();
    let findings = Mutex::new(JoinedFindings::new(LISTED_RUNS));
    // Runs start in ascending order, so the lowest one that fails always runs.
    let failed: Mutex<Option<(u64, anyhow::Error)>> = Mutex::new(None);
    let work = || {
        loop {
            let n = next.fetch_add(1, SeqCst);
            if n >= runs {
                break;
            }
            let job = with_seed(&jobs[(n % files) as usize], seeds.start + n / files);
            match monitor.check().and_then(|()| run_one(&job, device)) {
                Ok((mut result, _)) => {
                    if let Ok(mut findings) = findings.lock() {
                        findings.add(n, std::mem::take(&mut result.findings));
                    }
                    if let Ok(mut groups) = groups.lock() {
                        groups.entry(result.ending.clone()).or_default().add(n, result);
                    }
                }
                Err(e) => {
                    next.fetch_max(runs, SeqCst);
                    if let Ok(mut failed) = failed.lock()
                        && failed.as_ref().is_none_or(|(i, _)| *i > n)
                    {
                        *failed = Some((n, e));
                    }
                }
            }
            activity.step();
        }
    };
    let threads = device.threads.filter(|n| *n > 0);
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    std::thread::scope(|s| {
        for _ in 0..threads.min(usize::try_from(runs).unwrap_or(usize::MAX)) {
            s.spawn(work);
        }
    });
    drop(activity);
    if let Some((_, e)) = failed.into_inner().unwrap_or(None) {
        return Err(e);
    }
    let mut all: Vec<_> = groups.into_inner().unwrap_or_default().into_iter().collect();
    all.sort_by_key(|(_, g)| (Reverse(g.runs), g.first[0]));
    Ok((all, findings.into_inner().unwrap_or_else(PoisonError::into_inner)))
}

/// Joins outcomes whose outputs are equal within the tolerance to those of the most frequent outcome that
/// has outputs. The first run of each is made again for its outputs. Does nothing without a tolerance.
fn join_within_tolerance(
    groups: &mut Vec<(Ending, Group)>,
    job: impl Fn(u64) -> Job,
    device: &DeviceOptions,
    tolerance: Option<Tolerance>,
    monitor: &Monitor<'_>,
) -> Result<()> {
    let ended = |(ending, _): &(Ending, Group)| matches!(ending, Ending::Outputs(_));
    let Some(at) = groups.iter().position(ended) else { return Ok(()) };
    let again = |group: &Group| -> Result<(Job, Vec<Output>)> {
        monitor.check()?;
        let job = job(group.first[0]);
        let outputs = run_one(&job, device)?.1;
        Ok((job, outputs))
    };
    let (a, kept) = (job(groups[at].1.first[0]), groups.split_off(at + 1));
    let exact = tolerance.unwrap_or_default().is_exact() && !states_tolerance(&a);
    let reference = if exact || kept.is_empty() { None } else { Some(again(&groups[at].1)?) };
    for (ending, group) in kept {
        let joined = match (&reference, &ending) {
            (Some((a, x)), Ending::Outputs(_)) => {
                let (b, y) = again(&group)?;
                let compared = compare_outputs(&[a.clone(), b], [x, &y], tolerance);
                !compared.is_empty() && compared.iter().all(|(output, _)| output.agrees())
            }
            _ => false,
        };
        if joined {
            groups[at].1.join(group);
        } else {
            groups.push((ending, group));
        }
    }
    groups.sort_by_key(|(_, g)| (Reverse(g.runs), g.first[0]));
    Ok(())
}

/// Whether a launch file states a tolerance for one of its outputs.
fn states_tolerance(job: &Job) -> bool {
    job.args.iter().any(|arg| match &arg.value {
        ArgValue::Buffer(buffer) => buffer.expect.as_ref().is_some_and(|e| e.rtol > 0.0 || e.atol > 0.0),
        _ => false,
    })
}

/// Runs a job. Also returns its outputs; empty if it was stopped.
fn run_one(job: &Job, device: &DeviceOptions) -> Result<(RunResult, Vec<Output>)> {
    let checked = device.check.is_some();
    let mut device = Device::open(&DeviceOptions { threads: Some(1), ..device.clone() })?;
    let done = prlx_driver::run(device.driver(), job);
    let printed = device.take_printed();
    let findings = device.findings(job);
    match done {
        Ok(done) if done.outputs.is_empty() && !checked => {
            let e = Error::new(ErrorKind::File, format!("{}: no argument has `out` or `expect`", job.name));
            Err(e
                .help("mark the outputs with `out = true`: PRLX compares schedules by them; or add --check")
                .into())
        }
        Ok(done) => {
            let digests = done.outputs.iter().map(|o| (o.name.clone(), o.digest())).collect();
            let outputs = done.outputs.iter().map(content).collect();
            let ending = Ending::Outputs(digests);
            Ok((RunResult { ending, fault: None, outputs, printed, findings }, done.outputs))
        }
        Err(e) => match e.kind {
            ErrorKind::Fault | ErrorKind::Stuck => {
                let stuck = e.kind == ErrorKind::Stuck;
                let kind = if stuck { FaultKind::Stuck } else { FaultKind::Fault };
                let fault = Some(Fault { kind, text: e.message });
                let ending = Ending::Stopped { stuck };
                Ok((RunResult { ending, fault, outputs: Vec::new(), printed, findings }, Vec::new()))
            }
            _ => Err(e.into()),
        },
    }
}

fn content(o: &Output) -> OutputContent {
    OutputContent {
        name: o.name.clone(),
        digest: format!("{:016x}", o.digest()),
        elements: o.shape.iter().product(),
        first: (0..LISTED_ELEMENTS)
            .map_while(|i| element::get(o.ty, &o.bytes, i))
            .map(|b| element::show(o.ty, b))
            .collect(),
        wrong: o.expect.as_ref().map(|c| c.wrong),
    }
}
