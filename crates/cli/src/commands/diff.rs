//! `prlx diff`: compares two recordings, of launch files or of programs.

use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx_analyze::DiffOptions;
use prlx_driver::session::Session;

use crate::args::DiffArgs;
use crate::report;
use crate::ui::Ui;

/// Compares them and prints the report.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    let sides = [Session::open(&args.a)?, Session::open(&args.b)?];
    let names = [&args.a, &args.b].map(|p| p.display().to_string());
    let options = DiffOptions { launches: args.launch.clone(), shard: args.shard, ..report::options(&args.report) };
    let found = report::sessions(&sides, names, &args.kernel, options, ui)?;
    if let Some(path) = &args.output {
        let mut file = Vec::new();
        prlx_present::json(&mut file, &found, None)?;
        std::fs::write(path, file).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(ExitCode::from(found.verdict.exit_code()));
    }
    report::print(&found, None, &args.report, ui)
}
