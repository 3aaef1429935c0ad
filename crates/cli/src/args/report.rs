//! Options for showing a report.

use std::path::PathBuf;

use clap::Args;

/// How a report is shown.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Report options")]
pub struct ReportArgs {
    /// Print the report as JSON (docs/report.md)
    #[arg(long)]
    pub json: bool,
    /// Show at most N findings
    #[arg(long, short = 'n', visible_alias = "max-shown", value_name = "N", default_value_t = 10)]
    pub findings: usize,
    /// Also count as differences what only the schedule decides: active lanes, and decisions that follow from
    /// the order of atomics although the outputs agree (docs/verdicts.md)
    #[arg(long)]
    pub strict: bool,
    /// Also write the report as an HTML page: source, threads over time, the path of both sides
    /// (docs/html.md)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write a flame graph of the source lines that differ, as SVG
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// Also write the launches of both sides over time, for ui.perfetto.dev (docs/timeline.md)
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Also write the launches of both sides over time, in Chrome's JSON format
    #[arg(long, value_name = "FILE")]
    pub chrome: Option<PathBuf>,
    /// Also write all findings as a Parquet file (docs/tables.md)
    #[arg(long, value_name = "FILE", value_parser = crate::features::parquet_path)]
    pub parquet: Option<PathBuf>,
    /// Open the report in the terminal viewer instead of printing it (docs/tui.md)
    #[arg(long, conflicts_with = "json")]
    pub tui: bool,
}
