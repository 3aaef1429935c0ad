//! `prlx probe list`: prints the tools in the box, and what probe programs are written with.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use prlx_probe::lang::{AGGREGATES, BUILTINS, FUNCTIONS, TRACEPOINTS};
use prlx_probe::tools::TOOLS;

/// Prints everything, from the tables that define the language.
pub fn run() -> Result<ExitCode> {
    let mut out = io::stdout().lock();
    let call = |name: &str, args: &[&str]| format!("{name}({})", args.join(", "));
    let plain = |text: &str| text.replace('`', "");
    let tools = TOOLS.iter().map(|(name, what, _)| ((*name).to_owned(), plain(what)));
    section(&mut out, "Tools", tools.collect())?;
    let points = TRACEPOINTS.iter().map(|(_, form, what)| (plain(form), plain(what)));
    section(&mut out, "Tracepoints", points.collect())?;
    let aggregates = AGGREGATES.iter().map(|(name, args, what)| (call(name, args), plain(what)));
    section(&mut out, "Aggregates of tables", aggregates.collect())?;
    let typed = BUILTINS.iter().map(|(name, _, gives, what)| {
        (format!("{name:<12}  {}", gives.ty().map_or("text", |ty| ty.name())), plain(what))
    });
    section(&mut out, "Builtins", typed.collect())?;
    let functions = FUNCTIONS.iter().map(|(name, _, args, what)| (call(name, args), plain(what)));
    section(&mut out, "Functions", functions.collect())?;
    writeln!(out, "The tools: docs/probe-tools.md; the whole language: docs/probes.md")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn section(out: &mut impl Write, title: &str, rows: Vec<(String, String)>) -> io::Result<()> {
    writeln!(out, "{title}")?;
    // A name that is much longer than the others has a line of its own.
    let width = rows.iter().map(|(name, _)| name.len()).filter(|n| *n <= 40).max().unwrap_or(0);
    for (name, what) in rows {
        if name.len() > width {
            writeln!(out, "  {name}\n  {:width$}  {what}", "")?;
        } else {
            writeln!(out, "  {name:width$}  {what}")?;
        }
    }
    writeln!(out)
}
