//! Profiles a program, and prints the timeline of each process.

use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::profile::profile_program;
use prlx::record::{RecorderOptions, RecordingFolder, remove_recording, session_options};
use prlx_driver::session::{LaunchPart, Options};
use prlx_trace::Level;

use crate::args::{ProfileArgs, ProfileFormat, RecorderArgs};
use crate::commands::timeline;
use crate::ui::Ui;

/// MiB of tracks for each device.
const MEMORY: u64 = 512;

/// Profiles the program. The exit code is the program's.
pub fn run(args: &ProfileArgs, ui: &Ui) -> Result<ExitCode> {
    if args.selection.digest.is_some() {
        bail!("--digest is for `prlx record`: its own kernels would appear in the timeline");
    }
    let keep = args.format == ProfileFormat::Prlx;
    let folder = RecordingFolder::new(args.output.as_deref().filter(|_| keep), "profile");
    let profiled = {
        let refused =
            RecorderArgs { warps: args.warps.clone(), rewritten: args.rewritten, ..RecorderArgs::default() };
        refused.refuse_for_program(&args.device)?;
        let recorder = RecorderOptions {
            kernels: args.kernel.clone(),
            memory: Some(args.memory.unwrap_or(MEMORY)),
            ..RecorderOptions::default()
        };
        let options = session_options(&recorder, &args.selection.options(LaunchPart::default()), &folder)?;
        let profile = args.options();
        let markers = Some(profile.marking());
        let options = Options { level: Level::Probe, markers, ..options };
        if args.force {
            remove_recording(&options.folder)?;
        }
        profile_program(&args.command, &options, profile.hint, &ui.monitor())?
    };
    let words: Vec<_> = args.command.iter().map(|w| w.to_string_lossy()).collect();
    let name = words.join(" ");
    let processes = profiled.processes.len();
    for (i, process) in profiled.processes.into_iter().enumerate() {
        let mut timeline = process.timeline;
        let mut view = args.view.clone();
        if processes > 1 {
            ui.note(&format!("process {}, {} of {processes}:", process.pid, i + 1));
        }
        if i > 0 && view != view.without_files() {
            ui.warn("output files hold the first process only");
            view = view.without_files();
        }
        if let Some(output) = args.output.as_deref().filter(|_| !keep && i == 0) {
            timeline::save_buffer(&mut timeline, output, ui)?;
        }
        timeline::show(timeline, None, &name, &view, ui)?;
    }
    Ok(ExitCode::from(profiled.ended.exit_code()))
}
