//! Shows a report in the ways that options ask for: as text or JSON, in files, in the terminal viewer.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context, Result};
use prlx::device::DeviceOptions;
use prlx_analyze::view::ViewModel;
use prlx_analyze::{DiffOptions, Report};
use prlx_driver::Job;
use prlx_present::Sides;
use prlx_trace::check::Findings;
use prlx_trace::{Printed, Trace};

use crate::args::ReportArgs;
use crate::ui::Ui;

/// Findings that an HTML page shows in full.
const PAGE_FINDINGS: usize = 24;

/// How to compare, so that the report has what the options show.
pub fn diff_options(args: &ReportArgs) -> DiffOptions {
    DiffOptions {
        findings: findings_kept(args, args.findings.max(1)),
        strict: args.strict,
        ..DiffOptions::default()
    }
}

/// Findings of each launch that a comparison keeps if `shown` are shown: a Parquet table holds all of them.
pub fn findings_kept(args: &ReportArgs, shown: usize) -> usize {
    if args.parquet.is_some() { usize::MAX } else { shown }
}

/// Number of findings for which viewers need their data; `None` if there is no viewer.
pub fn views(args: &ReportArgs) -> Option<usize> {
    // The terminal viewer makes the view of a finding when the user opens it.
    args.html.as_ref().map(|_| PAGE_FINDINGS).or(args.tui.then_some(0))
}

/// Opens the report in the terminal viewer if the options ask for it. `traces` reads the recordings of a pair
/// of processes.
pub fn open_viewer(
    report: &Report,
    scene: &ViewModel,
    traces: impl FnMut(u64) -> Result<[Rc<Trace>; 2]>,
    args: &ReportArgs,
    ui: &Ui,
) -> Result<()> {
    if !args.tui {
        return Ok(());
    }
    #[cfg(feature = "tui")]
    {
        use prlx_analyze::view::PathViewOptions;
        use std::io::{IsTerminal, stdin, stdout};
        if !stdout().is_terminal() || !stdin().is_terminal() {
            anyhow::bail!("--tui needs a terminal; --html FILE writes a page");
        }
        let options = PathViewOptions { before: 2000, after: 8000, ..PathViewOptions::default() };
        let mut traces = traces;
        let look = |i: usize, j: usize| -> Result<_> {
            let launch = &report.launches[i];
            let [a, b] = traces(launch.process)?;
            Ok(prlx_analyze::path_view([&a, &b], launch, &launch.findings[j], &options)?)
        };
        let mut look = look;
        let look = Box::new(move |i, j| look(i, j).map_err(|e| format!("{e:#}")));
        prlx_present::tui::run(prlx_present::tui::Subject { report, scene, look }, ui.color())?;
        Ok(())
    }
    #[cfg(not(feature = "tui"))]
    {
        let _ = (report, scene, traces, ui);
        crate::features::require_viewer(true)
    }
}

/// Writes the files that the options ask for: a Parquet table of all findings, a page, a flame graph.
/// Afterwards the report holds `shown` findings of each launch at most.
pub fn write_files(report: &mut Report, scene: &ViewModel, shown: usize, args: &ReportArgs) -> Result<()> {
    if let Some(path) = &args.parquet {
        crate::tables::write_findings(report, path)?;
    }
    report.launches.iter_mut().for_each(|l| l.findings.truncate(shown));
    let write = |path: &Path, text: Vec<u8>| {
        prlx_driver::files::write(path, &text).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &args.html {
        let mut page = Vec::new();
        prlx_present::html(&mut page, report, scene)?;
        write(path, page)?;
    }
    if let Some(path) = &args.flamegraph {
        let mut picture = Vec::new();
        prlx_present::flame(&mut picture, report)?;
        write(path, picture)?;
    }
    Ok(())
}

/// Prints a report and what checks found. The exit code is the verdict's, or 1 if checks found errors.
pub fn print(report: &Report, sides: Sides<'_>, args: &ReportArgs, ui: &Ui) -> Result<ExitCode> {
    let mut out = ui.out(args.json);
    if args.json {
        prlx_present::json(&mut out, report, sides)?;
    } else if !args.tui {
        prlx_present::text(&mut out, report, &ui.style())?;
    }
    let mut errors = 0;
    for (found, name) in sides.checks.into_iter().flatten().zip(&report.names) {
        errors += found.errors();
        if !args.json {
            writeln!(out, "\n{name}")?;
            prlx_present::checks(&mut out, found, &ui.style())?;
        }
    }
    out.flush()?;
    Ok(ExitCode::from(if errors > 0 { 1 } else { report.verdict.exit_code() }))
}

/// Prints the text that the kernels of both sides print, or the first line in which it differs.
pub fn print_texts(printed: [&Printed; 2], names: &[String; 2], all: bool, ui: &Ui) -> Result<()> {
    if !all {
        prlx_present::printed_difference(printed).iter().for_each(|what| ui.note(what));
        return Ok(());
    }
    for (printed, name) in printed.into_iter().zip(names) {
        if printed.text.is_empty() {
            ui.note(&format!("{name} prints nothing"));
            continue;
        }
        writeln!(ui.out(false), "\n{name} prints")?;
        print_text(printed, ui)?;
    }
    Ok(())
}

/// Prints the text of a kernel on standard output, as a terminal shows it, and says if text was dropped.
pub fn print_text(printed: &Printed, ui: &Ui) -> Result<()> {
    let mut out = ui.out(false);
    prlx_present::printed(&mut out, printed)?;
    out.flush()?;
    prlx_present::printed_limit(printed).iter().for_each(|what| ui.warn(what));
    Ok(())
}

/// Prints what checks found, if there were any. The exit code is 1 if there are errors.
pub fn print_checks(found: Option<&Findings>, ui: &Ui) -> Result<ExitCode> {
    let Some(found) = found else { return Ok(ExitCode::SUCCESS) };
    let mut out = ui.out(false);
    prlx_present::checks(&mut out, found, &ui.style())?;
    out.flush()?;
    Ok(ExitCode::from(u8::from(found.errors() > 0)))
}

/// Runs a launch without fused operations, too, and says which outputs depend on them.
pub fn print_contraction(job: &Job, device: &DeviceOptions, ui: &Ui) -> Result<()> {
    for sentence in prlx::contract::outputs_without_fusing(job, device, &ui.monitor())? {
        ui.note(&format!("{}: {sentence}", prlx_present::safe(&job.name)));
    }
    Ok(())
}
