//! `prlx merge`: puts the parts of a report together.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use prlx_analyze::Report;

use crate::args::{MergeArgs, ReportArgs};
use crate::report;
use crate::ui::Ui;

/// Reads the parts, puts them together, and prints the report.
pub fn run(args: &MergeArgs, ui: &Ui) -> Result<ExitCode> {
    let mut whole: Option<Report> = None;
    for path in &args.parts {
        let name = path.display();
        let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let part = prlx_present::read_json(&text).map_err(|e| anyhow!("{name} is no part of a report: {e}"))?;
        whole = Some(match whole {
            None => part,
            Some(whole) => whole.merge(part).with_context(|| format!("{name} can't be merged with those before it"))?,
        });
    }
    let findings = usize::MAX;
    report::print(&whole.unwrap_or_default(), None, &ReportArgs { json: args.json, findings }, ui)
}
