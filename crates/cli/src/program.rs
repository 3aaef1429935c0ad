//! Runs a program under the recorder that is loaded into it, and says what came of it.
//!
//! Holds: the program has the user's standard streams and gets the signals that are sent to us; its exit code is ours; a folder
//! that has something in it is never written to. Misses: what goes on after the program itself has ended, in processes that it
//! left behind, is not in the index.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use prlx_analyze::survey::Survey;
use prlx_driver::session::{Entry, Index, Options, Pattern, Session, VARIABLE};
use prlx_driver::{Error, ErrorKind};
use prlx_trace::Level;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;

use crate::args::{ChoiceArgs, DeviceArgs, Machine, RecorderArgs};
use crate::ui::Ui;

/// The recorder that is loaded into programs.
const LIBRARY: &str = "libprlx_preload.so";
/// Where it is, if it is neither beside `prlx` nor in `../lib`.
const PLACE: &str = "PRLX_PRELOAD";

/// What the program's output is to us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// What the user runs it for.
    Theirs,
    /// In the way of ours: it goes to standard error, and there is no input.
    Aside,
}

/// How a program ended.
pub struct Ended {
    status: ExitStatus,
    /// Somebody wants an end of it all.
    pub stopped: bool,
}

impl Ended {
    /// Our exit code: the program's own; of a signal 128 and its number, as shells have it.
    pub fn code(&self) -> ExitCode {
        let code = self.status.code().or(self.status.signal().map(|s| 128 + s)).unwrap_or(2);
        ExitCode::from(code as u8)
    }
    /// What is to be said of it, if it did not end well.
    pub fn failure(&self) -> Option<String> {
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("ended with exit code {code}")),
            (None, Some(signal)) => Some(format!("was ended by signal {signal}")),
            (None, None) => Some("ended in an unknown way".into()),
        }
    }
}

/// What to record of a program. What only launch files have is refused.
pub fn options(
    recorder: &RecorderArgs,
    choice: &ChoiceArgs,
    device: &DeviceArgs,
    folder: &Path,
) -> Result<Options> {
    let only_files = [
        ("--function", !recorder.function.is_empty()),
        ("--line", !recorder.line.is_empty()),
        ("--class", !recorder.class.is_empty()),
        ("--warps", recorder.warps.is_some()),
        ("--ctas", recorder.ctas.is_some()),
        ("--rewritten", recorder.rewritten),
        ("--device", device.device != Machine::Cpu),
        ("--seed", device.seed.is_some()),
        ("--check", device.check.is_some()),
        ("--max-steps", device.max_steps.is_some()),
        ("--max-memory", device.max_memory.is_some()),
        ("--threads", device.threads.is_some()),
        ("--timeout", device.timeout.is_some()),
    ];
    if let Some((name, _)) = only_files.into_iter().find(|(_, given)| *given) {
        bail!("{name} is for launch files: a program is recorded as it runs, on the devices that it chooses");
    }
    if recorder.level == Level::Operands {
        bail!("level `operands` records a window around a finding; of a program record another level");
    }
    let plain = Options::new(folder);
    Ok(Options {
        level: recorder.level,
        elide: !recorder.no_elide,
        kernels: patterns(&recorder.kernel)?,
        launches: choice.launch.clone(),
        skip: choice.skip,
        count: choice.count,
        time: choice.time,
        memory: recorder.memory.map_or(plain.memory, |m| m.saturating_mul(1 << 20)),
        host_memory: choice.host_memory.map_or(plain.host_memory, |m| m.saturating_mul(1 << 20)),
        digest: choice.digest.map(|m| m.saturating_mul(1 << 20)),
        ..plain
    })
}

/// Names of kernels that the user gave.
pub fn patterns(texts: &[String]) -> Result<Vec<Pattern>> {
    texts.iter().map(|t| Pattern::new(t).map_err(|e| anyhow::anyhow!("--kernel {e}"))).collect()
}

