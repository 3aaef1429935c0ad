//! Shows the code that a program becomes in a module, clause by clause, and what it costs.
//!
//! Each clause is woven in alone, so that its code can be told from the others'; what they share (setting up, adding counters
//! to tables when a thread ends) is shown once, of the whole program. Costs are counts of what is written in, weighed by
//! nothing: `prlx cost` measures.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use prlx_instrument::Edit;
use prlx_isa::view::FuncId;
use prlx_plan::{Action, At, Insertion, Plan, ProbeProgram};
use prlx_probe::ProbeMatch;
use prlx_probe::lang::Script;

use super::{Code, count, given, place, program};
use crate::args::ProbeExplainArgs;
use crate::ui::Ui;

/// Explains it.
pub fn run(args: &ProbeExplainArgs, ui: &Ui) -> Result<ExitCode> {
    let given = given(&args.words, args.file.as_deref(), ui)?;
    let [path] = given.rest else { bail!("name one PTX file or launch file behind the program") };
    let code = Code::load(path)?;
    let kernels = code.kernels(&args.kernel);
    let script = &given.script;
    let whole = program(script, &kernels);
    let landings = ProbeMatch::all(script, &code.module, &code.text, &whole.filter);
    let nowhere = place::nowhere(script, &code.module, &whole.filter, &landings);
    if nowhere.all {
        bail!("the program lands nowhere in {}\n  {}", code.name, nowhere.lines.join("\n  "));
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", code.name)?;
    for clause in 0..script.clauses.len() {
        let alone = Script { clauses: vec![script.clauses[clause].clone()], ..(**script).clone() };
        let alone = Arc::new(alone);
        let of_clause = Woven::new(&code, &alone, &kernels)?;
        explain(&mut out, &code, script, clause, &of_clause, args.places)?;
    }
    nowhere.lines.iter().try_for_each(|line| writeln!(out, "\n{line}"))?;
    let all = Woven::new(&code, script, &kernels)?;
    shared(&mut out, &all)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A program in a module.
struct Woven {
    plan: Plan,
    edits: Vec<Edit>,
}

impl Woven {
    fn new(code: &Code, script: &Arc<Script>, kernels: &[String]) -> Result<Woven> {
        let rewrite = prlx_instrument::rewrite(&code.text, &code.name, &program(script, kernels), &|_| None)
            .with_context(|| format!("cannot probe {}", code.name))?;
        let edits = prlx_instrument::ptx(&code.text, &rewrite.module, &rewrite.plan)?;
        Ok(Woven { plan: rewrite.plan, edits })
    }

    /// What runs of the program, by place.
    fn probes(&self) -> impl Iterator<Item = (FuncId, &Insertion)> {
        let functions = self.plan.functions.iter().filter(|f| f.skipped.is_none());
        let all = functions.flat_map(|f| f.insertions.iter().map(|i| (f.function, i)));
        all.filter(|(_, i)| matches!(i.action, Action::Probe(_) | Action::Count { .. }))
    }
}

fn explain(
    out: &mut impl Write,
    code: &Code,
    script: &Script,
    clause: usize,
    woven: &Woven,
    most: usize,
) -> Result<()> {
    writeln!(out, "\nclause {}  {}", clause + 1, script.clause(clause))?;
    let probes: Vec<(FuncId, &Insertion)> = woven.probes().collect();
    let functions: BTreeSet<u32> = probes.iter().map(|(f, _)| f.0).collect();
    if probes.is_empty() {
        writeln!(out, "  lands nowhere")?;
    } else {
        let counters = probes.iter().filter(|(_, i)| matches!(i.action, Action::Count { .. })).count();
        let how = match counters {
            0 => "code at every visit",
            n if n == probes.len() => "a counter in a register, added to its row when the thread ends",
            _ => "counters in registers at some, code at every visit at the others",
        };
        let places = count(probes.len(), "insertion", "insertions");
        writeln!(out, "  {places} in {}: {how}", count(functions.len(), "function", "functions"))?;
        let cost = cost(code, woven, &probes);
        writeln!(out, "  {cost}")?;
    }
    for (shown, ((function, at), text)) in texts(code, woven, &probes).into_iter().enumerate() {
        if shown == most {
            let more = probes.len().saturating_sub(most);
            writeln!(out, "  and {}", count(more, "more place", "more places"))?;
            break;
        }
        writeln!(
            out,
            "  {}",
            prlx_present::safe(&place::at(&code.module, &code.text, FuncId(function), at))
        )?;
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            writeln!(out, "      {}", prlx_present::safe(line.trim()))?;
        }
    }
    for missed in place::missed(script, &code.module, &code.text, &missed(woven, clause)) {
        writeln!(out, "  {}", prlx_present::safe(&missed.what))?;
    }
    Ok(())
}

/// What is missed, as of the clause that the woven program has alone.
fn missed(woven: &Woven, clause: usize) -> Vec<prlx_plan::Missed> {
    woven.plan.kept.missed.iter().map(|m| prlx_plan::Missed { clause, ..m.clone() }).collect()
}

/// The code at each place, in their order.
fn texts(code: &Code, woven: &Woven, probes: &[(FuncId, &Insertion)]) -> Vec<((u32, At), String)> {
    let mut out: Vec<((u32, At), String)> = Vec::new();
    for (function, insertion) in probes {
        let key = (function.0, insertion.at);
        if out.last().is_some_and(|(last, _)| *last == key) {
            continue;
        }
        let Some(f) = code.module.functions.get(function.index()) else { continue };
        let byte = match insertion.at {
            At::Entry => f.insts.first().map(|i| i.span.start),
            At::Before(i) => f.insts.get(i.index()).map(|i| i.span.start),
            At::After(i) => f.insts.get(i.index()).map(|i| i.span.end),
        };
        let here = woven.edits.iter().filter(|e| Some(e.at) == byte);
        out.push((key, here.map(|e| e.text.as_str()).collect::<Vec<_>>().join("\n")));
    }
    out
}

/// How much is written in, and where it is deepest in loops.
fn cost(code: &Code, woven: &Woven, probes: &[(FuncId, &Insertion)]) -> String {
    let texts = texts(code, woven, probes);
    let written: Vec<Written> = texts.iter().map(|(_, text)| Written::of(text)).collect();
    let total: u64 = written.iter().map(|w| w.instructions).sum();
    let atomics: u64 = written.iter().map(|w| w.atomics).sum();
    let depth = probes.iter().map(|(f, i)| depth(code, woven, *f, i.at)).max().unwrap_or(0);
    let deepest = match depth {
        0 => "none in a loop".to_owned(),
        1 => "the deepest in a loop".to_owned(),
        n => format!("the deepest in {n} loops"),
    };
    let atomics = if atomics > 0 { format!(", {atomics} of them atomic") } else { String::new() };
    format!("{total} instructions written in{atomics}; {deepest}")
}

/// In how many loops a place is.
fn depth(code: &Code, woven: &Woven, function: FuncId, at: At) -> usize {
    let (At::Before(inst) | At::After(inst)) = at else { return 0 };
    let f = code.module.functions.get(function.index());
    let block = f.and_then(|f| f.insts.get(inst.index())).map(|i| i.block.0);
    let loops = woven.plan.module.functions.get(function.index()).map_or(&[][..], |f| &f.loops[..]);
    loops.iter().filter(|l| l.blocks.iter().any(|b| Some(b.0) == block)).count()
}

/// What is in a piece of PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Written {
    instructions: u64,
    atomics: u64,
}

