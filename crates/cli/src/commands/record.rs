//! `prlx record`: records a launch file or a program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::record::{
    self, ProgramOutput, RecordedLaunch, Supervisor, discard_empty_recording, recorder_program,
    remove_recording, run_program, session_options, warps_per_cta,
};
use prlx_driver::session::Options;
use prlx_driver::{Error, ErrorKind};

use crate::args::RecordArgs;
use crate::report;
use crate::ui::Ui;

/// Records, and prints on standard error what is in the recording.
pub fn run(args: &RecordArgs, ui: &Ui) -> Result<ExitCode> {
    match (&args.file, &args.output) {
        (Some(file), Some(output)) => launch_file(file, output, args, ui),
        (Some(_), None) => bail!("name the recording's file with -o"),
        (None, output) => {
            args.recorder.refuse_for_program(&args.device)?;
            let folder = output.clone().unwrap_or_else(|| default_folder(&args.program));
            let options = with_capture(
                args,
                session_options(
                    &args.recorder.options(),
                    &args.selection.options(args.part.options()),
                    &folder,
                )?,
            )?;
            if args.force {
                remove_recording(&folder)?;
            }
            let supervisor = Supervisor::new()?;
            let inherited = ProgramOutput::Inherited;
            let ended = run_program(&args.program, &options, inherited, &supervisor, None, &ui.monitor())?;
            if output.is_none() {
                discard_empty_recording(&folder, &ended);
            }
            Ok(ExitCode::from(ended.exit_code()))
        }
    }
}

/// Adds the capture of launches.
fn with_capture(args: &RecordArgs, options: Options) -> Result<Options> {
    let one = |(first, end): &(u64, u64)| end.saturating_sub(*first) <= 1;
    let ranges = &args.selection.launch;
    let single = !ranges.is_empty() && ranges.iter().all(one);
    let few = args.selection.count.is_some() || args.part.range.is_some() || single;
    if args.capture.is_some() && !few {
        bail!(
            "--capture copies the memory of all recorded launches: choose single ones with --launch, those of an \
             NVTX range with --range, or add --count"
        );
    }
    Ok(Options { capture: args.capture.map(|mib| mib.saturating_mul(1 << 20)), ..options })
}

/// The program's name with the extension of recordings, in the working directory.
fn default_folder(program: &[OsString]) -> PathBuf {
    let name = program.first().and_then(|p| Path::new(p).file_name()).unwrap_or_default();
    let mut name = name.to_owned();
    name.push(".prlx");
    PathBuf::from(name)
}

/// Records a launch. If it was stopped, the recording is kept, and that is an error.
fn launch_file(file: &Path, output: &Path, args: &RecordArgs, ui: &Ui) -> Result<ExitCode> {
    args.selection.refuse_for_launch_file()?;
    args.part.refuse_for_launch_file()?;
    if args.capture.is_some() {
        bail!("--capture is for programs: this is a launch file already");
    }
    args.recorder.filter_note().iter().for_each(|note| ui.warn(note));
    let (recorder, device) = (args.recorder.options(), args.device.options());
    let job = record::load(file, &device)?;
    let program = recorder_program(&recorder, warps_per_cta(&job, &device));
    let RecordedLaunch { mut trace, findings: found, printed, outputs } =
        record::record(&job, &program, &recorder, &device, &ui.monitor())?;
    record::store_outputs(&mut trace, &job, &outputs, &recorder)?;
    report::print_text(&printed, ui)?;
    let bytes = record::save(&trace, output)?;
    let totals = trace.launches.iter().map(|l| l.launch.totals).next().unwrap_or_default();
    ui.note(&format!(
        "{}: {} elements recorded, {} dropped, {bytes} bytes",
        output.display(),
        totals.recorded,
        totals.dropped
    ));
    for o in trace.outputs.iter().filter(|o| o.packed.is_empty() && o.bytes > 0) {
        ui.note(&format!(
            "output {} is not in the recording: it has {} bytes (--outputs MIB)",
            o.name, o.bytes
        ));
    }
    let code = report::print_checks(args.device.check.map(|_| &found), ui)?;
    match trace.launches.iter().find_map(|l| l.launch.fault.as_ref()) {
        None => Ok(code),
        Some(fault) => {
            let what = format!(
                "{} was stopped, and {} holds what was recorded before: {}",
                file.display(),
                output.display(),
                fault.text
            );
            Err(Error::new(ErrorKind::Fault, what).into())
        }
    }
}