/// Runs a program, waits for it, and writes the session's index; says on standard error what was recorded.
pub fn run(
    command: &[OsString],
    options: &Options,
    output: Output,
    supervisor: &Supervisor,
    ui: &Ui,
) -> Result<Ended> {
    let Some((program, args)) = command.split_first() else { bail!("there is no program to run") };
    let library = library()?;
    let made = folder(&options.folder)?;
    let folder = &options.folder;
    let options = Options { folder: std::path::absolute(folder)?, ..options.clone() };
    let mut child = Command::new(program);
    child.args(args).env("LD_PRELOAD", preload(&library)?).env(VARIABLE, options.to_variable()?);
    if output == Output::Aside {
        child.stdin(Stdio::null()).stdout(io::stderr());
    }
    let started = Instant::now();
    let (status, stopped) = supervisor.run(&mut child).map_err(|e| {
        if made {
            let _ = std::fs::remove_dir(folder);
        }
        refused(program, &e)
    })?;
    let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let words = command.iter().map(|w| w.to_string_lossy().into_owned()).collect();
    let said = conclude(folder, words, status, nanos, &options, ui);
    // The program's exit code stays its own, whatever becomes of the index.
    if let Err(e) = said {
        ui.warn(&format!("{e:#}"));
    }
    Ok(Ended { status, stopped })
}

/// The recorder's library.
fn library() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(PLACE).map(PathBuf::from) {
        return path.canonicalize().with_context(|| format!("{PLACE} names {}", path.display()));
    }
    let exe =
        std::env::current_exe().and_then(|p| p.canonicalize()).context("cannot find where prlx itself is")?;
    let beside = exe.parent().unwrap_or(Path::new("."));
    let places = [beside.join(LIBRARY), beside.join("../lib").join(LIBRARY)];
    let found = places.iter().find_map(|p| p.canonicalize().ok());
    Ok(found.ok_or_else(|| {
        let what = format!("{LIBRARY} is neither in {} nor in ../lib beside it", beside.display());
        Error::new(ErrorKind::Record, what).help(format!("put it there, or set {PLACE} to it"))
    })?)
}

/// The libraries to load first: the recorder's, then the user's own.
fn preload(library: &Path) -> Result<OsString> {
    if library.as_os_str().as_encoded_bytes().iter().any(|b| matches!(b, b':' | b' ')) {
        let what = format!("{} can't be preloaded: its name has a space or a colon in it", library.display());
        return Err(Error::new(ErrorKind::Record, what)
            .help(format!("copy it elsewhere, and set {PLACE} to it"))
            .into());
    }
    let mut all = library.as_os_str().to_owned();
    if let Some(theirs) = std::env::var_os("LD_PRELOAD").filter(|v| !v.is_empty()) {
        all.push(":");
        all.push(theirs);
    }
    Ok(all)
}

/// Makes the session's folder, or takes one that is empty. Whether it was made.
fn folder(path: &Path) -> Result<bool> {
    let made = match std::fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(false) => {
            let what = format!("{} is not empty", path.display());
            let help = "a recording is never written over: remove it, or name another folder with -o";
            return Err(Error::new(ErrorKind::File, what).help(help).into());
        }
        Ok(true) => false,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(path)
                .with_context(|| format!("cannot make the folder {}", path.display()))?;
            true
        }
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            let what = format!("{} is a file; the recording of a program is a folder", path.display());
            return Err(Error::new(ErrorKind::File, what).help("name another one with -o").into());
        }
        Err(e) => return Err(e).with_context(|| format!("cannot read the folder {}", path.display())),
    };
    // Better now than when the program has run for hours.
    let probe = path.join(".prlx");
    std::fs::write(&probe, b"prlx")
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write into {}", path.display()))?;
    Ok(made)
}

/// Why a program did not start, and what to do.
fn refused(program: &OsStr, e: &io::Error) -> anyhow::Error {
    /// The file is there and may be run, but is nothing that can be.
    const ENOEXEC: i32 = 8;
    let name = program.to_string_lossy();
    let (what, help) = match e.kind() {
        io::ErrorKind::NotFound if name.contains('/') => (
            format!("there is no program {name}, or what its `#!` line names is missing"),
            "look at the path",
        ),
        io::ErrorKind::NotFound => {
            (format!("there is no program {name} on PATH"), "give its path, as ./app, for one in this folder")
        }
        io::ErrorKind::PermissionDenied => (
            format!("{name} may not be executed"),
            "chmod +x it; or name the program that runs it first, as `-- python3 script.py`",
        ),
        _ if e.raw_os_error() == Some(ENOEXEC) => (
            format!(
                "{name} is no program that can be executed: a script without a `#!` line, or for another machine"
            ),
            "name the program that runs it first, as `-- bash script`",
        ),
        _ => (format!("cannot run {name}: {e}"), "look at the message"),
    };
    Error::new(ErrorKind::File, what).help(help).into()
}

