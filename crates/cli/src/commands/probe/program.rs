//! Runs a program with a probe program in its kernels, and prints the tables.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};
use prlx::probe::{SelectedScript, probe_program};
use prlx::record::{LaunchSelection, RecorderOptions, RecordingFolder, remove_recording, session_options};
use prlx_driver::session::Options;
use prlx_present::tallies::Tallies;
use prlx_trace::Level;

use super::tables;
use crate::args::{ProbeArgs, RecorderArgs};
use crate::ui::Ui;

/// Runs it. The exit code is the program's, unless it succeeds and nothing was probed.
pub fn run(args: &ProbeArgs, selected: &SelectedScript<'_>, ui: &Ui) -> Result<ExitCode> {
    if let Some(launch) = selected.rest.first() {
        bail!("{}: give either launch files, or a program after `--`", Path::new(launch).display());
    }
    let refused = RecorderArgs { rewritten: args.rewritten, ..RecorderArgs::default() };
    refused.refuse_for_program(&args.device)?;
    let folder = RecordingFolder::new(args.output.as_deref(), "probe");
    let recorder =
        RecorderOptions { kernels: args.kernel.clone(), memory: args.memory, ..RecorderOptions::default() };
    let options = session_options(&recorder, &LaunchSelection::default(), &folder)?;
    let mut options = Options { level: Level::Probe, probe: Some(selected.script.clone()), ..options };
    if let Some(interval) = args.interval {
        options.interval = interval;
    }
    if args.force {
        remove_recording(&options.folder)?;
    }
    let style = ui.style();
    let monitor = ui.monitor();
    let live = |since: Duration, now: &Tallies| {
        let mut text = Vec::new();
        if prlx_present::tallies(&mut text, now, args.show.top, &style).is_ok() {
            monitor.note(&format!("after {:.1} s:", since.as_secs_f64()));
            monitor.note(String::from_utf8_lossy(&text).trim_end());
        }
    };
    let live = args.interval.map(|interval| (interval, &live as &(dyn Fn(Duration, &Tallies) + Sync)));
    let probed = probe_program(&args.command, &options, selected.is_tool, live, &monitor)?;
    if let Some(found) = &probed.tables {
        let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
        tables::print(found, None, None, &format!("Probes of {}", words.join(" ")), &args.show, ui)?;
    }
    Ok(ExitCode::from(probed.ended.exit_code()))
}
