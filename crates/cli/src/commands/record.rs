//! `prlx record`: runs a launch file or a program with a recorder and keeps the recording.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_trace::Trace;

use crate::args::RecordArgs;
use crate::program::{self, Output, Supervisor};
use crate::record;
use crate::report;
use crate::ui::Ui;
use prlx_driver::workers::WORKERS;

/// Records, and says on standard error what is in the recording.
pub fn run(args: &RecordArgs, ui: &Ui) -> Result<ExitCode> {
    match (&args.file, &args.output) {
        (Some(file), Some(output)) => launch_file(file, output, args, ui),
        (Some(_), None) => bail!("name the recording's file with -o"),
        (None, output) => {
            let folder = output.clone().unwrap_or_else(|| default_folder(&args.program));
            let options = program::options(&args.recorder, &args.choice, &args.device, &folder)?;
            let supervisor = Supervisor::new()?;
            Ok(program::run(&args.program, &options, Output::Theirs, &supervisor, ui)?.code())
        }
    }
}

/// The program's name, here, with the ending of recordings.
fn default_folder(program: &[OsString]) -> PathBuf {
    let name = program.first().and_then(|p| Path::new(p).file_name()).unwrap_or_default();
    let mut name = name.to_owned();
    name.push(".prlx");
    PathBuf::from(name)
}

/// Records a launch; one that was stopped is kept too, and is an error.
fn launch_file(file: &Path, output: &Path, args: &RecordArgs, ui: &Ui) -> Result<ExitCode> {
    if let Some(name) = args.choice.given() {
        bail!("{name} is for programs: a launch file has one launch");
    }
    let job = record::load(file, &args.device)?;
    let (trace, found) = {
        let program = record::program(&args.recorder, record::warps_per_cta(&job));
        record::record(&job, &program, &args.recorder, &args.device, ui)?
    };
    let bytes = save(&trace, output)?;
    let totals = trace.launches.iter().map(|l| l.launch.totals).next().unwrap_or_default();
    ui.note(&format!(
        "{}: {} elements recorded, {} dropped, {bytes} bytes",
        output.display(),
        totals.recorded,
        totals.dropped
    ));
    let code = report::checks(args.device.check.map(|_| &found), ui)?;
    match trace.launches.iter().find_map(|l| l.launch.fault.as_ref()) {
        None => Ok(code),
        Some(fault) => {
            bail!(
                "{} was stopped; {} is what was recorded before: {}",
                file.display(),
                output.display(),
                fault.text
            )
        }
    }
}

/// Writes a recording; a file that is not whole is never left under its name. A pipe or a device is written to as it is.
pub fn save(trace: &Trace, path: &Path) -> Result<u64> {
    let special = std::fs::metadata(path).is_ok_and(|m| !m.is_file());
    let mut part = path.as_os_str().to_owned();
    part.push(if special { "" } else { ".part" });
    let part = Path::new(&part);
    let write = || -> Result<u64> {
        let mut file = Counted { file: std::io::BufWriter::new(std::fs::File::create(part)?), bytes: 0 };
        trace.write_parallel(&mut file, &WORKERS)?;
        file.flush()?;
        if !special {
            file.file.get_ref().sync_all()?;
            std::fs::rename(part, path)?;
        }
        Ok(file.bytes)
    };
    write()
        .inspect_err(|_| {
            if !special {
                drop(std::fs::remove_file(part));
            }
        })
        .with_context(|| format!("cannot write {}", path.display()))
}

/// A file, and how many bytes went into it.
struct Counted {
    file: std::io::BufWriter<std::fs::File>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
