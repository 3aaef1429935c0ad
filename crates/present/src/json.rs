//! A report as JSON: the report's own fields, under a version. `docs/report.md` says what they mean.

use std::io::{self, Write};

use prlx_analyze::Report;

/// The number that changes when a key changes its meaning or goes; new keys do not change it.
const VERSION: u32 = 1;

#[derive(serde::Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    report: &'a Report,
}

/// Writes `report` as one JSON object and a line end.
///
/// # Errors
/// Those of `out`.
pub fn json(out: &mut impl Write, report: &Report) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Document { format: "prlx-report", version: VERSION, report })?;
    writeln!(out)
}
