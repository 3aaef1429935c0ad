//! From two recordings to a printed report and an exit code.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use prlx_analyze::view::{PathViewOptions, ViewModel};
use prlx_analyze::{DiffOptions, ProcessMatch, Report};
use prlx_driver::session::{Pattern, Session};
use prlx_trace::check::Findings;
use prlx_trace::{Recording, Trace};

use crate::args::ReportArgs;
use crate::ui::Ui;

/// Findings that a page shows in full.
const LOOKS: usize = 24;

/// How to compare.
pub fn options(args: &ReportArgs) -> DiffOptions {
    DiffOptions { findings: kept(args, args.findings.max(1)), ..DiffOptions::default() }
}

/// Findings of a launch that a comparison keeps, where `shown` are shown: a table has all of them.
pub fn kept(args: &ReportArgs, shown: usize) -> usize {
    #[cfg(feature = "parquet")]
    if args.parquet.is_some() {
        return usize::MAX;
    }
    let _ = args;
    shown
}

/// Compares two recordings that the user calls `names`.
pub fn diff(a: &Trace, b: &Trace, names: [String; 2], args: &ReportArgs, ui: &Ui) -> Result<Report> {
    let bar = ui.spinner("comparing");
    let mut found = prlx_analyze::diff(a, b, &options(args))?;
    found.names = names;
    bar.finish_and_clear();
    Ok(found)
}

/// Whether the user walks through the report instead of reading it.
pub fn walks(args: &ReportArgs) -> bool {
    #[cfg(feature = "tui")]
    return args.tui;
    #[cfg(not(feature = "tui"))]
    {
        let _ = args;
        false
    }
}

/// How many findings are to be looked at for viewers; `None` if nothing shows them.
pub fn looks(args: &ReportArgs) -> Option<usize> {
    // Who walks through them has each looked at when it is seen.
    args.html.as_ref().map(|_| LOOKS).or(walks(args).then_some(0))
}

/// Lets the user walk through a report, if that is what was asked for. `traces` gives the recordings of a pair of processes.
pub fn walk(
    report: &Report,
    scene: &ViewModel,
    traces: impl FnMut(u64) -> Result<[Rc<Trace>; 2]>,
    args: &ReportArgs,
    ui: &Ui,
) -> Result<()> {
    #[cfg(feature = "tui")]
    if args.tui {
        if !io::IsTerminal::is_terminal(&io::stdout()) || !io::IsTerminal::is_terminal(&io::stdin()) {
            bail!("--tui needs a terminal; --html FILE writes a page");
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
    }
    #[cfg(not(feature = "tui"))]
    let _ = (report, scene, traces, args, ui);
    Ok(())
}

/// Writes the files that were asked for: a table of all findings; the report, of whose launches so many findings are `shown` from
/// here on, as a page; its flame graph.
pub fn files(report: &mut Report, scene: &ViewModel, shown: usize, args: &ReportArgs) -> Result<()> {
    #[cfg(feature = "parquet")]
    if let Some(path) = &args.parquet {
        crate::tables::of_report(report, path)?;
    }
    report.launches.iter_mut().for_each(|l| l.findings.truncate(shown));
    let write = |path: &Path, text: Vec<u8>| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
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

/// Compares two sessions, or single recordings, process by process; kernels like one of `kernels`, or all. What viewers
/// show of the first `looks` findings comes with it.
pub fn sessions(
    sides: &[Session; 2],
    names: [String; 2],
    kernels: &[Pattern],
    options: DiffOptions,
    looks: Option<usize>,
    ui: &Ui,
) -> Result<(Report, ViewModel)> {
    let matching = matching(sides);
    let bar = ui.bar(matching.pairs.len() as u64, "comparing processes");
    let wanted = |name: &str| kernels.is_empty() || kernels.iter().any(|p| p.takes(name));
    let mut seen = BTreeSet::new();
    let launches = options.launches.clone();
    let mut found = Report::new(names);
    let mut scene = ViewModel::default();
    for (i, j) in &matching.pairs {
        let (a, b) = (read(&sides[0], *i)?, read(&sides[1], *j)?);
        let here: BTreeSet<String> = [&a, &b].into_iter().flat_map(names_of).filter(|n| wanted(n)).collect();
        let mut options = options.clone();
        if here.is_empty() {
            // No name would mean all.
            options.launches = vec![(0, 0)];
        } else if !kernels.is_empty() {
            options.kernels = here.iter().cloned().collect();
        }
        seen.extend(here);
        let process = found.processes.len() as u64;
        found.add([&a, &b], &options)?;
        if let Some(looks) = looks {
            scene.add([&a, &b], &found, process, looks, &PathViewOptions::default())?;
        }
        bar.inc(1);
    }
    for (side, all) in (0u8..).zip(&matching.alone) {
        for i in all {
            let mut trace = read(&sides[usize::from(side)], *i)?;
            let names: Vec<String> = names_of(&trace).collect();
            let mut names = names.iter();
            trace.launches.retain(|_| names.next().is_some_and(|n| wanted(n)));
            seen.extend(names_of(&trace));
            found.add_alone(side, &trace);
        }
    }
    bar.finish_and_clear();
    if !kernels.is_empty() && seen.is_empty() {
        let all: Vec<&str> = kernels.iter().map(Pattern::text).collect();
        bail!("no launch of either side has a kernel like {}", all.join(" or "));
    }
    if !launches.is_empty() && found.pairs == 0 && found.unpaired.is_empty() {
        bail!("no launch that both sides have is among those asked for: the filter matches nothing");
    }
    Ok((found, scene))
}

/// Which files of two recordings belong together.
pub fn matching(sides: &[Session; 2]) -> ProcessMatch {
    let [a, b] = sides.each_ref().map(|s| s.files.iter().map(|f| f.process.clone()).collect::<Vec<_>>());
    prlx_analyze::match_processes(&a, &b)
}

/// Gives the recordings of a pair of processes, of which it keeps the last.
pub fn pairs(sides: &[Session; 2]) -> impl FnMut(u64) -> Result<[Rc<Trace>; 2]> + '_ {
    let matching = matching(sides);
    let mut last: Option<(u64, [Rc<Trace>; 2])> = None;
    move |process| {
        if let Some((_, traces)) = last.as_ref().filter(|(p, _)| *p == process) {
            return Ok(traces.clone());
        }
        let (i, j) = *matching.pairs.get(process as usize).context("no such process")?;
        let traces = [Rc::new(read(&sides[0], i)?), Rc::new(read(&sides[1], j)?)];
        last = Some((process, traces.clone()));
        Ok(traces)
    }
}

/// The kernels of a recording's launches.
fn names_of(t: &Trace) -> impl Iterator<Item = String> + '_ {
    t.launches.iter().map(|r| kernel_of(t, r))
}

