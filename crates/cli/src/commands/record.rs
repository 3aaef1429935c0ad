//! `prlx record`: runs a launch file with a recorder and keeps the recording.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx_trace::Trace;

use crate::args::RecordArgs;
use crate::record;
use crate::report;
use crate::ui::Ui;

/// Records, and says on standard error what is in the file.
pub fn run(args: &RecordArgs, ui: &Ui) -> Result<ExitCode> {
    let job = record::load(&args.launch, &args.device)?;
    let (trace, found) = {
        let program = record::program(&args.recorder, record::warps_per_cta(&job));
        record::record(&job, &program, &args.recorder, &args.device, ui)?
    };
    let bytes = save(&trace, &args.output)?;
    let totals = trace.launches.iter().map(|l| l.launch.totals).next().unwrap_or_default();
    ui.note(&format!(
        "{}: {} elements recorded, {} dropped, {bytes} bytes",
        args.output.display(),
        totals.recorded,
        totals.dropped
    ));
    for fault in trace.launches.iter().filter_map(|l| l.launch.fault.as_ref()) {
        ui.warn(&format!("{} was stopped, and the recording ends there: {}", args.launch.display(), fault.text));
    }
    report::checks(args.device.check.map(|_| &found), ui)
}

/// Writes a recording; a file that is not whole is never left under its name.
pub fn save(trace: &Trace, path: &Path) -> Result<u64> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let write = || -> Result<u64> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(part)?);
        trace.write(&mut file)?;
        file.flush()?;
        let file = file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        std::fs::rename(part, path)?;
        Ok(bytes)
    };
    write()
        .inspect_err(|_| drop(std::fs::remove_file(part)))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Reads a recording.
pub fn open(path: &Path) -> Result<Trace> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Trace::read(&bytes).with_context(|| format!("{} is no recording that can be read", path.display()))
}
