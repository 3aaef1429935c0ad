//! `prlx repeat`: runs one thing many times, puts runs that came out the same together, and says where the others part.
//!
//! Holds: of each outcome one recording is kept while it works, so disk and memory are in proportion to the outcomes, not to
//! the runs. On the CPU device, run `n` has the seed `n` after the launch file's, so that each can be had again.
//!
//! Where an outcome parts from the first, both runs are run again on the CPU device, to see the operands there.
//!
//! Misses: a GPU and a program have no run twice, so their operands are not seen; outcomes are told apart by digests of what was recorded; digests that differ for what decoding shows to be the same
//! are put together if that shows against the most frequent outcome.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_analyze::runs::repeats::{Repeats, RunOutcome};
use prlx_analyze::{DiffOptions, Report, Verdict};
use prlx_driver::Job;
use prlx_driver::session::Session;

use crate::args::{DeviceArgs, Machine, RepeatArgs};
use crate::commands::compare::{self, Folder};
use crate::commands::record::save;
use crate::program::{self, Output, Supervisor};
use crate::record;
use crate::report;
use crate::ui::Ui;

/// Runs of an outcome that are named.
const NAMED: usize = 8;
/// Outcomes that are compared with the first.
const COMPARED: usize = 16;
/// Findings of each that are looked at closer.
const ZOOMS: usize = 1;

/// What runs have in common that came out the same.
#[derive(PartialEq)]
struct Key {
    digest: Option<u64>,
    ended: Option<String>,
}

/// Runs that came out the same.
struct Group {
    key: Key,
    recording: PathBuf,
    outcome: RunOutcome,
}