/// The kernel of a launch.
pub fn kernel_of(t: &Trace, r: &Recording) -> String {
    let function =
        t.modules.get(r.launch.module.index()).and_then(|m| m.functions.get(r.launch.kernel.index()));
    function.map_or_else(String::new, |f| f.name.clone())
}

/// The launches of a recording, by what the user calls them: a program's have numbers, of others the order tells.
pub fn numbered(t: &Trace) -> Vec<(u64, &Recording)> {
    let number = |(i, r): (u64, &Recording)| if t.process.is_some() { r.launch.number } else { i };
    let mut all: Vec<_> = (0u64..).zip(&t.launches).map(|(i, r)| (number((i, r)), r)).collect();
    all.sort_by_key(|(number, _)| *number);
    all
}

/// A file of a session. One among others that can't be read is a gap.
pub fn read(session: &Session, i: usize) -> Result<Trace> {
    let file = &session.files[i];
    match session.read(file) {
        Err(e) if session.is_folder() => {
            let cut = prlx_trace::Error { offset: 0, field: "file".into(), what: e.message };
            Ok(Trace { process: file.process.clone(), cut: Some(cut), ..Trace::default() })
        }
        trace => Ok(trace?),
    }
}

/// Prints a report and what checks found; the exit code is its verdict's, or 1 if checks found errors.
pub fn print(
    report: &Report,
    checks: Option<[&Findings; 2]>,
    args: &ReportArgs,
    ui: &Ui,
) -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    if args.json {
        prlx_present::json(&mut out, report, checks)?;
    } else if !walks(args) {
        prlx_present::text(&mut out, report, &ui.style())?;
    }
    let mut wrong = 0;
    for (found, name) in checks.into_iter().flatten().zip(&report.names) {
        wrong += found.errors();
        if !args.json {
            writeln!(out, "\n{name}")?;
            prlx_present::checks(&mut out, found, &ui.style())?;
        }
    }
    out.flush()?;
    Ok(ExitCode::from(if wrong > 0 { 1 } else { report.verdict.exit_code() }))
}

/// Prints what checks found, if there were any; the exit code is 1 if there are errors.
pub fn checks(found: Option<&Findings>, ui: &Ui) -> Result<ExitCode> {
    let Some(found) = found else { return Ok(ExitCode::SUCCESS) };
    let mut out = io::stdout().lock();
    prlx_present::checks(&mut out, found, &ui.style())?;
    out.flush()?;
    Ok(ExitCode::from(u8::from(found.errors() > 0)))
}
