//! Prints tables: of recordings, and of what has just run.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use prlx_driver::session::Session;
use prlx_present::tallies::{Missed, Tallies};
use prlx_trace::{Level, Trace};

use crate::args::{ProbeShowArgs, TallyArgs};
use crate::report;
use crate::ui::Ui;

/// Prints the tables of recordings.
pub fn run(args: &ProbeShowArgs, ui: &Ui) -> Result<ExitCode> {
    let mut traces: Vec<(String, Trace)> = Vec::new();
    for path in &args.recordings {
        let session = Session::open(path)?;
        let before = traces.len();
        for (i, file) in session.files.iter().enumerate() {
            let trace = report::read(&session, i)?;
            if let Some(cut) = &trace.cut {
                ui.warn(&format!("{}: {cut}: there may have been more", file.path.display()));
            }
            traces.push((file.path.display().to_string(), trace));
        }
        let new = traces.get(before..).unwrap_or_default();
        if !new.iter().flat_map(|(_, t)| &t.modules).any(|m| !m.tables.is_empty()) {
            let levels: BTreeSet<&str> =
                new.iter().flat_map(|(_, t)| &t.launches).map(|l| l.launch.level.name()).collect();
            match levels.iter().next().filter(|l| **l != Level::Probe.name()) {
                Some(level) => bail!(
                    "{} is a recording at level {level}, without tables: `prlx inspect` and `prlx diff` are for it",
                    path.display()
                ),
                None => bail!("{} has no tables", path.display()),
            }
        }
    }
    let named: Vec<(String, &Trace)> = traces.iter().map(|(name, trace)| (name.clone(), trace)).collect();
    let mut tallies = Tallies::of(&named);
    let untold: BTreeSet<&str> =
        traces.iter().flat_map(|(_, t)| &t.skipped).map(|skipped| skipped.reason.as_str()).collect();
    tallies.missed = untold.into_iter().map(|what| Missed { tables: Vec::new(), what: what.to_owned() }).collect();
    let names: Vec<String> = args.recordings.iter().map(|p| p.display().to_string()).collect();
    print(&tallies, &format!("Probes of {}", names.join(", ")), &args.show, ui)?;
    Ok(ExitCode::SUCCESS)
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
        let mut names = BTreeSet::new();
        for table in &tallies.tables {
            let mut name = if table.name.is_empty() { "table".to_owned() } else { file_name(&table.name) };
            // Tables of one name can differ in kind.
            while !names.insert(name.clone()) {
                name.push('_');
            }
            let mut text = Vec::new();
            prlx_present::tallies_csv(&mut text, table)?;
            write(&folder.join(name + ".csv"), text)?;
        }
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

/// A table's name as that of a file: recordings of others may have any.
fn file_name(name: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || c == '_';
    name.chars().take(100).map(|c| if fits(c) { c } else { '_' }).collect()
}