/// Runs it, and prints what came of it; the exit code is the verdict's.
pub fn run(args: &RepeatArgs, ui: &Ui) -> Result<ExitCode> {
    if args.file.is_some()
        && let Some(name) = args.choice.given()
    {
        bail!("{name} is for programs: a launch file has one launch");
    }
    let kept = match &args.keep {
        Some(folder) => {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
            Folder::kept(folder)
        }
        None => Folder::passing()?,
    };
    let thing = match &args.file {
        Some(file) => Thing::File(Box::new(record::load(file, &args.device)?)),
        None => Thing::Program(&args.program, Supervisor::new()?),
    };
    let command = match &args.file {
        Some(file) => file.display().to_string(),
        None => args.program.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" "),
    };
    let bar = ui.bar(args.runs, "running");
    let mut groups: Vec<Group> = Vec::new();
    for n in 0..args.runs {
        let recording = kept.path.join(format!("run-{n}.prlx"));
        let ended = thing.run(n, &recording, args, ui)?;
        let (digest, launches) = Session::open(&recording)?.root();
        let key = Key { digest, ended };
        match groups.iter_mut().find(|g| g.key == key && key.digest.is_some()) {
            Some(g) => {
                add(&mut g.outcome, n);
                if args.keep.is_none() {
                    remove(&recording)?;
                }
            }
            None => {
                let mut outcome = RunOutcome {
                    digest: digest.map(|d| format!("{d:016x}")),
                    ended: key.ended.clone(),
                    launches,
                    kept: args.keep.as_ref().map(|_| recording.display().to_string()),
                    ..RunOutcome::default()
                };
                add(&mut outcome, n);
                groups.push(Group { key, recording, outcome });
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    groups.sort_by_key(|g| (Reverse(g.outcome.runs), g.outcome.first[0]));
    // What the run can be had again by.
    let name = |n: u64| match &thing {
        Thing::File(job) if args.device.device == Machine::Cpu => {
            format!("{command} --seed {}", seeded(job, n, &args.device).config.seed)
        }
        _ => format!("run {n}"),
    };
    let closer = |report: &mut Report, runs: [u64; 2]| match &thing {
        Thing::File(job) if args.device.device == Machine::Cpu => {
            let jobs = runs.map(|n| seeded(job, n, &args.device));
            compare::closer(report, &jobs, ZOOMS, &args.recorder, &args.device, ui)
        }
        _ => Ok(()),
    };
    let found = parted(groups, command.clone(), &name, &closer, args, ui)?;
    let mut out = io::stdout().lock();
    if args.json {
        prlx_present::repeats_json(&mut out, &found)?;
    } else {
        prlx_present::repeats(&mut out, &found, &ui.style())?;
    }
    out.flush()?;
    Ok(ExitCode::from(found.verdict.exit_code()))
}

/// Counts one more run, the latest.
fn add(outcome: &mut RunOutcome, n: u64) {
    outcome.runs += 1;
    if outcome.first.len() < NAMED {
        outcome.first.push(n);
    }
}

/// What is run.
enum Thing<'a> {
    File(Box<Job>),
    Program(&'a [OsString], Supervisor),
}

impl Thing<'_> {
    /// Runs it once more, and says how it ended if it did not end well.
    fn run(&self, n: u64, recording: &Path, args: &RepeatArgs, ui: &Ui) -> Result<Option<String>> {
        match self {
            Thing::File(job) => {
                let job = seeded(job, n, &args.device);
                let program = record::program(&args.recorder, record::warps_per_cta(&job));
                let (trace, _) = record::record(&job, &program, &args.recorder, &args.device, ui)?;
                save(&trace, recording)?;
                Ok(trace
                    .launches
                    .iter()
                    .find_map(|l| l.launch.fault.as_ref())
                    .map(|f| f.kind.name().to_owned()))
            }
            Thing::Program(command, supervisor) => {
                let options = program::options(&args.recorder, &args.choice, &args.device, recording)?;
                let ended = program::run(command, &options, Output::Aside, supervisor, ui)?;
                if ended.stopped {
                    bail!("stopped by a signal, while run {n} ran");
                }
                Ok(ended.failure())
            }
        }
    }
}

/// The launch of run `n`: a GPU never has the same schedule twice, the CPU device has another one under another seed.
fn seeded(job: &Job, n: u64, device: &DeviceArgs) -> Job {
    let mut job = job.clone();
    if device.device == Machine::Cpu {
        job.config.seed = job.config.seed.wrapping_add(n);
    }
    job
}

fn remove(recording: &Path) -> io::Result<()> {
    if recording.is_dir() { fs::remove_dir_all(recording) } else { fs::remove_file(recording) }
}

/// Compares each outcome with the first; those that are the same after all are put together.
fn parted(
    mut groups: Vec<Group>,
    command: String,
    name: &dyn Fn(u64) -> String,
    closer: &dyn Fn(&mut Report, [u64; 2]) -> Result<()>,
    args: &RepeatArgs,
    ui: &Ui,
) -> Result<Repeats> {
    let options = DiffOptions { findings: args.findings.max(1), ..DiffOptions::default() };
    let open = |g: &Group| Session::open(&g.recording);
    let compare = |a: &Group, b: &Group| -> Result<Report> {
        let names = [a, b].map(|g| name(g.outcome.first[0]));
        Ok(report::sessions(&[open(a)?, open(b)?], names, &[], options.clone(), None, ui)?.0)
    };
    let mut first = groups.remove(0);
    let (mut rest, mut compared) = (Vec::new(), 0);
    for mut g in groups {
        if compared < COMPARED {
            let mut report = compare(&first, &g)?;
            if report.verdict == Verdict::Same && g.key.ended == first.key.ended {
                first.outcome.runs += g.outcome.runs;
                first.outcome.first.extend(g.outcome.first);
                first.outcome.first.sort_unstable();
                first.outcome.first.truncate(NAMED);
                continue;
            }
            compared += 1;
            closer(&mut report, [first.outcome.first[0], g.outcome.first[0]])?;
            g.outcome.report = Some(report);
        }
        rest.push(g);
    }
    let alone = if rest.is_empty() { Some(compare(&first, &first)?) } else { None };
    let differs = |g: &Group| {
        let known = g.outcome.report.as_ref().map_or(Verdict::Unknown, |r| r.verdict);
        if g.key.ended != first.key.ended { Verdict::Differs } else { known }
    };
    let of_alone = alone.as_ref().map_or(Verdict::Same, |r| r.verdict);
    let verdict = rest.iter().map(differs).fold(of_alone, Verdict::max);
    rest.sort_by_key(|g| (Reverse(g.outcome.runs), g.outcome.first[0]));
    let outcomes = std::iter::once(first).chain(rest).map(|g| g.outcome).collect();
    Ok(Repeats { verdict, command, runs: args.runs, outcomes, alone })
}
