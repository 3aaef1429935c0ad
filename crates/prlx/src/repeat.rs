//! Runs a launch file or a program many times, groups equal outcomes, and compares each group with the
//! largest.
//!
//! # Invariants
//! - One recording is kept for each outcome, so disk and memory are in proportion to the outcomes, not to the
//!   runs.
//! - On the CPU device, run `n` has the seed `n` after the launch file's, so that each run can be made again.
//!   Both runs of a comparison are then made again to see the operands and to find the cause.
//!
//! - Runs of a program are compared by hashes of all launches, and by digests of the memory behind launches
//!   without PTX. Where these differ, the program runs again, as in `compare`.
//!
//! # Limitations
//! - A GPU never runs twice in the same way, so findings of a launch file there have no operands and no
//!   cause.
//! - Outcomes differ if the digests of their recordings differ. If two digests differ and decoding shows
//!   equal behaviour, the outcomes are joined; this is noticed against the most frequent outcome only.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::runs::repeats::{Repeats, RunOutcome};
use prlx_analyze::{DiffOptions, Report, Verdict};
use prlx_driver::Job;
use prlx_driver::session::Session;
use prlx_trace::Printed;

use crate::Monitor;
use crate::compare::{CompareOptions, RunPair, compare_launch_files, compare_runs, first_run};
use crate::device::{DeviceChoice, DeviceOptions};
use crate::diff::diff_sessions;
use crate::record::{
    self, LaunchSelection, ProgramOutput, RecorderOptions, RecordingFolder, Supervisor, TunerChoices,
    run_with_choices, session_options, with_seed,
};

/// Runs that are listed for each outcome.
const LISTED_RUNS: usize = 8;
/// Outcomes that are compared with the most frequent one.
const COMPARED_OUTCOMES: usize = 16;

/// What to run.
#[derive(Debug)]
pub enum Subject {
    /// A launch file, by its path.
    LaunchFile(PathBuf),
    /// A program and its arguments.
    Program(Vec<OsString>),
}

/// How to run, record and compare.
#[derive(Debug)]
pub struct RepeatOptions {
    /// Number of runs.
    pub runs: u64,
    /// What to record.
    pub recorder: RecorderOptions,
    /// Which launches of a program to record.
    pub selection: LaunchSelection,
    /// Where a launch file runs.
    pub device: DeviceOptions,
    /// Findings of each launch that a report holds.
    pub findings: usize,
    /// Count as differences also what only the schedule decides ([`DiffOptions::strict`]).
    pub strict: bool,
    /// How far elements of outputs may be apart ([`CompareOptions::tolerance`]).
    pub tolerance: Option<Tolerance>,
    /// Compare runs of a program by hashes, and run it again where they differ ([`CompareOptions::survey`]).
    pub survey: bool,
    /// Keep all recordings in this folder.
    pub keep: Option<PathBuf>,
    /// Overwrite the recordings of programs that are there. Files of launch files are always overwritten.
    pub force: bool,
}

/// What runs of the same outcome have in common.
#[derive(PartialEq)]
struct OutcomeKey {
    digest: Option<u64>,
    failure: Option<String>,
}

/// Runs of the same outcome, with the recording of the first.
struct Group {
    key: OutcomeKey,
    recording: PathBuf,
    outcome: RunOutcome,
}

impl Group {
    fn first_run(&self) -> u64 {
        self.outcome.first[0]
    }
}

/// Runs the subject and compares the outcomes.
///
/// # Errors
/// If a run cannot be made or recorded, a signal asks for an end, or recordings cannot be compared.
pub fn repeat(subject: &Subject, options: &RepeatOptions, monitor: &Monitor<'_>) -> Result<Repeats> {
    let folder = RecordingFolder::create(options.keep.as_deref(), "repeat")?;
    let runner = Runner::new(subject, options, &folder)?;
    let groups = runner.run_all(monitor)?;
    runner.compare(groups, monitor)
}

/// Runs the subject, once at a time.
struct Runner<'a> {
    source: Source<'a>,
    /// What the user calls the subject.
    name: String,
    options: &'a RepeatOptions,
    /// Where recordings go.
    folder: &'a Path,
}

/// The subject, loaded.
enum Source<'a> {
    LaunchFile(Box<Job>),
    Program(&'a [OsString], Supervisor, TunerChoices),
}

