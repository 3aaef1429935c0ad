//! Merges the parts of a report that `prlx diff --shard` wrote.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use prlx_analyze::Report;

/// Reads the parts, in any order, and merges them into one report.
///
/// # Errors
/// If a file cannot be read, is no part of a report, or does not belong to the parts before it.
pub fn merge_reports(parts: &[PathBuf]) -> Result<Report> {
    let mut merged: Option<Report> = None;
    for path in parts {
        let name = path.display();
        let text = prlx_driver::files::read(path).with_context(|| format!("cannot read {name}"))?;
        let part =
            prlx_present::read_json(&text).map_err(|e| anyhow!("{name} is not a part of a report: {e}"))?;
        merged = Some(match merged {
            None => part,
            Some(merged) => merged
                .merge(part)
                .with_context(|| format!("{name} cannot be merged with the parts before it"))?,
        });
    }
    Ok(merged.unwrap_or_default())
}
