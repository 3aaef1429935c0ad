//! A report as JSON: the report's own fields, under a version. `docs/report.md` says what they mean.

use std::io::{self, Write};

use prlx_analyze::Report;
use prlx_trace::check::Findings;
use serde_json::Value;

use crate::checks::checks_json;

/// The number that changes when a key changes its meaning or goes; new keys do not change it.
const VERSION: u32 = 1;

#[derive(serde::Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<[Value; 2]>,
}

/// Writes `report` as one JSON object and a line end; with what checks found in both runs, where there were checks.
///
/// # Errors
/// Those of `out`.
pub fn json(out: &mut impl Write, report: &Report, checks: Option<[&Findings; 2]>) -> io::Result<()> {
    let checks = checks.map(|both| both.map(checks_json));
    serde_json::to_writer_pretty(&mut *out, &Document { format: "prlx-report", version: VERSION, report, checks })?;
    writeln!(out)
}
