//! Runs a program with the recorder loaded into it, and completes its recording.
//!
//! # Invariants
//! - The program has the user's standard streams, unless the caller needs standard output itself.
//! - A folder that is not empty is never written to.
//!
//! # Limitations
//! - Processes that the program leaves behind are not in the index.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use prlx_analyze::survey::Survey;
use prlx_driver::LAUNCH_FILE;
use prlx_driver::session::{Options, ProcessEntry, Session, SessionIndex, VARIABLE, captured_launch};
use prlx_trace::Nanos;

use super::supervisor::Supervisor;
use super::tuning::TunerChoices;
use super::{environment, library, session_folder, start_error};
use crate::Monitor;
use crate::monitor::Event;
use crate::summary::SessionSummary;

/// What happens to the program's standard streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramOutput {
    /// The program has this process's streams.
    Inherited,
    /// Standard output goes to standard error, and there is no input: the caller prints a report itself.
    ToStderr,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    /// A signal to this process asks for an end of all work.
    pub stopped: bool,
    /// Number of processes of the program that used CUDA, and so have a recording.
    pub processes: u64,
}

impl Ended {
    /// The program's exit code; after a signal, 128 plus its number, as shells report it.
    pub fn exit_code(&self) -> u8 {
        self.status.code().or(self.status.signal().map(|s| 128 + s)).unwrap_or(2) as u8
    }
    /// How it failed, as the rest of a sentence; `None` if it succeeded.
    pub fn failure(&self) -> Option<String> {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("ended with exit code {code}")),
            (None, Some(signal)) => Some(format!("was ended by signal {signal}")),
            (None, None) => Some("ended in an unknown way".into()),
        }
    }
}

/// Runs a program under the recorder, waits for it, and writes the session's index.
///
/// If there are `choices` of autotuners, and the environment may be changed, the program makes these again.
///
/// Reports an [`Event::Recorded`] at the end, or a warning if nothing was recorded.
///
/// # Errors
/// If the folder is not empty or not writable, the recorder's library is missing, or the program does not
/// start.
pub fn run_program(
    command: &[OsString],
    options: &Options,
    output: ProgramOutput,
    supervisor: &Supervisor,
    choices: Option<&TunerChoices>,
    monitor: &Monitor<'_>,
) -> Result<Ended> {
    let Some((program, args)) = command.split_first() else { bail!("no program to run") };
    let library = library::find()?;
    let made = session_folder::prepare(&options.folder)?;
    let folder = &options.folder;
    let options = Options { folder: std::path::absolute(folder)?, ..options.clone() };
    let mut child = Command::new(program);
    child.args(args).env("LD_PRELOAD", library::ld_preload(&library)?).env(VARIABLE, options.to_variable()?);
    library::receive_nvtx(&mut child, &library);
    if options.keep_ptx {
        let variables = environment::variables(&|name| std::env::var_os(name));
        if output == ProgramOutput::Inherited && !variables.is_empty() {
            let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
            let what = "are set for the program, so that its compilers keep PTX (--no-env leaves them alone)";
            monitor.note(&format!("{} {what}", names.join(", ")));
        }
        environment::make_folders(&variables);
        child.envs(variables);
        child.envs(choices.map(|c| c.variables(&|name| std::env::var_os(name))).unwrap_or_default());
    }
    if output == ProgramOutput::ToStderr {
        child.stdin(Stdio::null()).stdout(io::stderr());
    }
    let started = Instant::now();
    let (status, stopped) = supervisor.run(&mut child).map_err(|e| {
        if made {
            let _ = std::fs::remove_dir(folder);
        }
        start_error::explain(program, &e)
    })?;
    let nanos = Nanos::from(started.elapsed());
    let words = command.iter().map(|w| w.to_string_lossy().into_owned()).collect();
    // The program's exit code stays its own, even if the index cannot be written.
    // A caller that prints a report uses captured launches itself.
    let announced = output == ProgramOutput::Inherited;
    let processes = match conclude(folder, words, (status, nanos), (&options, announced), monitor) {
        Ok(processes) => processes,
        Err(e) => {
            monitor.warn(&format!("{e:#}"));
            0
        }
    };
    Ok(Ended { status, stopped, processes })
}

/// Runs a program as [`run_program`] does, and once more if an autotuner chose something in this run that was
/// not among the choices.
///
/// # Errors
/// Those of [`run_program`].
pub fn run_with_choices(
    command: &[OsString],
    options: &Options,
    output: ProgramOutput,
    (supervisor, choices): (&Supervisor, &TunerChoices),
    monitor: &Monitor<'_>,
) -> Result<Ended> {
    let run = || run_program(command, options, output, supervisor, Some(choices), monitor);
    let before = choices.count();
    let ended = run()?;
    if ended.stopped || ended.failure().is_some() || choices.count() == before {
        return Ok(ended);
    }
    monitor.note("an autotuner chose kernels by time: the program runs again with the same choices");
    session_folder::remove_recording(&options.folder)?;
    run()
}

/// The launch files of captured launches.
fn captured(session: &Session) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&session.path).into_iter().flatten().flatten() {
        let number = captured_launch(&entry.path());
        all.extend(number.map(|n| (n, entry.path().join(LAUNCH_FILE))).filter(|(_, file)| file.is_file()));
    }
    all.sort();
    all.into_iter().map(|(_, file)| file).collect()
}

/// Removes the folder of a program that recorded nothing, for a caller that does not read it.
pub fn discard_empty_recording(folder: &Path, ended: &Ended) {
    if ended.processes == 0 {
        session_folder::discard_leftover(folder);
    }
}

/// Writes the index, and reports what was recorded; captured launches only if `announced`. Returns the number
/// of processes with a recording.
fn conclude(
    folder: &Path,
    command: Vec<String>,
    (status, nanos): (ExitStatus, Nanos),
    (options, announced): (&Options, bool),
    monitor: &Monitor<'_>,
) -> Result<u64> {
    let write = |entries| {
        SessionIndex::new(command.clone(), status.code(), status.signal(), nanos, entries)
            .write(folder)
            .with_context(|| format!("cannot write the index of {}", folder.display()))
    };
    write(Vec::new())?;
    let session = Session::open(folder)?;
    let mut survey = Survey::default();
    let mut entries = Vec::new();
    for file in &session.files {
        let trace = session.read_index(file);
        let entry = ProcessEntry::new(file, &trace);
        if let Some(why) = &entry.incomplete {
            monitor.warn(&format!("{}: incomplete, later launches are missing: {why}", entry.file));
        }
        entries.push(entry);
        if let Ok(trace) = trace {
            survey.add(&trace);
        }
    }
    let (launches, recorded) = entries.iter().fold((0, 0), |n, e| (n.0 + e.launches, n.1 + e.recorded));
    let processes = entries.len() as u64;
    write(entries)?;
    if processes == 0 {
        let why = match prlx_driver::cuda::installation() {
            Err(e) => format!("no usable CUDA driver: {}", e.message),
            Ok(_) => "no process of the program used the CUDA driver".to_owned(),
        };
        monitor.warn(&format!("nothing was recorded: {why}"));
        return Ok(0);
    }
    monitor.send(Event::Recorded(&SessionSummary {
        folder: folder.to_owned(),
        level: options.level,
        markers: options.markers.is_some(),
        processes,
        launches,
        recorded,
        captured: if announced { captured(&session) } else { Vec::new() },
        survey,
    }));
    Ok(processes)
}
