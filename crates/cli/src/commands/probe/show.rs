//! Prints tables: of recordings, and of what has just run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::session::Session;
use prlx_plan::IDLE;
use prlx_present::tallies::{Missed, Tallies};
use prlx_probe::diagnostics::NOWHERE;
use prlx_trace::{Level, Trace};

use super::count;
use crate::args::{ProbeShowArgs, TallyArgs};
use crate::report;
use crate::ui::Ui;

/// Prints the tables of recordings.
pub fn run(args: &ProbeShowArgs, ui: &Ui) -> Result<ExitCode> {
    let mut all: Vec<(String, Trace)> = Vec::new();
    for path in &args.recordings {
        let new = traces(path, ui)?;
        if !new.iter().any(|(_, trace)| has_tables(trace)) {
            let levels: BTreeSet<&str> =
                new.iter().flat_map(|(_, t)| &t.launches).map(|l| l.launch.level.label()).collect();
            match levels.iter().next().filter(|l| **l != Level::Probe.label()) {
                Some(level) => bail!(
                    "{} is a recording at level {level}, without tables: `prlx inspect` and `prlx diff` are for it",
                    path.display()
                ),
                None => bail!("{} has no tables", path.display()),
            }
        }
        all.extend(new);
    }
    let names: Vec<String> = args.recordings.iter().map(|p| p.display().to_string()).collect();
    print(&tallies(&all), &format!("Probes of {}", names.join(", ")), &args.show, ui)?;
    Ok(ExitCode::SUCCESS)
}

/// What is in a recording: a file, or the folder of a program's.
pub fn traces(path: &Path, ui: &Ui) -> Result<Vec<(String, Trace)>> {
    let session = Session::open(path)?;
    let mut all = Vec::new();
    for (i, file) in session.files.iter().enumerate() {
        let trace = report::read(&session, i)?;
        if let Some(cut) = &trace.cut {
            ui.warn(&format!("{}: {cut}: there may have been more", file.path.display()));
        }
        let name = file.path.display().to_string();
        all.push((name, trace));
    }
    Ok(all)
}

/// Whether a probe program landed in a module of it.
pub fn has_tables(trace: &Trace) -> bool {
    trace.modules.iter().any(|m| !m.tables.is_empty())
}

/// What was kept, and what was missed.
pub fn tallies(traces: &[(String, Trace)]) -> Tallies {
    let named: Vec<(String, &Trace)> = traces.iter().map(|(name, trace)| (name.clone(), trace)).collect();
    let missed = skipped(traces).into_iter().map(|what| Missed { tables: Vec::new(), what }).collect();
    Tallies { missed, ..Tallies::of(&named) }
}

/// What was not probed, and why: modules, launches, and places at which a clause does nothing. That a program has nothing to do
/// somewhere is no loss.
pub fn skipped(traces: &[(String, Trace)]) -> Vec<String> {
    let (mut places, mut modules, mut launches) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    for trace in traces.iter().map(|(_, trace)| trace) {
        for skipped in trace.skipped.iter().filter(|s| s.reason != IDLE) {
            match skipped.kernel {
                Some(_) if skipped.reason.ends_with(NOWHERE) => {}
                Some(_) => drop(places.insert(skipped.reason.clone())),
                None => *modules.entry(&skipped.reason).or_insert(0) += 1,
            }
        }
        let reasons = trace.launches.iter().filter_map(|l| l.launch.skipped.as_ref());
        reasons.filter(|why| *why != IDLE).for_each(|why| *launches.entry(why).or_insert(0) += 1);
    }
    let of = |all: BTreeMap<&String, usize>, one: &str, many: &str| -> Vec<String> {
        all.into_iter().map(|(why, n)| format!("{} not probed: {why}", count(n, one, many))).collect()
    };
    let (modules, launches) = (of(modules, "module", "modules"), of(launches, "launch", "launches"));
    modules.into_iter().chain(launches).chain(places).collect()
}

/// Clauses that landed in none of the modules that were probed.
pub fn nowhere(traces: &[(String, Trace)]) -> Vec<String> {
    // How many modules there are of a name, and in how many of them a clause does nothing.
    let mut modules: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut idle: BTreeMap<&str, BTreeMap<(usize, &str), usize>> = BTreeMap::new();
    for (i, (_, trace)) in traces.iter().enumerate() {
        for module in trace.modules.iter().filter(|m| !m.tables.is_empty()) {
            *modules.entry((i, &module.name)).or_default() += 1;
        }
        for skipped in trace.skipped.iter().filter(|s| s.reason.ends_with(NOWHERE)) {
            *idle.entry(&skipped.reason).or_default().entry((i, &skipped.module)).or_default() += 1;
        }
    }
    let everywhere = |of: &BTreeMap<_, _>| modules.iter().all(|(key, n)| of.get(key).is_some_and(|m| m >= n));
    idle.iter().filter(|(_, of)| everywhere(of)).map(|(reason, _)| (*reason).to_owned()).collect()
}

/// Prints tables, and writes the files that were asked for.
pub fn print(tallies: &Tallies, title: &str, args: &TallyArgs, ui: &Ui) -> Result<()> {
    let write = |path: &Path, text: Vec<u8>| {
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    if let Some(path) = &args.html {
        let mut page = Vec::new();
        prlx_present::tallies_html(&mut page, tallies, title)?;
        write(path, page)?;
    }
    if let Some(folder) = &args.csv {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (table, name) in tallies.tables.iter().zip(names(tallies)) {
            let mut text = Vec::new();
            prlx_present::tallies_csv(&mut text, table)?;
            write(&folder.join(name + ".csv"), text)?;
        }
    }
    #[cfg(feature = "parquet")]
    if let Some(folder) = &args.parquet {
        crate::tables::of_tallies(&tallies.tables, &names(tallies), folder)?;
    }
    let mut out = io::stdout().lock();
    if args.json {
        prlx_present::tallies_json(&mut out, tallies)?;
    } else {
        prlx_present::tallies(&mut out, tallies, args.top, &ui.style())?;
    }
    out.flush()?;
    Ok(())
}

/// Names of files for tables, each another: tables of one name can differ in kind.
fn names(tallies: &Tallies) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for table in &tallies.tables {
        let mut name = if table.name.is_empty() { "table".to_owned() } else { file_name(&table.name) };
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

/// A table's name as that of a file: recordings of others may have any.
fn file_name(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().take(100).map(|c| if fits(c) { c } else { '_' }).collect()
}
