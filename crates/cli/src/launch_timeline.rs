//! Writes launches over time for Perfetto's or Chrome's viewer.

use anyhow::Result;
use prlx::diff::{match_processes, read_file};
use prlx_analyze::Report;
use prlx_driver::session::Session;
use prlx_present::recording::timeline::{Compared, LaunchTimeline};
use prlx_trace::Trace;
use prlx_trace::ids::Nanos;

use crate::args::ReportArgs;
use crate::files::write_file;

/// Whether the options ask for a timeline.
pub fn wanted(args: &ReportArgs) -> bool {
    args.perfetto.is_some() || args.chrome.is_some()
}

/// Writes the timelines of two sessions that were compared.
pub fn write_sessions(report: &Report, sides: &[Session; 2], args: &ReportArgs) -> Result<()> {
    if !wanted(args) {
        return Ok(());
    }
    let mut all = LaunchTimeline::default();
    let matching = match_processes(sides);
    for (side, session) in (0u8..).zip(sides) {
        let process = |file: usize| {
            let pair = matching.pairs.iter().position(|(i, j)| [*i, *j][usize::from(side)] == file);
            pair.map(|p| p as u64)
        };
        add(&mut all, session, |file| Some(Compared { report, side, process: process(file) }))?;
    }
    write(&all, args)
}

/// Writes the timelines of two launch files that were compared.
pub fn write_pair(report: &Report, traces: [&Trace; 2], args: &ReportArgs) -> Result<()> {
    let mut all = LaunchTimeline::default();
    for (side, trace) in (0u8..).zip(traces) {
        all.add(trace, 0, Some(Compared { report, side, process: Some(0) }));
    }
    write(&all, args)
}

/// The timeline of a recording by itself.
pub fn of_session(session: &Session) -> Result<LaunchTimeline> {
    let mut all = LaunchTimeline::default();
    add(&mut all, session, |_| None)?;
    Ok(all)
}

/// Adds the files of a recording, on a time axis that begins with the first of its processes.
fn add<'a>(
    all: &mut LaunchTimeline,
    session: &Session,
    compared: impl Fn(usize) -> Option<Compared<'a>>,
) -> Result<()> {
    let origin =
        session.files.iter().filter_map(|f| f.process.as_ref()).map(|p| p.started).min().unwrap_or(Nanos(0));
    for i in 0..session.files.len() {
        all.add(&read_file(session, i)?, origin.0, compared(i));
    }
    Ok(())
}

fn write(all: &LaunchTimeline, args: &ReportArgs) -> Result<()> {
    if let Some(path) = &args.perfetto {
        write_file(path, |out| all.perfetto(out))?;
    }
    if let Some(path) = &args.chrome {
        write_file(path, |out| all.chrome(out))?;
    }
    Ok(())
}
