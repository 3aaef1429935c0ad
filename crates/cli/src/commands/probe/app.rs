//! Runs any CUDA program with a probe program woven into the modules that it loads, and prints what was kept.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use prlx_driver::session::{LIVE, Options};
use prlx_plan::IDLE;
use prlx_trace::{Level, Trace};

use super::{Given, count, show};
use crate::args::{ChoiceArgs, ProbeArgs, RecorderArgs};
use crate::folder::Folder;
use crate::program::{self, Output, Supervisor};
use crate::ui::Ui;

/// Runs it; its exit code is the program's, but where the probe program landed nowhere.
pub fn run(args: &ProbeArgs, given: &Given<'_>, ui: &Ui) -> Result<ExitCode> {
    let folder = Folder::new(args.output.as_deref(), "probe");
    let recorder = RecorderArgs {
        kernel: args.kernel.clone(),
        memory: args.memory,
        rewritten: args.rewritten,
        ..RecorderArgs::default()
    };
    let options = program::options(&recorder, &ChoiceArgs::default(), &args.device, &folder)?;
    let mut options = Options { level: Level::Probe, probe: Some(given.script.clone()), ..options };
    if let Some(interval) = args.interval {
        options.interval = interval.as_nanos() as u64;
    }
    let supervisor = Supervisor::new()?;
    let run = || program::run(&args.command, &options, Output::Theirs, &supervisor, ui);
    let ended = match args.interval {
        None => run(),
        Some(interval) => std::thread::scope(|scope| {
            let (over, ended) = channel();
            scope.spawn(|| live(ended, interval, &folder, args, ui));
            let ended = run();
            drop(over);
            ended
        }),
    }?;
    if let Some(what) = ended.failure() {
        ui.warn(&format!("the program {what}"));
    }
    let traces = show::traces(&folder, ui)?;
    if !traces.iter().any(|(_, trace)| show::has_tables(trace)) {
        // Whatever there is to say of it is said; its own failure comes first.
        return match nowhere(&traces) {
            Some(why) if ended.failure().is_none() => bail!(why),
            why => {
                why.iter().for_each(|why| ui.warn(why));
                Ok(ended.code())
            }
        };
    }
    // Tools are for kernels of every kind: what is not there has nothing to tell.
    for what in show::nowhere(&traces).iter().filter(|_| !given.tool) {
        ui.warn(&format!("{}: `prlx probe check` says what modules have", prlx_present::safe(what)));
    }
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    show::print(&show::tallies(&traces), &format!("Probes of {}", words.join(" ")), &args.show, ui)?;
    Ok(ended.code())
}

/// Prints the tables on standard error every so often, until the other end of `over` goes.
fn live(over: Receiver<()>, interval: Duration, folder: &Path, args: &ProbeArgs, ui: &Ui) {
    let began = Instant::now();
    while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(interval) {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
        let mut files: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == LIVE)).collect();
        files.sort();
        // One may have gone by now.
        let traces = files.iter().filter_map(|path| {
            let trace = Trace::read(&std::fs::read(path).ok()?).ok()?;
            Some((path.display().to_string(), trace))
        });
        let kept = show::tallies(&traces.collect::<Vec<_>>());
        let mut text = Vec::new();
        if !kept.tables.is_empty()
            && prlx_present::tallies(&mut text, &kept, args.show.top, &ui.style()).is_ok()
        {
            ui.note(&format!("after {:.1} s:", began.elapsed().as_secs_f64()));
            ui.note(String::from_utf8_lossy(&text).trim_end());
        }
    }
}

/// Why nothing was probed; `None`: there was no module.
fn nowhere(traces: &[(String, Trace)]) -> Option<String> {
    let skipped = || traces.iter().flat_map(|(_, trace)| &trace.skipped);
    let idle = skipped().filter(|s| s.reason == IDLE).count();
    let others = show::skipped(traces);
    let lines = others.iter().map(|what| format!("\n  {what}")).collect::<String>();
    match (idle, others.is_empty()) {
        (0, true) => None,
        (0, false) => Some(format!("nothing was probed:{lines}")),
        (n, _) => Some(format!(
            "the program lands nowhere in {}: `prlx probe check` says what they have{lines}",
            count(n, "module", "modules")
        )),
    }
}
