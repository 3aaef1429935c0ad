//! Many schedules: every seed runs, what came of the runs is put together, and where two outcomes part is looked for.
//!
//! Holds: a run is one seed on a CPU device of one host thread, so it comes out the same each time; what is said does not
//! depend on how many run side by side. Inputs are the launch file's, whatever the seed. What is kept is in proportion to the
//! outcomes, not to the runs.
//!
//! Misses: outcomes are what outputs hold at the end; runs that take other paths to the same outputs count as the same. A
//! run that is stopped counts by how (a fault, or stuck), not by where.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use anyhow::{Result, bail};
use prlx_analyze::Verdict;
use prlx_analyze::report::Fault;
use prlx_analyze::runs::schedules::{OutputContent, ScheduleOutcome, ScheduleRun, Schedules};
use prlx_driver::{Error, ErrorKind, Job, Output, element};
use prlx_trace::kernel::FaultKind;

use crate::args::{CompareArgs, DeviceArgs, Machine};
use crate::commands::compare;
use crate::record;
use crate::ui::Ui;

/// Runs of an outcome that are named.
const NAMED: usize = 8;
/// Elements of an output that are shown.
const SHOWN: usize = 6;

/// How a run ended: what two runs of the same outcome have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Ending {
    /// The outputs: names and digests.
    Outputs(Vec<(String, u64)>),
    /// It was stopped; whether it got stuck.
    Stopped { stuck: bool },
}

/// Runs with the same ending.
struct Group {
    runs: u64,
    /// The lowest numbers of them, ascending.
    first: Vec<u64>,
    /// What stopped the lowest one, or what its outputs hold.
    fault: Option<Fault>,
    outputs: Vec<OutputContent>,
}

impl Group {
    fn add(&mut self, n: u64, fault: Option<Fault>, outputs: Vec<OutputContent>) {
        self.runs += 1;
        let at = self.first.partition_point(|m| *m < n);
        if at == 0 {
            (self.fault, self.outputs) = (fault, outputs);
        }
        self.first.insert(at, n);
        self.first.truncate(NAMED);
    }
}

/// Runs the launch files under every seed, prints what came of it, and where the first two outcomes part. The exit code is
/// the verdict's; with `expect`, it is also 1 if an output is not as the launch file expects.
pub fn run(args: &CompareArgs, seeds: &Range<u64>, expect: bool, ui: &Ui) -> Result<ExitCode> {
    if args.device.device != Machine::Cpu {
        bail!("--seeds are schedules of the CPU device; a GPU has none to choose");
    }
    let mut files: Vec<&Path> = args.a.iter().chain(&args.b).map(PathBuf::as_path).collect();
    files.dedup();
    let jobs = files.iter().map(|f| record::load(f, &args.device)).collect::<Result<Vec<Job>>>()?;
    let groups = explore(&jobs, seeds, &args.device, ui)?;
    let wrong = groups.iter().flat_map(|(_, g)| &g.outputs).any(|o| o.wrong.is_some_and(|n| n > 0));
    let at = |n: u64| ScheduleRun {
        file: (n % files.len() as u64) as usize,
        seed: seeds.start + n / files.len() as u64,
    };
    let report = match &groups[..] {
        [(_, a), (_, b), ..] => Some([at(a.first[0]), at(b.first[0])]),
        _ => None,
    };
    let report = match report {
        Some(runs) => {
            let names = runs.map(|r| format!("{} --seed {}", files[r.file].display(), r.seed));
            let alone = DeviceArgs { threads: Some(1), ..args.device.clone() };
            let jobs = runs.map(|r| seeded(&jobs[r.file], r.seed));
            let report = compare::parted(&jobs, names, args, &alone, ui)?.report;
            if report.verdict == Verdict::Same {
                // It would be a bug of the CPU device.
                ui.warn("the two recordings agree though the runs did not: a schedule did not replay");
            }
            Some(report)
        }
        None => None,
    };
    let verdict = match &groups[..] {
        [(Ending::Outputs(_), _)] => Verdict::Same,
        [_] => Verdict::Unknown,
        _ => Verdict::Differs,
    };
    let outcomes = groups.into_iter().map(|(_, g)| ScheduleOutcome {
        runs: g.runs,
        first: g.first.iter().map(|n| at(*n)).collect(),
        fault: g.fault,
        outputs: g.outputs,
    });
    let found = Schedules {
        verdict,
        files: files.iter().map(|f| f.display().to_string()).collect(),
        kernel: jobs[0].kernel.clone(),
        seeds: [seeds.start, seeds.end],
        runs: (seeds.end - seeds.start) * files.len() as u64,
        outcomes: outcomes.collect(),
        report,
    };
    let mut out = io::stdout().lock();
    if args.report.json {
        prlx_present::schedules_json(&mut out, &found)?;
    } else {
        prlx_present::schedules(&mut out, &found, &ui.style())?;
    }
    Ok(ExitCode::from(if expect && wrong { 1 } else { verdict.exit_code() }))
}

