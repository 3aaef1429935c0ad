//! `prlx diff`: compares two recordings.

use std::process::ExitCode;

use anyhow::{Context, Result};
use prlx::diff::{Compared, diff_sessions, trace_pairs};
use prlx::input;
use prlx::record::out_of_range;
use prlx_analyze::DiffOptions;
use prlx_analyze::outputs::Tolerance;
use prlx_analyze::report::Report;
use prlx_analyze::view::ViewModel;
use prlx_driver::session::Session;
use prlx_present::Sides;
use prlx_present::legacy::DivergenceCounts;

use crate::args::DiffArgs;
use crate::commands::diff_legacy::{self, Divergences};
use crate::commands::dump;
use crate::launch_timeline;
use crate::report;
use crate::ui::Ui;

/// Compares the recordings, and prints the report.
pub fn run(args: &DiffArgs, ui: &Ui) -> Result<ExitCode> {
    crate::features::require_viewer(args.report.tui)?;
    input::require_recordings([&args.a, &args.b], false)?;
    for (side, path, number) in [("A", &args.a, args.legacy.dump_a), ("B", &args.b, args.legacy.dump_b)] {
        if let Some(number) = number
            && !dump::first_events(side, path, number, args)?
        {
            return dump::run(path, number, args);
        }
    }
    if let Some(code) = diff_legacy::run(args, ui)? {
        return Ok(code);
    }
    warn_without_effect(args, ui);
    let sides = open(args)?;
    let Compared { mut report, scene } = diff(args, &sides, Vec::new(), ui)?;
    report::write_files(&mut report, &scene, args.report.findings.max(1), &args.report)?;
    launch_timeline::write_sessions(&report, &sides, &args.report)?;
    report::open_viewer(&report, &scene, trace_pairs(&sides), &args.report, ui)?;
    if let Some(path) = args.output.as_ref().filter(|_| args.shard.is_some()) {
        let mut file = Vec::new();
        prlx_present::json(&mut file, &report, Sides::default())?;
        prlx_driver::files::write(path, file.as_ref())
            .with_context(|| format!("cannot write {}", path.display()))?;
        return Ok(ExitCode::from(report.verdict.exit_code()));
    }
    let counts: Vec<DivergenceCounts> = report.launches.iter().map(DivergenceCounts::of).collect();
    let divergences = Divergences { counts: &counts, histories: &[], session: false };
    diff_legacy::finish(args, &report, divergences, ui)
}

/// Compares two recordings of this version or of PRLX 0.x. `output_tolerances` are those of single outputs,
/// by name pattern.
pub fn compare(
    args: &DiffArgs,
    output_tolerances: Vec<(String, Tolerance)>,
    ui: &Ui,
) -> Result<(Report, ViewModel)> {
    match diff_legacy::compare(args, ui)? {
        Some(found) => Ok((found.report, found.scene)),
        None => {
            warn_without_effect(args, ui);
            let found = diff(args, &open(args)?, output_tolerances, ui)?;
            Ok((found.report, found.scene))
        }
    }
}

fn open(args: &DiffArgs) -> Result<[Session; 2]> {
    Ok([Session::open(&args.a)?, Session::open(&args.b)?])
}

/// Compares two recordings of this version.
fn diff(
    args: &DiffArgs,
    sides: &[Session; 2],
    output_tolerances: Vec<(String, Tolerance)>,
    ui: &Ui,
) -> Result<Compared> {
    let names = [&args.a, &args.b].map(|p| p.display().to_string());
    let options = DiffOptions {
        launches: args.launch.clone(),
        shard: args.shard,
        filter: args.legacy.filter(),
        force: args.legacy.force,
        tolerance: args.tolerance.options(),
        output_tolerances,
        ..report::diff_options(&args.report)
    };
    let views = report::views(&args.report);
    let part = args.part.options();
    let found = diff_sessions(sides, names, (&args.kernel, &part), options, views, &ui.monitor())?;
    if args.tolerance.options().is_some() && found.report.launches.iter().all(|l| l.outputs.is_empty()) {
        ui.warn("the tolerance has no effect: the recordings hold no outputs as numbers");
    }
    let warps = found.report.launches.iter().map(|l| l.coverage.warps.total).max();
    if let Some(warps) = warps.filter(|_| args.shard.is_none()) {
        out_of_range("--warps", "warps", &args.legacy.warps, warps)?;
    }
    Ok(found)
}

/// Warns about flags that have no effect on recordings of this version.
fn warn_without_effect(args: &DiffArgs, ui: &Ui) {
    args.legacy.without_effect().for_each(|(flag, why)| ui.warn(&format!("{flag} has no effect: {why}")));
}
