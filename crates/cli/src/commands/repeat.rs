//! `prlx repeat`: runs a launch file or a program many times, and prints the outcomes.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use prlx::repeat::{RepeatOptions, Subject, repeat};

use crate::args::RepeatArgs;
use crate::ui::Ui;

/// Runs it. The exit code is the verdict's.
pub fn run(args: &RepeatArgs, ui: &Ui) -> Result<ExitCode> {
    let survey = args.file.is_none() && args.recorder.level.is_none() && args.selection.digest.is_none();
    let subject = match &args.file {
        Some(file) => {
            args.selection.refuse_for_launch_file()?;
            args.part.refuse_for_launch_file()?;
            args.recorder.filter_note().iter().for_each(|note| ui.warn(note));
            Subject::LaunchFile(file.clone())
        }
        None => {
            args.recorder.refuse_for_program(&args.device)?;
            if !survey {
                args.tolerance.refuse_for_digests()?;
            }
            Subject::Program(args.program.clone())
        }
    };
    let options = RepeatOptions {
        runs: args.runs,
        recorder: args.recorder.options(),
        selection: args.selection.options(args.part.options()),
        device: args.device.options(),
        findings: args.findings,
        strict: args.strict,
        tolerance: args.tolerance.options(),
        survey,
        keep: args.keep.clone(),
        force: args.force,
    };
    let found = repeat(&subject, &options, &ui.monitor())?;
    let mut out = ui.out(args.json);
    if args.json {
        prlx_present::repeats_json(&mut out, &found)?;
    } else {
        prlx_present::repeats(&mut out, &found, &ui.style())?;
    }
    out.flush()?;
    Ok(ExitCode::from(found.verdict.exit_code()))
}
