//! `prlx compare`: compares two launch files, two programs, or many schedules.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::compare::{CompareOptions, compare_launch_files, compare_programs};
use prlx::device::DeviceOptions;
use prlx::input::require_launch_files;
use prlx::record::load;
use prlx::{diff, schedules};
use prlx_analyze::runs::schedules::Schedules;
use prlx_present::Sides;

use crate::args::{CommandWords, CompareArgs, ContractChoice};
use crate::launch_timeline;
use crate::report;
use crate::ui::Ui;

/// Compares, and prints the report.
pub fn run(args: &CompareArgs, ui: &Ui) -> Result<ExitCode> {
    crate::features::require_viewer(args.report.tui)?;
    if args.seeds.is_some() {
        let found = explore(args, ui)?;
        return Ok(ExitCode::from(found.verdict.exit_code()));
    }
    if let (Some(a), Some(b)) = (&args.command_a, &args.command_b) {
        return programs([a, b], args, ui);
    }
    args.selection.refuse_for_launch_file()?;
    args.part.refuse_for_launch_file()?;
    let Some(a) = &args.a else { bail!("name two launch files, or two programs with --a and --b") };
    let files = [a, args.b.as_ref().unwrap_or(a)];
    require_launch_files(files.map(PathBuf::as_path))?;
    args.recorder.filter_note().iter().for_each(|note| ui.warn(note));
    let options = options(args);
    let jobs = [load(files[0], &options.device)?, load(files[1], &options.device)?];
    let names = files.map(|f| f.display().to_string());
    let mut found = compare_launch_files(&jobs, names, &options, &ui.monitor())?;
    report::write_files(&mut found.report, &found.scene, args.report.findings.max(1), &args.report)?;
    launch_timeline::write_pair(&found.report, found.traces.each_ref().map(|t| &**t), &args.report)?;
    report::open_viewer(&found.report, &found.scene, |_| Ok(found.traces.clone()), &args.report, ui)?;
    let sides = Sides {
        checks: args.device.check.map(|_| found.checks.each_ref()),
        printed: Some(found.printed.each_ref()),
    };
    let code = report::print(&found.report, sides, &args.report, ui)?;
    if args.contract.contract == ContractChoice::Both {
        for job in &jobs[..if args.b.is_some() { 2 } else { 1 }] {
            report::print_contraction(job, &options.device, ui)?;
        }
    }
    if !args.report.json {
        let printed = found.printed.each_ref();
        report::print_texts(printed, &found.report.names, args.printed, ui)?;
    }
    Ok(code)
}

/// Compares two programs.
fn programs(commands: [&CommandWords; 2], args: &CompareArgs, ui: &Ui) -> Result<ExitCode> {
    args.recorder.refuse_for_program(&args.device)?;
    if args.no_outputs || args.selection.digest.is_some() {
        args.tolerance.refuse_for_digests()?;
    }
    let commands = commands.map(|c| c.0.as_slice());
    let mut found = compare_programs(
        commands,
        &args.selection.options(args.part.options()),
        &options(args),
        &ui.monitor(),
    )?;
    report::write_files(&mut found.report, &found.scene, args.report.findings.max(1), &args.report)?;
    launch_timeline::write_sessions(&found.report, &found.sides, &args.report)?;
    let traces = diff::trace_pairs(&found.sides);
    report::open_viewer(&found.report, &found.scene, traces, &args.report, ui)?;
    report::print(&found.report, Sides::default(), &args.report, ui)
}

/// Runs launch files under many schedules, and prints the outcomes.
pub fn explore(args: &CompareArgs, ui: &Ui) -> Result<Schedules> {
    let Some(seeds) = &args.seeds else { bail!("name the schedules with --seeds FIRST..END") };
    let mut files: Vec<&Path> = args.a.iter().chain(&args.b).map(PathBuf::as_path).collect();
    files.dedup();
    let found = schedules::explore(&files, seeds, &options(args), &ui.monitor())?;
    let mut out = ui.out(args.report.json);
    if args.report.json {
        prlx_present::schedules_json(&mut out, &found)?;
    } else {
        prlx_present::schedules(&mut out, &found, &ui.style())?;
    }
    out.flush()?;
    Ok(found)
}

fn options(args: &CompareArgs) -> CompareOptions {
    CompareOptions {
        recorder: args.recorder.options(),
        device: DeviceOptions { contract: args.contract.option(), ..args.device.options() },
        diff: report::diff_options(&args.report),
        views: report::views(&args.report),
        zoom: !args.no_zoom,
        keep: args.keep.clone(),
        force: args.force,
        tolerance: args.tolerance.options(),
        explain: !args.no_explain,
        outputs: !args.no_outputs,
        survey: args.recorder.level.is_none() && !args.no_outputs,
    }
}
