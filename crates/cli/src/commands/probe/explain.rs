//! `prlx probe explain`: prints the code that a probe program inserts into a module, clause by clause.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx::probe::{self, ClauseExplanation, Totals, count};

use crate::args::ProbeExplainArgs;
use crate::ui::Ui;

/// Prints each clause, then the totals.
pub fn run(args: &ProbeExplainArgs, ui: &Ui) -> Result<ExitCode> {
    let selected = probe::select(&args.words, args.file.as_deref(), &ui.monitor())?;
    let path = match selected.rest {
        [] => return print_program(&selected.script.text, ui),
        [path] => path,
        _ => bail!("name at most one PTX file or launch file after the probe program"),
    };
    let explained = probe::explain(&selected.script, Path::new(path), &args.kernel)?;
    let mut out = ui.out(false);
    writeln!(out, "{}", explained.module)?;
    for (i, clause) in explained.clauses.iter().enumerate() {
        print_clause(&mut out, i + 1, clause, args.places)?;
    }
    explained.unmatched.iter().try_for_each(|line| writeln!(out, "\n{line}"))?;
    print_totals(&mut out, &explained.totals)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a program as it is written: a tool explains itself in its first lines.
fn print_program(text: &str, ui: &Ui) -> Result<ExitCode> {
    let mut out = ui.out(false);
    writeln!(out, "{}", text.trim_end())?;
    writeln!(out, "\n// The code that it inserts: name a PTX file or launch file after the program.")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints clause `number`, with the code of `places` places at most.
fn print_clause(
    out: &mut impl Write,
    number: usize,
    clause: &ClauseExplanation,
    places: usize,
) -> io::Result<()> {
    writeln!(out, "\nclause {number}  {}", clause.heading)?;
    if clause.insertions == 0 {
        writeln!(out, "  matches no instruction")?;
    } else {
        let how = match clause.counters {
            0 => "code at every visit",
            n if n == clause.insertions => "a counter in a register, added to its row when the thread ends",
            _ => "some counters in registers, otherwise code at every visit",
        };
        let insertions = count(clause.insertions, "insertion", "insertions");
        writeln!(out, "  {insertions} in {}: {how}", count(clause.functions, "function", "functions"))?;
        let depth = match clause.loop_depth {
            0 => "none in a loop".to_owned(),
            1 => "at most in 1 loop".to_owned(),
            n => format!("at most in {n} nested loops"),
        };
        let atomics = match clause.atomics {
            0 => String::new(),
            n => format!(", {n} of them atomic"),
        };
        writeln!(out, "  {} inserted instructions{atomics}; {depth}", clause.instructions)?;
    }
    for code in clause.code.iter().take(places) {
        writeln!(out, "  {}", prlx_present::safe(&code.place))?;
        for line in code.text.lines().filter(|l| !l.trim().is_empty()) {
            writeln!(out, "      {}", prlx_present::safe(line.trim()))?;
        }
    }
    if clause.code.len() > places {
        let more = clause.insertions.saturating_sub(places);
        writeln!(out, "  and {}", count(more, "more place", "more places"))?;
    }
    for what in &clause.unavailable {
        writeln!(out, "  {}", prlx_present::safe(what))?;
    }
    Ok(())
}

/// Prints what the clauses take together.
fn print_totals(out: &mut impl Write, totals: &Totals) -> io::Result<()> {
    let instructions = totals.instructions;
    writeln!(
        out,
        "\ntotal  {instructions} inserted instructions, with those at the begin and the end of kernels"
    )?;
    if !totals.registers.is_empty() {
        let each: Vec<String> = totals.registers.iter().map(|(ty, n)| format!("{n} {ty}")).collect();
        let counters = count(totals.counters, "counter", "counters");
        let variables = count(totals.variables, "variable", "variables");
        writeln!(out, "  registers of a thread: {} ({variables}, {counters})", each.join(", "))?;
    }
    if totals.table_bytes > 0 {
        writeln!(out, "  tables: {} bytes", totals.table_bytes)?;
    }
    if totals.shared_bytes > 0 {
        writeln!(out, "  warp and CTA variables: {} bytes for each warp", totals.shared_bytes)?;
    }
    if totals.record_bytes > 0 {
        writeln!(out, "  records: {} bytes for each warp", totals.record_bytes)?;
    }
    Ok(())
}
