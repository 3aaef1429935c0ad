//! `prlx diff`: compares two recordings, of launch files or of programs.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_analyze::look::Scene;
use prlx_analyze::report::LaunchReport;
use prlx_analyze::{DiffOptions, Report};
use prlx_driver::session::Session;
use prlx_present::legacy::Counts;

use crate::args::DiffArgs;
use crate::commands::{diff_v1, dump};
use crate::report;
use crate::timeline;
use crate::ui::Ui;

/// Compares them and prints the report.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    let dumped = args.prlx.dump_a.map(|w| (&args.a, w)).or(args.prlx.dump_b.map(|w| (&args.b, w)));
    if let Some((path, warp)) = dumped {
        return dump::run(path, warp, args);
    }
    if let Some(code) = diff_v1::run(args, ui)? {
        return Ok(code);
    }
    diff_v1::needless(args, ui);
    let sides = sides(args)?;
    let (mut found, scene) = own(args, &sides, ui)?;
    report::files(&mut found, &scene, args.report.findings.max(1), &args.report)?;
    timeline::of_report(&found, &sides, &args.report)?;
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

/// Compares two recordings of either kind.
pub fn report(args: &DiffArgs, ui: &Ui) -> Result<(Report, Scene)> {
    match diff_v1::compare(args, ui)? {
        Some(found) => Ok((found.report, found.scene)),
        None => {
            diff_v1::needless(args, ui);
            own(args, &sides(args)?, ui)
        }
    }
}

fn sides(args: &DiffArgs) -> Result<[Session; 2]> {
    Ok([Session::open(&args.a)?, Session::open(&args.b)?])
}

/// Compares two own recordings.
fn own(args: &DiffArgs, sides: &[Session; 2], ui: &Ui) -> Result<(Report, Scene)> {
    let names = [&args.a, &args.b].map(|p| p.display().to_string());
    let filter = args.prlx.filter();
    let options = DiffOptions {
        launches: args.launch.clone(),
        shard: args.shard,
        filter: filter.clone(),
        force: args.prlx.force,
        ..report::options(&args.report)
    };
    let looks = report::looks(&args.report);
    let (found, scene) = report::sessions(sides, names, &args.kernel, options, looks, ui)?;
    let seen = |l: &LaunchReport| l.coverage.warps.missing < l.coverage.warps.total;
    if !filter.warps.is_empty() && args.shard.is_none() && !found.launches.iter().any(seen) {
        bail!("--warps: no launch has such a warp on both sides: the filter matches nothing");
    }
    Ok((found, scene))
}
