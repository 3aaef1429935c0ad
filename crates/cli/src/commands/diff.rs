//! `prlx diff`: compares two recordings.

use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::args::DiffArgs;
use crate::commands::record::open;
use crate::report;
use crate::ui::Ui;

/// Compares them and prints the report.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    let found =
        report::diff(&a, &b, [&args.a, &args.b].map(|p| p.display().to_string()), &args.report, args.shard, ui)?;
    if let Some(path) = &args.output {
        let mut file = Vec::new();
        prlx_present::json(&mut file, &found, None)?;
        std::fs::write(path, file).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(ExitCode::from(found.verdict.exit_code()));
    }
    report::print(&found, None, &args.report, ui)
}
