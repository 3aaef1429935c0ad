//! Runs a program with a probe program inserted into the modules that it loads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use prlx_driver::session::{LIVE_EXTENSION, Options};
use prlx_plan::UNPROBED;
use prlx_present::tallies::Tallies;
use prlx_trace::Trace;

use super::count::count;
use super::recordings::{self, has_tables, read_recording, tables};
use crate::Monitor;
use crate::record::{Ended, ProgramOutput, Supervisor, run_program};

/// What a probe program recorded in a program.
#[derive(Debug)]
pub struct ProgramProbe {
    /// How the program ended.
    pub ended: Ended,
    /// The tables; `None` if nothing was probed and the program itself failed.
    pub tables: Option<Tallies>,
}

/// Receives the tables so far, and the time since the program started.
pub type LiveTables<'a> = &'a (dyn Fn(Duration, &Tallies) + Sync);

/// Runs a program with the script of `options` inserted. `is_tool` says that a clause without a match is no
/// surprise. With `live`, the callback receives the tables so far once per interval.
///
/// # Errors
/// If the program cannot be run, or if it succeeds and nothing was probed.
pub fn probe_program(
    command: &[OsString],
    options: &Options,
    is_tool: bool,
    live: Option<(Duration, LiveTables<'_>)>,
    monitor: &Monitor<'_>,
) -> Result<ProgramProbe> {
    let folder = &options.folder;
    let supervisor = Supervisor::new()?;
    let run = || run_program(command, options, ProgramOutput::Inherited, &supervisor, None, monitor);
    let ended = match live {
        None => run(),
        Some((interval, show)) => std::thread::scope(|scope| {
            let (over, ended) = channel();
            scope.spawn(|| watch(ended, interval, folder, show));
            let ended = run();
            drop(over);
            ended
        }),
    }?;
    if let Some(what) = ended.failure() {
        monitor.warn(&format!("the program {what}"));
    }
    let traces = read_recording(folder, monitor)?;
    if !traces.iter().any(|(_, trace)| has_tables(trace)) {
        // The program's own failure comes first.
        return match why_nothing(&traces) {
            Some(why) if ended.failure().is_none() => bail!(why),
            why => {
                why.iter().for_each(|why| monitor.warn(why));
                Ok(ProgramProbe { ended, tables: None })
            }
        };
    }
    for what in recordings::unmatched_clauses(&traces).iter().filter(|_| !is_tool) {
        monitor.warn(&format!("{}: `prlx probe check` shows what modules have", prlx_present::safe(what)));
    }
    Ok(ProgramProbe { ended, tables: Some(tables(&traces)) })
}

/// Passes on the tables of running processes once per interval, until the other end of `over` is dropped.
fn watch(over: Receiver<()>, interval: Duration, folder: &Path, show: LiveTables<'_>) {
    let began = Instant::now();
    while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(interval) {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
        let mut files: Vec<PathBuf> =
            files.filter(|p| p.extension().is_some_and(|e| e == LIVE_EXTENSION)).collect();
        files.sort();
        // A file may have gone by now.
        let traces = files.iter().filter_map(|path| {
            let trace = Trace::read(&prlx_driver::files::read(path).ok()?).ok()?;
            Some((path.display().to_string(), trace))
        });
        let tables = tables(&traces.collect::<Vec<_>>());
        if !tables.tables.is_empty() {
            show(began.elapsed(), &tables);
        }
    }
}

/// Why nothing was probed; `None` if there was no module.
fn why_nothing(traces: &[(String, Trace)]) -> Option<String> {
    let skipped = || traces.iter().flat_map(|(_, trace)| &trace.skipped);
    let idle = skipped().filter(|s| s.reason == UNPROBED).count();
    let others = recordings::not_probed(traces);
    let lines = others.iter().map(|what| format!("\n  {what}")).collect::<String>();
    match (idle, others.is_empty()) {
        (0, true) => None,
        (0, false) => Some(format!("nothing was probed:{lines}")),
        (n, _) => Some(format!(
            "the probe program matches no instruction in {}: `prlx probe check` shows what they have{lines}",
            count(n, "module", "modules")
        )),
    }
}