fn seeded(job: &Job, seed: u64) -> Job {
    let mut job = job.clone();
    job.config.seed = seed;
    job
}

/// Runs every job under every seed, and puts equal endings together: the most frequent first, then the one that came first.
/// Run `n` is that of job `n % jobs` under the seed `n / jobs` after the first.
fn explore(jobs: &[Job], seeds: &Range<u64>, device: &DeviceArgs, ui: &Ui) -> Result<Vec<(Ending, Group)>> {
    let files = jobs.len() as u64;
    let runs = (seeds.end - seeds.start).saturating_mul(files);
    let bar = ui.bar(runs, &format!("running {}", jobs[0].kernel));
    let next = AtomicU64::new(0);
    let groups: Mutex<BTreeMap<Ending, Group>> = Mutex::default();
    // Runs are handed out in order, so the lowest that fails is always run.
    let failed: Mutex<Option<(u64, anyhow::Error)>> = Mutex::new(None);
    let work = || {
        loop {
            let n = next.fetch_add(1, SeqCst);
            if n >= runs {
                break;
            }
            let job = seeded(&jobs[(n % files) as usize], seeds.start + n / files);
            match one(&job, device) {
                Ok((ending, fault, outputs)) => {
                    if let Ok(mut groups) = groups.lock() {
                        let none = Group { runs: 0, first: Vec::new(), fault: None, outputs: Vec::new() };
                        groups.entry(ending).or_insert(none).add(n, fault, outputs);
                    }
                }
                Err(e) => {
                    next.fetch_max(runs, SeqCst);
                    if let Ok(mut f) = failed.lock()
                        && f.as_ref().is_none_or(|(i, _)| *i > n)
                    {
                        *f = Some((n, e));
                    }
                }
            }
            bar.inc(1);
        }
    };
    let threads = device.threads.filter(|n| *n > 0);
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    std::thread::scope(|s| {
        for _ in 0..threads.min(usize::try_from(runs).unwrap_or(usize::MAX)) {
            s.spawn(work);
        }
    });
    bar.finish_and_clear();
    if let Some((_, e)) = failed.into_inner().unwrap_or(None) {
        return Err(e);
    }
    let mut all: Vec<_> = groups.into_inner().unwrap_or_default().into_iter().collect();
    all.sort_by_key(|(_, g)| (std::cmp::Reverse(g.runs), g.first[0]));
    Ok(all)
}

/// One run: how it ended; what stopped it, or what its outputs hold.
fn one(job: &Job, device: &DeviceArgs) -> Result<(Ending, Option<Fault>, Vec<OutputContent>)> {
    let mut machine = record::device(&DeviceArgs { threads: Some(1), ..device.clone() })?;
    match prlx_driver::run(machine.driver(), job) {
        Ok(done) if done.outputs.is_empty() => {
            let e = Error::new(ErrorKind::File, format!("{}: no argument has `out` or `expect`", job.name));
            Err(e
                .help("mark what the kernel computes with `out = true`: schedules are told apart by that")
                .into())
        }
        Ok(done) => {
            let digests = done.outputs.iter().map(|o| (o.name.clone(), o.digest())).collect();
            Ok((Ending::Outputs(digests), None, done.outputs.iter().map(content).collect()))
        }
        Err(e) => match e.kind {
            ErrorKind::Fault | ErrorKind::Stuck => {
                let stuck = e.kind == ErrorKind::Stuck;
                let kind = if stuck { FaultKind::Stuck } else { FaultKind::Fault };
                Ok((Ending::Stopped { stuck }, Some(Fault { kind, text: e.message }), Vec::new()))
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
        first: (0..SHOWN)
            .map_while(|i| element::get(o.ty, &o.bytes, i))
            .map(|b| element::show(o.ty, b))
            .collect(),
        wrong: o.expect.as_ref().map(|c| c.wrong),
    }
}
