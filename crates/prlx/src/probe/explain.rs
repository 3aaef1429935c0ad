//! Explains what a probe program inserts into a module, clause by clause.
//!
//! Each clause is inserted alone, so that its code is separate from that of the others. What the clauses
//! share (initialisation, flushing counters when a thread ends) appears once, in the totals.
//!
//! # Limitations
//! - Costs are counts of inserted instructions, without weights. `prlx cost` measures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use prlx_instrument::Edit;
use prlx_isa::view::FuncId;
use prlx_plan::ProbeProgram as _;
use prlx_plan::{Action, At, Insertion, Plan, Unavailable};
use prlx_probe::ProbeMatch;
use prlx_probe::lang::Script;

use super::code::Code;
use super::matches;
use super::plan::recording_request;

/// What a program inserts into a module.
#[derive(Debug)]
pub struct Explanation {
    /// The module's name.
    pub module: String,
    /// What each clause inserts, in the order of the program.
    pub clauses: Vec<ClauseExplanation>,
    /// Why some tracepoints match nothing.
    pub unmatched: Vec<String>,
    /// The whole program.
    pub totals: Totals,
}

/// What one clause inserts.
#[derive(Debug)]
pub struct ClauseExplanation {
    /// The clause's tracepoints and predicate, as text.
    pub heading: String,
    /// Number of insertions.
    pub insertions: usize,
    /// Number of functions with insertions.
    pub functions: usize,
    /// Insertions that only add to a counter in a register.
    pub counters: usize,
    /// Instructions at the insertions.
    pub instructions: u64,
    /// Atomic operations among them.
    pub atomics: u64,
    /// Number of loops around the most deeply nested insertion.
    pub loop_depth: usize,
    /// The code at each place.
    pub code: Vec<InsertedCode>,
    /// What is unavailable at some matches.
    pub unavailable: Vec<String>,
}

/// The code that is inserted at one place.
#[derive(Debug)]
pub struct InsertedCode {
    /// Where it is.
    pub place: String,
    /// The inserted PTX.
    pub text: String,
}

/// What the whole program takes.
#[derive(Debug)]
pub struct Totals {
    /// Inserted instructions, with those at the begin and the end of kernels.
    pub instructions: u64,
    /// Registers that a thread keeps, by PTX type.
    pub registers: BTreeMap<&'static str, usize>,
    /// Variables among what the registers hold.
    pub variables: usize,
    /// Counters among what the registers hold.
    pub counters: usize,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// Bytes of warp and CTA variables, for each warp.
    pub shared_bytes: u64,
    /// Bytes of records, for each warp.
    pub record_bytes: u64,
}

/// Explains a program in a launch file's module, or in a file that is or holds PTX; in kernels that match one
/// of `kernels`.
///
/// # Errors
/// If the file cannot be read, the program matches nothing, or cannot be inserted.
pub fn explain(script: &Arc<Script>, path: &Path, kernels: &[String]) -> Result<Explanation> {
    let code = Code::load(path)?;
    if let Some(set) = code.machine_code {
        bail!(
            "{} is {}, and inserted code is shown of PTX only: use `prlx probe --rewritten`",
            code.name,
            set.code_name()
        );
    }
    let kernels = code.kernels(kernels);
    let program = recording_request(script, &kernels);
    let found = ProbeMatch::all(script, &code.module, &program.filter);
    let unmatched = matches::unmatched(script, &code.module, &program.filter, &found);
    if unmatched.all {
        bail!(
            "the probe program matches no instruction in {}\n  {}",
            code.name,
            unmatched.lines.join("\n  ")
        );
    }
    let clauses = (0..script.clauses.len()).map(|clause| {
        let alone = Script { clauses: vec![script.clauses[clause].clone()], ..(**script).clone() };
        let instrumented = Instrumented::new(&code, &Arc::new(alone), &kernels)?;
        Ok(explain_clause(&code, script, clause, &instrumented))
    });
    let clauses = clauses.collect::<Result<_>>()?;
    let totals = totals(&Instrumented::new(&code, script, &kernels)?);
    Ok(Explanation { module: code.name, clauses, unmatched: unmatched.lines, totals })
}

/// A module with a program inserted.
struct Instrumented {
    plan: Plan,
    edits: Vec<Edit>,
}

impl Instrumented {
    fn new(code: &Code, script: &Arc<Script>, kernels: &[String]) -> Result<Instrumented> {
        let program = recording_request(script, kernels);
        let rewrite = prlx_instrument::rewrite(&code.text, &code.name, &program, &|_| None)
            .with_context(|| format!("cannot probe {}", code.name))?;
        let edits = prlx_instrument::ptx(&code.text, &rewrite.module, &rewrite.plan)?;
        Ok(Instrumented { plan: rewrite.plan, edits })
    }

    /// The insertions of the program's own actions, by function.
    fn probes(&self) -> Vec<(FuncId, &Insertion)> {
        let functions = self.plan.functions.iter().filter(|f| f.skipped.is_none());
        let all = functions.flat_map(|f| f.insertions.iter().map(|i| (f.function, i)));
        all.filter(|(_, i)| matches!(i.action, Action::Probe(_) | Action::Count { .. })).collect()
    }
}

