//! Profiles launch files, and prints the timeline.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::profile::profile_launch_files;
use prlx::record;
use prlx_trace::Trace;

use crate::args::{ProfileArgs, ProfileFormat};
use crate::commands::timeline;
use crate::failure;
use crate::report;
use crate::ui::Ui;

/// Profiles the launch files in one recording.
pub fn run(args: &ProfileArgs, ui: &Ui) -> Result<ExitCode> {
    if args.device.check.is_some() {
        bail!("--check checks the unchanged kernel: use it with `prlx run`");
    }
    args.selection.refuse_for_launch_file()?;
    if !args.kernel.is_empty() {
        bail!("--kernel is for programs: a launch file has one kernel");
    }
    let mut found = profile_launch_files(&args.launches, &args.options(), &ui.monitor())?;
    match &args.output {
        Some(output) if args.format == ProfileFormat::Cudaprofiler => {
            timeline::save_buffer(&mut found.timeline, output, ui)?;
        }
        Some(output) => save(&found.trace, output, args, ui)?,
        None => {}
    }
    if !args.view.json {
        found.printed.iter().try_for_each(|text| report::print_text(text, ui))?;
    }
    if !found.trace.marks.is_empty() {
        let names: Vec<String> = args.launches.iter().map(|p| p.display().to_string()).collect();
        timeline::show(found.timeline, Some(&found.printed), &names.join(", "), &args.view, ui)?;
    }
    match found.stopped {
        Some(why) => Ok(failure::stopped(&why, ui)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Writes the recording, and prints how much is in it.
fn save(trace: &Trace, output: &Path, args: &ProfileArgs, ui: &Ui) -> Result<()> {
    let bytes = record::save(trace, output)?;
    let tracks = trace.marks.iter().flat_map(|m| &m.tracks);
    let (what, n) = match args.sums {
        true => ("sums", tracks.map(|t| t.sums.len()).sum::<usize>()),
        false => ("records", tracks.map(|t| t.records.0.len()).sum()),
    };
    ui.note(&format!("{}: {n} {what}, {bytes} bytes", output.display()));
    Ok(())
}
