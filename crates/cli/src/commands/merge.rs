//! `prlx merge`: merges the parts of a report that `prlx diff --shard` wrote.

use std::process::ExitCode;

use anyhow::Result;
use prlx_present::legacy::{DivergenceCounts, LegacyGate, legacy_json};

use crate::args::{MergeArgs, ReportArgs};
use crate::report;
use crate::ui::Ui;

/// Merges the parts, and prints the report as `prlx diff` prints one that was never split.
pub fn run(args: &MergeArgs, ui: &Ui) -> Result<ExitCode> {
    let merged = prlx::merge::merge_reports(&args.parts)?;
    if args.json {
        let counts: Vec<DivergenceCounts> = merged.launches.iter().map(DivergenceCounts::of).collect();
        legacy_json(&mut std::io::stdout().lock(), &merged, &counts, LegacyGate::default(), false)?;
        return Ok(ExitCode::from(merged.verdict.exit_code()));
    }
    report::print(&merged, prlx_present::Sides::default(), &ReportArgs::default(), ui)
}