impl<'a> Runner<'a> {
    fn new(subject: &'a Subject, options: &'a RepeatOptions, folder: &'a Path) -> Result<Runner<'a>> {
        let (source, name) = match subject {
            Subject::LaunchFile(file) => {
                let job = record::load(file, &options.device)?;
                (Source::LaunchFile(Box::new(job)), file.display().to_string())
            }
            Subject::Program(command) => {
                let words = command.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>();
                (Source::Program(command, Supervisor::new()?, TunerChoices::below(folder)?), words.join(" "))
            }
        };
        Ok(Runner { source, name, options, folder })
    }

    /// Makes all runs; returns the groups, the most frequent first.
    fn run_all(&self, monitor: &Monitor<'_>) -> Result<Vec<Group>> {
        let keep = self.options.keep.is_some();
        let activity = monitor.steps(self.options.runs, "running");
        let mut groups: Vec<Group> = Vec::new();
        for n in 0..self.options.runs {
            monitor.check()?;
            let recording = self.folder.join(format!("run-{n}.prlx"));
            let (failure, printed) = self.run(n, &recording, monitor)?;
            let (digest, launches) = Session::open(&recording)?.root();
            let key = OutcomeKey { digest, failure };
            match groups.iter_mut().find(|g| g.key == key && key.digest.is_some()) {
                Some(g) => {
                    count_run(&mut g.outcome, n);
                    if !keep {
                        remove(&recording)?;
                    }
                }
                None => {
                    let mut outcome = RunOutcome {
                        digest: digest.map(|d| format!("{d:016x}")),
                        ended: key.failure.clone(),
                        launches,
                        printed,
                        kept: keep.then(|| recording.display().to_string()),
                        ..RunOutcome::default()
                    };
                    count_run(&mut outcome, n);
                    groups.push(Group { key, recording, outcome });
                }
            }
            activity.step();
        }
        groups.sort_by_key(|g| (Reverse(g.outcome.runs), g.first_run()));
        Ok(groups)
    }

    /// Makes one run. Returns how it failed, if it did, and what a launch file's kernel printed.
    fn run(&self, n: u64, recording: &Path, monitor: &Monitor<'_>) -> Result<(Option<String>, Printed)> {
        let options = self.options;
        match &self.source {
            Source::LaunchFile(job) => {
                let job = self.job_of_run(job, n);
                let program =
                    record::recorder_program(&options.recorder, record::warps_per_cta(&job, &options.device));
                let recorded = record::record(&job, &program, &options.recorder, &options.device, monitor)?;
                let mut trace = recorded.trace;
                record::store_outputs(&mut trace, &job, &recorded.outputs, &options.recorder)?;
                record::save(&trace, recording)?;
                let fault = trace.launches.iter().find_map(|l| l.launch.fault.as_ref());
                Ok((fault.map(|f| f.kind.name().to_owned()), recorded.printed))
            }
            Source::Program(command, supervisor, choices) => {
                let session = match options.survey {
                    true => first_run(&self.compare_options(), &options.selection, recording)?,
                    false => session_options(&options.recorder, &options.selection, recording)?,
                };
                if options.force {
                    record::remove_recording(recording)?;
                }
                let with = (supervisor, choices);
                let ended = run_with_choices(command, &session, ProgramOutput::ToStderr, with, monitor)?;
                if ended.stopped {
                    bail!("stopped by a signal, while run {n} ran");
                }
                Ok((ended.failure(), Printed::default()))
            }
        }
    }

    fn on_cpu_device(&self) -> bool {
        self.options.device.device == DeviceChoice::Cpu
    }

    /// The launch of run `n`: on the CPU device each run has a seed of its own.
    fn job_of_run(&self, job: &Job, n: u64) -> Job {
        let seed = job.config.seed;
        with_seed(job, if self.on_cpu_device() { seed.wrapping_add(n) } else { seed })
    }

    /// How the user makes run `n` again, or its number.
    fn run_name(&self, n: u64) -> String {
        match &self.source {
            Source::LaunchFile(job) if self.on_cpu_device() => {
                format!("{} --seed {}", self.name, self.job_of_run(job, n).config.seed)
            }
            _ => format!("run {n}"),
        }
    }

    /// How runs are compared that are made again.
    fn compare_options(&self) -> CompareOptions {
        let RepeatOptions { recorder, device, findings, strict, tolerance, survey, force, .. } = self.options;
        let (strict, tolerance) = (*strict, *tolerance);
        CompareOptions {
            recorder: recorder.clone(),
            device: device.clone(),
            diff: DiffOptions { findings: (*findings).max(1), strict, tolerance, ..DiffOptions::default() },
            tolerance,
            zoom: true,
            survey: *survey,
            force: *force,
            ..CompareOptions::default()
        }
    }

    /// Compares the first runs of two outcomes. On the CPU device, both are made again, so that the report
    /// has operands and causes. Otherwise their recordings are compared, and a program runs again where these
    /// leave doubt: hashes alone do not tell a difference, as the order of atomics may be all that differs,
    /// and they know nothing of what sums by atomics left.
    fn diff(&self, a: &Group, b: &Group, monitor: &Monitor<'_>) -> Result<Report> {
        let names = [a, b].map(|g| self.run_name(g.first_run()));
        let options = self.compare_options();
        if let Source::LaunchFile(job) = &self.source
            && self.on_cpu_device()
            && a.first_run() != b.first_run()
        {
            let jobs = [a, b].map(|g| self.job_of_run(job, g.first_run()));
            return Ok(compare_launch_files(&jobs, names, &options, monitor)?.report);
        }
        let sides = [Session::open(&a.recording)?, Session::open(&b.recording)?];
        let selection = &self.options.selection;
        let diff = DiffOptions { digest_differences: !options.survey, ..options.diff.clone() };
        let report =
            diff_sessions(&sides, names.clone(), (&[], &selection.part), diff, None, monitor)?.report;
        match &self.source {
            Source::Program(command, supervisor, choices)
                if options.survey && report.verdict != Verdict::Same =>
            {
                let folder = &self.folder.join(format!("runs-{}-{}", a.first_run(), b.first_run()));
                fs::create_dir_all(folder)?;
                let pair = RunPair { command, supervisor, choices, sides, names, folder };
                compare_runs(pair, selection, &options, monitor)
            }
            _ => Ok(report),
        }
    }

    /// Compares each outcome with the first, and joins those that turn out to be the same.
    fn compare(&self, mut groups: Vec<Group>, monitor: &Monitor<'_>) -> Result<Repeats> {
        let mut first = groups.remove(0);
        let (mut rest, mut compared) = (Vec::new(), 0);
        for mut g in groups {
            if compared < COMPARED_OUTCOMES {
                monitor.check()?;
                let report = self.diff(&first, &g, monitor)?;
                if report.verdict == Verdict::Same && g.key.failure == first.key.failure {
                    first.outcome.runs += g.outcome.runs;
                    first.outcome.other_digests += g.outcome.runs;
                    if first.outcome.notes.is_empty() {
                        let notes: BTreeSet<String> =
                            report.launches.into_iter().flat_map(|l| l.notes).collect();
                        first.outcome.notes = notes.into_iter().collect();
                    }
                    first.outcome.first.extend(g.outcome.first);
                    first.outcome.first.sort_unstable();
                    first.outcome.first.truncate(LISTED_RUNS);
                    continue;
                }
                compared += 1;
                g.outcome.report = Some(report);
            }
            rest.push(g);
        }
        let alone = if rest.is_empty() { Some(self.diff(&first, &first, monitor)?) } else { None };
        let of_group = |g: &Group| {
            let known = g.outcome.report.as_ref().map_or(Verdict::Unknown, |r| r.verdict);
            if g.key.failure == first.key.failure { known } else { Verdict::Differs }
        };
        let of_alone = alone.as_ref().map_or(Verdict::Same, |r| r.verdict);
        let verdict = rest.iter().map(of_group).fold(of_alone, Verdict::max);
        rest.sort_by_key(|g| (Reverse(g.outcome.runs), g.first_run()));
        let outcomes = std::iter::once(first).chain(rest).map(|g| g.outcome).collect();
        Ok(Repeats { verdict, command: self.name.clone(), runs: self.options.runs, outcomes, alone })
    }
}

/// Adds a run, the latest, to an outcome.
fn count_run(outcome: &mut RunOutcome, n: u64) {
    outcome.runs += 1;
    if outcome.first.len() < LISTED_RUNS {
        outcome.first.push(n);
    }
}

fn remove(recording: &Path) -> io::Result<()> {
    if recording.is_dir() { fs::remove_dir_all(recording) } else { fs::remove_file(recording) }
}