fn explain_clause(
    code: &Code,
    script: &Script,
    clause: usize,
    instrumented: &Instrumented,
) -> ClauseExplanation {
    let probes = instrumented.probes();
    let functions: BTreeSet<u32> = probes.iter().map(|(f, _)| f.0).collect();
    let code_at = inserted_code(code, instrumented, &probes);
    let sizes: Vec<CodeSize> = code_at.iter().map(|c| CodeSize::of(&c.text)).collect();
    // The instrumented script has this clause alone, as its first.
    let missed =
        instrumented.plan.probe_state.unavailable.iter().map(|m| Unavailable { clause, ..m.clone() });
    let missed: Vec<Unavailable> = missed.collect();
    let unavailable = matches::unavailable(script, &code.module, &missed);
    ClauseExplanation {
        heading: script.clause(clause),
        insertions: probes.len(),
        functions: functions.len(),
        counters: probes.iter().filter(|(_, i)| matches!(i.action, Action::Count { .. })).count(),
        instructions: sizes.iter().map(|s| s.instructions).sum(),
        atomics: sizes.iter().map(|s| s.atomics).sum(),
        loop_depth: probes.iter().map(|(f, i)| loop_depth(code, instrumented, *f, i.at)).max().unwrap_or(0),
        code: code_at,
        unavailable: unavailable.into_iter().map(|m| m.what).collect(),
    }
}

/// The code at each place, in the order of the insertions.
fn inserted_code(
    code: &Code,
    instrumented: &Instrumented,
    probes: &[(FuncId, &Insertion)],
) -> Vec<InsertedCode> {
    let mut out: Vec<InsertedCode> = Vec::new();
    let mut last = None;
    for (function, insertion) in probes {
        let key = (*function, insertion.at);
        if last.replace(key) == Some(key) {
            continue;
        }
        let Some(f) = code.module.functions.get(function.index()) else { continue };
        let byte = match insertion.at {
            At::Entry => f.insts.first().map(|i| i.span.start),
            At::Before(i) => f.insts.get(i.index()).map(|i| i.span.start),
            At::After(i) => f.insts.get(i.index()).map(|i| i.span.end),
        };
        let here = instrumented.edits.iter().filter(|e| Some(e.at) == byte);
        out.push(InsertedCode {
            place: matches::at(&code.module, *function, insertion.at),
            text: here.map(|e| e.text.as_str()).collect::<Vec<_>>().join("\n"),
        });
    }
    out
}

/// Number of loops around a place.
fn loop_depth(code: &Code, instrumented: &Instrumented, function: FuncId, at: At) -> usize {
    let (At::Before(inst) | At::After(inst)) = at else { return 0 };
    let f = code.module.functions.get(function.index());
    let block = f.and_then(|f| f.insts.get(inst.index())).map(|i| i.block.0);
    let functions = &instrumented.plan.module.functions;
    let loops = functions.get(function.index()).map_or(&[][..], |f| &f.loops[..]);
    loops.iter().filter(|l| l.blocks.iter().any(|b| Some(b.0) == block)).count()
}

/// The size of a piece of PTX.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct CodeSize {
    instructions: u64,
    atomics: u64,
}

impl CodeSize {
    fn of(text: &str) -> CodeSize {
        let mut size = CodeSize::default();
        for statement in text.split([';', '{', '}', '\n']).map(str::trim) {
            // Directives declare, and labels name an address: neither is an instruction.
            let statement = statement.rsplit_once(':').map_or(statement, |(_, rest)| rest.trim());
            let opcode = statement.split_whitespace().find(|w| !w.starts_with('@')).unwrap_or_default();
            if opcode.starts_with(|c: char| c.is_ascii_lowercase()) && statement.len() > 1 {
                size.instructions += 1;
                size.atomics += u64::from(matches!(opcode.split('.').next(), Some("red" | "atom")));
            }
        }
        size
    }
}

/// What the whole program takes.
fn totals(instrumented: &Instrumented) -> Totals {
    let kept = &instrumented.plan.probe_state;
    let mut registers: BTreeMap<&'static str, usize> = BTreeMap::new();
    kept.vars.iter().for_each(|v| *registers.entry(v.ty.name()).or_default() += 1);
    let packed = kept.packed;
    for (ty, n) in [("u32", packed.words() as usize), ("u64", kept.counters.len() - packed.counters as usize)]
    {
        if n > 0 {
            *registers.entry(ty).or_default() += n;
        }
    }
    let shared_bytes = 8 * kept.shared_variables.len() as u64;
    Totals {
        instructions: instrumented.edits.iter().map(|e| CodeSize::of(&e.text).instructions).sum(),
        registers,
        variables: kept.vars.len(),
        counters: kept.counters.len(),
        table_bytes: kept.table_bytes(),
        shared_bytes,
        record_bytes: kept.records.warp.saturating_sub(shared_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::CodeSize;

    #[test]
    fn instructions_are_counted() {
        let text = "{\n.reg .u64 %a<3>;\nmov.u64 %a1, %clock64; // why\n@%p red.global.add.u64 [%a2], 1;\nredux.sync.max.u32 %b, %b, %c;\nL: add.u64 %a1, %a1, 1;\n}\n";
        assert_eq!(CodeSize::of(text), CodeSize { instructions: 4, atomics: 1 });
        assert_eq!(CodeSize::of("// nothing"), CodeSize::default());
    }
}
