//! `prlx merge`: puts the parts of a report together.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use prlx_analyze::Report;
use prlx_present::legacy::{Counts, Gate, prlx_json};

use crate::args::{MergeArgs, ReportArgs};
use crate::report;
use crate::ui::Ui;

/// Reads the parts, puts them together, and prints the report.
pub fn run(args: &MergeArgs, ui: &Ui) -> Result<ExitCode> {
    let mut whole: Option<Report> = None;
    for path in &args.parts {
        let name = path.display();
        let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        let part =
            prlx_present::read_json(&text).map_err(|e| anyhow!("{name} is no part of a report: {e}"))?;
        whole = Some(match whole {
            None => part,
            Some(whole) => {
                whole.merge(part).with_context(|| format!("{name} can't be merged with those before it"))?
            }
        });
    }
    let whole = whole.unwrap_or_default();
    if args.json {
        // As `diff` writes a report that was never split.
        let counts: Vec<Counts> = whole.launches.iter().map(Counts::of).collect();
        prlx_json(&mut std::io::stdout().lock(), &whole, &counts, Gate::default(), false)?;
        return Ok(ExitCode::from(whole.verdict.exit_code()));
    }
    report::print(&whole, None, &ReportArgs::default(), ui)
}
