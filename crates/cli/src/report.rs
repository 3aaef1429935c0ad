//! From two recordings to a printed report and an exit code.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use prlx_analyze::{DiffOptions, Report};
use prlx_present::Style;
use prlx_trace::Trace;

use crate::args::ReportArgs;
use crate::ui::Ui;

/// Compares two recordings that the user calls `names`.
pub fn diff(a: &Trace, b: &Trace, names: [&Path; 2], args: &ReportArgs, ui: &Ui) -> Result<Report> {
    let bar = ui.spinner("comparing");
    let options = DiffOptions { findings: args.findings.max(1), ..DiffOptions::default() };
    let mut found = prlx_analyze::diff(a, b, &options)?;
    found.names = names.map(|p| p.display().to_string());
    bar.finish_and_clear();
    Ok(found)
}

/// Prints a report; the exit code is its verdict's.
pub fn print(report: &Report, args: &ReportArgs, ui: &Ui) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    if args.json {
        prlx_present::json(&mut out, report)?;
    } else {
        prlx_present::text(&mut out, report, &Style { color: ui.color(), width: ui.width() })?;
    }
    out.flush()?;
    Ok(ExitCode::from(report.verdict.exit_code()))
}