impl Written {
    fn of(text: &str) -> Written {
        let mut written = Written::default();
        for statement in text.split([';', '{', '}', '\n']).map(str::trim) {
            // Directives declare, and labels are places.
            let statement = statement.rsplit_once(':').map_or(statement, |(_, rest)| rest.trim());
            let opcode = statement.split_whitespace().find(|w| !w.starts_with('@')).unwrap_or_default();
            if opcode.starts_with(|c: char| c.is_ascii_lowercase()) && statement.len() > 1 {
                written.instructions += 1;
                written.atomics += u64::from(matches!(opcode.split('.').next(), Some("red" | "atom")));
            }
        }
        written
    }
}

/// What the clauses share.
fn shared(out: &mut impl Write, woven: &Woven) -> Result<()> {
    let kept = &woven.plan.kept;
    let all: u64 = woven.edits.iter().map(|e| Written::of(&e.text).instructions).sum();
    writeln!(out, "\nall of it  {all} instructions written in, with those at begins and ends")?;
    let mut registers: BTreeMap<&str, usize> = BTreeMap::new();
    kept.vars.iter().for_each(|v| *registers.entry(v.ty.name()).or_default() += 1);
    let packed = kept.packed;
    for (ty, n) in [("u32", packed.words() as usize), ("u64", kept.counters.len() - packed.counters as usize)]
    {
        if n > 0 {
            *registers.entry(ty).or_default() += n;
        }
    }
    if !registers.is_empty() {
        let each: Vec<String> = registers.into_iter().map(|(ty, n)| format!("{n} {ty}")).collect();
        let counters = count(kept.counters.len(), "counter", "counters");
        let vars = count(kept.vars.len(), "variable", "variables");
        writeln!(out, "  a thread keeps {} ({vars}, {counters})", each.join(", "))?;
    }
    let bytes = kept.table_bytes();
    if bytes > 0 {
        writeln!(out, "  tables take {bytes} bytes")?;
    }
    let held = 8 * kept.held.len() as u64;
    if held > 0 {
        writeln!(out, "  variables of warps and CTAs take {held} bytes a warp")?;
    }
    if kept.records.warp > held {
        writeln!(out, "  records take {} bytes a warp", kept.records.warp - held)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Written;

    #[test]
    fn instructions_are_counted() {
        let text = "{\n.reg .u64 %a<3>;\nmov.u64 %a1, %clock64; // why\n@%p red.global.add.u64 [%a2], 1;\nredux.sync.max.u32 %b, %b, %c;\nL: add.u64 %a1, %a1, 1;\n}\n";
        assert_eq!(Written::of(text), Written { instructions: 4, atomics: 1 });
        assert_eq!(Written::of("// nothing"), Written::default());
    }
}
