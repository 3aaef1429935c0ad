//! Stands in for the writers of Parquet files in a build without them.

use std::path::Path;

use anyhow::Result;
use prlx_analyze::Report;
use prlx_driver::session::Session;
use prlx_present::tallies::TallyTable;
use prlx_timeline::Timeline;

use crate::features::missing;

/// Fails: this build writes no findings.
pub fn write_findings(_: &Report, _: &Path) -> Result<()> {
    Err(missing("Parquet files", "parquet"))
}

/// Fails: this build writes no recordings.
pub fn write_recording(_: &Session, _: &Path) -> Result<()> {
    Err(missing("Parquet files", "parquet"))
}

/// Fails: this build writes no spans.
pub fn write_spans(_: &Timeline, _: &Path) -> Result<()> {
    Err(missing("Parquet files", "parquet"))
}

/// Fails: this build writes no tables of probe programs.
pub fn write_tables(_: &[TallyTable], _: &[String], _: &Path) -> Result<()> {
    Err(missing("Parquet files", "parquet"))
}
