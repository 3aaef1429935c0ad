//! From two recordings to a printed report and an exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use prlx_analyze::{DiffOptions, Report, Shard};
use prlx_trace::Trace;
use prlx_trace::check::Findings;

use crate::args::ReportArgs;
use crate::ui::Ui;

/// Compares two recordings that the user calls `names`, or a share of their launches.
pub fn diff(
    a: &Trace,
    b: &Trace,
    names: [String; 2],
    args: &ReportArgs,
    shard: Option<Shard>,
    ui: &Ui,
) -> Result<Report> {
    let bar = ui.spinner("comparing");
    let options = DiffOptions { findings: args.findings.max(1), shard, ..DiffOptions::default() };
    let mut found = prlx_analyze::diff(a, b, &options)?;
    found.names = names;
    bar.finish_and_clear();
    Ok(found)
}

/// Prints a report and what checks found; the exit code is its verdict's, or 1 if checks found errors.
pub fn print(report: &Report, checks: Option<[&Findings; 2]>, args: &ReportArgs, ui: &Ui) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    if args.json {
        prlx_present::json(&mut out, report, checks)?;
    } else {
        prlx_present::text(&mut out, report, &ui.style())?;
    }
    let mut wrong = 0;
    for (found, name) in checks.into_iter().flatten().zip(&report.names) {
        wrong += found.errors();
        if !args.json {
            writeln!(out, "\n{name}")?;
            prlx_present::checks(&mut out, found, &ui.style())?;
        }
    }
    out.flush()?;
    Ok(ExitCode::from(if wrong > 0 { 1 } else { report.verdict.exit_code() }))
}

/// Prints what checks found, if there were any; the exit code is 1 if there are errors.
pub fn checks(found: Option<&Findings>, ui: &Ui) -> Result<ExitCode> {
    let Some(found) = found else { return Ok(ExitCode::SUCCESS) };
    let mut out = io::stdout().lock();
    prlx_present::checks(&mut out, found, &ui.style())?;
    out.flush()?;
    Ok(ExitCode::from(u8::from(found.errors() > 0)))
}
