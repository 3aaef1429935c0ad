//! `prlx record`: runs a launch file with a recorder and keeps the recording.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_trace::Trace;

use crate::args::RecordArgs;
use crate::record;
use crate::report;
use crate::ui::Ui;

/// Records, and says on standard error what is in the file; that of a launch that was stopped is kept too, and is an error.
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
    let code = report::checks(args.device.check.map(|_| &found), ui)?;
    match trace.launches.iter().find_map(|l| l.launch.fault.as_ref()) {
        None => Ok(code),
        Some(fault) => {
            bail!(
                "{} was stopped; {} is what was recorded before: {}",
                args.launch.display(),
                args.output.display(),
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
        trace.write(&mut file)?;
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

/// Reads a recording.
pub fn open(path: &Path) -> Result<Trace> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Trace::read(&bytes).with_context(|| format!("{} is no recording that can be read", path.display()))
}
