//! `prlx diff`: compares two recordings, of launch files or of programs.

use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx_analyze::DiffOptions;
use prlx_driver::session::Session;
use prlx_present::prlx::Counts;

use crate::args::DiffArgs;
use crate::commands::diff_v1;
use crate::report;
use crate::ui::Ui;

/// Compares them and prints the report.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    if let Some(code) = diff_v1::run(args, ui)? {
        return Ok(code);
    }
    diff_v1::refuse(args)?;
    let sides = [Session::open(&args.a)?, Session::open(&args.b)?];
    let names = [&args.a, &args.b].map(|p| p.display().to_string());
    let options = DiffOptions { launches: args.launch.clone(), shard: args.shard, ..report::options(&args.report) };
    let looks = report::looks(&args.report);
    let (found, scene) = report::sessions(&sides, names, &args.kernel, options, looks, ui)?;
    report::files(&found, &scene, &args.report)?;
    report::walk(&found, &scene, report::pairs(&sides), &args.report, ui)?;
    if let Some(path) = args.output.as_ref().filter(|_| args.shard.is_some()) {
        let mut file = Vec::new();
        prlx_present::json(&mut file, &found, None)?;
        std::fs::write(path, file).with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(ExitCode::from(found.verdict.exit_code()));
    }
    let counts: Vec<Counts> = found.launches.iter().map(Counts::of).collect();
    diff_v1::finish(args, &found, &counts, &[], false, ui)
}
