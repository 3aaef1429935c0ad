//! From recordings to a file for Perfetto's or Chrome's viewer.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use prlx_analyze::Report;
use prlx_driver::session::Session;
use prlx_present::timeline::{Compared, Timeline};
use prlx_trace::Trace;
use prlx_trace::ids::Nanos;

use crate::args::ReportArgs;
use crate::report;

/// Whether a timeline was asked for.
pub fn wanted(args: &ReportArgs) -> bool {
    args.perfetto.is_some() || args.chrome.is_some()
}

/// Writes what was asked for of two sides that were compared.
pub fn of_report(report: &Report, sides: &[Session; 2], args: &ReportArgs) -> Result<()> {
    if !wanted(args) {
        return Ok(());
    }
    let mut all = Timeline::default();
    let matching = report::matching(sides);
    for (side, session) in (0u8..).zip(sides) {
        let process = |file: usize| {
            let pair = matching.pairs.iter().position(|(i, j)| [*i, *j][usize::from(side)] == file);
            pair.map(|p| p as u64)
        };
        add(&mut all, session, |file| Some(Compared { report, side, process: process(file) }))?;
    }
    files(&all, args)
}

/// Writes what was asked for of two launch files that were compared.
pub fn of_pair(report: &Report, traces: [&Trace; 2], args: &ReportArgs) -> Result<()> {
    let mut all = Timeline::default();
    for (side, trace) in (0u8..).zip(traces) {
        all.add(trace, 0, Some(Compared { report, side, process: Some(0) }));
    }
    files(&all, args)
}

/// The timeline of a recording by itself.
pub fn of(session: &Session) -> Result<Timeline> {
    let mut all = Timeline::default();
    add(&mut all, session, |_| None)?;
    Ok(all)
}

/// Adds the files of a recording, on one axis that begins with the first of its processes.
fn add<'a>(
    all: &mut Timeline,
    session: &Session,
    compared: impl Fn(usize) -> Option<Compared<'a>>,
) -> Result<()> {
    let origin =
        session.files.iter().filter_map(|f| f.process.as_ref()).map(|p| p.started).min().unwrap_or(Nanos(0));
    for i in 0..session.files.len() {
        all.add(&report::read(session, i)?, origin.0, compared(i));
    }
    Ok(())
}

fn files(all: &Timeline, args: &ReportArgs) -> Result<()> {
    if let Some(path) = &args.perfetto {
        save(path, |out| all.perfetto(out))?;
    }
    if let Some(path) = &args.chrome {
        save(path, |out| all.chrome(out))?;
    }
    Ok(())
}

/// Writes a file.
pub fn save(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
    let all = || -> io::Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        write(&mut out)?;
        out.flush()
    };
    all().with_context(|| format!("cannot write {}", path.display()))
}
