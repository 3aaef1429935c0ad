//! `prlx probe check`: checks a probe program, and prints where it matches in modules.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::probe::{Checked, check_module, count, select};
use prlx_probe::lang::Script;

use crate::args::ProbeCheckArgs;
use crate::ui::Ui;

/// Checks it. A program that matches nothing in any of the modules is an error.
pub fn run(args: &ProbeCheckArgs, ui: &Ui) -> Result<ExitCode> {
    let selected = select(&args.words, args.file.as_deref(), &ui.monitor())?;
    let script = &selected.script;
    let mut out = ui.out(false);
    if args.print {
        write!(out, "{script}")?;
    } else {
        writeln!(out, "ok: {}", contents(script))?;
    }
    let mut matched = selected.rest.is_empty();
    for path in selected.rest {
        let checked = check_module(script, Path::new(path))?;
        matched |= !checked.matches.is_empty();
        print(&mut out, &checked, ui)?;
    }
    out.flush()?;
    if !matched {
        bail!("the probe program matches no instruction");
    }
    Ok(ExitCode::SUCCESS)
}

/// What a program consists of.
fn contents(script: &Script) -> String {
    let parts = [
        (script.clauses.len(), "clause", "clauses"),
        (script.tables.len(), "table", "tables"),
        (script.records.len(), "record", "records"),
        (script.vars.len(), "variable", "variables"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|p| p.0 > 0).map(|(n, one, many)| count(*n, one, many)).collect();
    parts.join(", ")
}

fn print(out: &mut impl Write, checked: &Checked, ui: &Ui) -> Result<()> {
    writeln!(out, "\n{}", checked.module)?;
    for found in &checked.matches {
        let places = count(found.places, "place", "places");
        let functions = count(found.functions, "function", "functions");
        writeln!(out, "  {}: {places} in {functions}", found.tracepoint)?;
    }
    checked.unmatched.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
    for what in &checked.unavailable {
        writeln!(out, "  {}", prlx_present::safe(what))?;
    }
    for (function, why) in &checked.skipped {
        ui.warn(&format!("{} stays unchanged: {why}", prlx_present::safe(function)));
    }
    Ok(())
}
