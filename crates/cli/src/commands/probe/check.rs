//! Reads a program; with modules, says where it lands in them.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, bail};
use prlx_plan::Plan;
use prlx_probe::ProbeMatch;

use super::{Code, count, given, place, program};
use crate::args::ProbeCheckArgs;
use crate::ui::Ui;

/// Checks it. A program that lands nowhere in any of the modules is an error.
pub fn run(args: &ProbeCheckArgs, ui: &Ui) -> Result<ExitCode> {
    let given = given(&args.words, args.file.as_deref(), ui)?;
    let script = &given.script;
    let mut out = io::stdout().lock();
    if args.print {
        write!(out, "{script}")?;
    } else {
        let parts = [
            (script.clauses.len(), "clause", "clauses"),
            (script.tables.len(), "table", "tables"),
            (script.records.len(), "record", "records"),
            (script.vars.len(), "variable", "variables"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|p| p.0 > 0).map(|(n, one, many)| count(*n, one, many)).collect();
        writeln!(out, "ok: {}", parts.join(", "))?;
    }
    let mut anywhere = given.rest.is_empty();
    for path in given.rest {
        let code = Code::load(path)?;
        let program = program(script, &code.kernels(&[]));
        let landings = ProbeMatch::all(script, &code.module, &code.text, &program.filter);
        let nowhere = place::nowhere(script, &code.module, &program.filter, &landings);
        anywhere |= !nowhere.all;
        writeln!(out, "\n{}", code.name)?;
        for l in landings.iter().filter(|l| !l.holds.is_empty()) {
            let point = &script.clauses[l.clause].tracepoints[l.tracepoint];
            let functions: BTreeSet<u32> = l.holds.iter().map(|(f, _)| f.0).collect();
            let places = count(l.holds.len(), "place", "places");
            let functions = count(functions.len(), "function", "functions");
            writeln!(out, "  {point}: {places} in {functions}")?;
        }
        nowhere.lines.iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        let plan = Plan::resolve(&program, &code.module, &code.text, &code.name, &|_| None);
        for missed in place::missed(script, &code.module, &code.text, &plan.kept.missed) {
            writeln!(out, "  {}", prlx_present::safe(&missed.what))?;
        }
        for (function, why) in plan.module.functions.iter().filter_map(|f| Some((f, f.skipped.as_ref()?))) {
            if function.kernel && code.kernel.as_ref().is_none_or(|k| *k == function.name) {
                ui.warn(&format!("{} is left as it is: {why}", prlx_present::safe(&function.name)));
            }
        }
    }
    out.flush()?;
    if !anywhere {
        bail!("the program lands nowhere");
    }
    Ok(ExitCode::SUCCESS)
}