/// Signals that go on to the program.
const SIGNALS: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// Runs programs one after the other; while none runs, signals do to us what they always do.
pub struct Supervisor {
    idle: Arc<AtomicBool>,
}

impl Supervisor {
    /// To be made once.
    pub fn new() -> io::Result<Supervisor> {
        let idle = Arc::new(AtomicBool::new(true));
        for signal in SIGNALS {
            signal_hook::flag::register_conditional_default(signal, idle.clone())?;
        }
        Ok(Supervisor { idle })
    }

    /// Starts a program and waits; signals that are sent to us go on to it. Those of the terminal it gets itself. Also
    /// whether one of them was to end us.
    fn run(&self, command: &mut Command) -> io::Result<(ExitStatus, bool)> {
        let mut signals = SignalsInfo::<WithOrigin>::new(SIGNALS)?;
        let handle = signals.handle();
        self.idle.store(false, Ordering::SeqCst);
        let ended = command.spawn().and_then(|mut child: Child| {
            let pid = Pid::from_child(&child);
            let forward = std::thread::spawn(move || {
                let mut stopped = false;
                for info in &mut signals {
                    stopped |= !matches!(info.signal, SIGUSR1 | SIGUSR2);
                    if let (Some(_), Some(signal)) = (info.process, Signal::from_named_raw(info.signal)) {
                        let _ = kill_process(pid, signal);
                    }
                }
                stopped
            });
            // It keeps its number until `wait`, so that no signal goes to another.
            let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), exited).is_err_and(|e| e == rustix::io::Errno::INTR) {}
            handle.close();
            let stopped = forward.join().unwrap_or(false);
            Ok((child.wait()?, stopped))
        });
        self.idle.store(true, Ordering::SeqCst);
        ended
    }
}

/// Writes the index, and says what was recorded.
fn conclude(
    folder: &Path,
    command: Vec<String>,
    status: ExitStatus,
    nanos: u64,
    options: &Options,
    ui: &Ui,
) -> Result<()> {
    let index = |entries| Index::new(command.clone(), status.code(), status.signal(), nanos, entries);
    let write = |entries| {
        index(entries)
            .write(folder)
            .with_context(|| format!("cannot write the index of {}", folder.display()))
    };
    write(Vec::new())?;
    let session = Session::open(folder)?;
    let mut survey = Survey::default();
    let mut entries = Vec::new();
    for file in &session.files {
        let trace = session.read_index(file);
        let entry = Entry::new(file, &trace);
        if let Some(why) = &entry.incomplete {
            ui.warn(&format!("{}: what came later is not in it: {why}", entry.file));
        }
        entries.push(entry);
        if let Ok(trace) = trace {
            survey.add(&trace);
        }
    }
    let (launches, recorded) = entries.iter().fold((0, 0), |n, e| (n.0 + e.launches, n.1 + e.recorded));
    let processes = entries.len();
    write(entries)?;
    if processes == 0 {
        let why = match prlx_driver::cuda::look() {
            Err(e) => format!("there is no CUDA driver that can be used: {}", e.message),
            Ok(_) => "no process of it used CUDA's driver".to_owned(),
        };
        ui.warn(&format!("nothing was recorded: {why}"));
        return Ok(());
    }
    let s = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let seen =
        format!("{}, {}", s(processes as u64, "process", "processes"), s(launches, "launch", "launches"));
    if options.level == Level::Probe {
        // Tables come, and say what they lack.
        ui.note(&format!(
            "{seen}, {recorded} {}",
            if options.markers.is_some() { "profiled" } else { "probed" }
        ));
        return Ok(());
    }
    let mut text = Vec::new();
    prlx_present::kernels(
        &mut text,
        &survey.kernels(),
        &prlx_present::Style { color: false, width: ui.width() },
    )?;
    ui.note(&format!("{}: {seen}, {recorded} recorded", folder.display()));
    if launches > 0 {
        ui.note(String::from_utf8_lossy(&text).trim_end());
    }
    Ok(())
}
