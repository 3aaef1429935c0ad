//! Describes where clauses of a probe program match, and what is unavailable there.

use std::collections::BTreeSet;

use prlx_instrument::Rewrite;
use prlx_isa::view::{FuncId, Module};
use prlx_plan::{At, Filter, ProbeProgram, UNPROBED, Unavailable};
use prlx_present::tallies;
use prlx_probe::ProbeMatch;
use prlx_probe::alternatives;
use prlx_probe::diagnostics::{self, inst};
use prlx_probe::lang::{Script, Stmt};

use super::count::count;

/// Describes where an insertion is.
pub(super) fn at(module: &Module, function: FuncId, at: At) -> String {
    match at {
        At::Entry => format!("the begin of {}", inst(module, function, None)),
        At::Before(i) => format!("before {}", inst(module, function, Some(i))),
        At::After(i) => format!("after {}", inst(module, function, Some(i))),
    }
}

/// What the plan says is unavailable, each reason once for a clause, with the tables that miss it.
pub(super) fn unavailable(
    script: &Script,
    module: &Module,
    all: &[Unavailable],
) -> Vec<tallies::Unavailable> {
    let diagnostics = diagnostics::missed(script, module, all).into_iter();
    diagnostics.map(|(clause, what)| tallies::Unavailable { tables: tables(script, clause), what }).collect()
}

/// Names of the tables and records that a clause writes to.
fn tables(script: &Script, clause: usize) -> Vec<String> {
    fn walk(script: &Script, body: &[Stmt], out: &mut BTreeSet<String>) {
        for stmt in body {
            match stmt {
                Stmt::Update(update) => out.extend(script.tables.get(update.table).map(|t| t.name.clone())),
                Stmt::Save { record, .. } => out.extend(script.records.get(*record).map(|r| r.name.clone())),
                Stmt::If(_, then, other) => {
                    walk(script, then, out);
                    walk(script, other, out);
                }
                Stmt::For(_, _, body, _) => walk(script, body, out),
                Stmt::Local(..) | Stmt::Assign(..) | Stmt::Merge { .. } => {}
            }
        }
    }
    let mut out = BTreeSet::new();
    if let Some(clause) = script.clauses.get(clause) {
        walk(script, &clause.body, &mut out);
    }
    out.into_iter().collect()
}

/// The parts of a program that match nothing in a module.
pub(super) struct Unmatched {
    /// Why tracepoints match nothing; tracepoints of a clause with the same reason share a line.
    pub(super) lines: Vec<String>,
    /// Clauses of which no tracepoint matches, by index.
    pub(super) clauses: Vec<usize>,
    /// No tracepoint of the program matches.
    pub(super) all: bool,
}

/// Finds the parts of a program that match nothing in a module.
pub(super) fn unmatched(
    script: &Script,
    module: &Module,
    filter: &Filter,
    matches: &[ProbeMatch],
) -> Unmatched {
    let mut lines: Vec<((usize, String), Vec<String>)> = Vec::new();
    for l in matches.iter().filter(|l| l.possible.is_empty()) {
        let Some(tracepoint) = script.clauses.get(l.clause).and_then(|c| c.tracepoints.get(l.tracepoint))
        else {
            continue;
        };
        let why = match (l.found.len(), l.missed.first()) {
            (0, Some(missed)) => format!("found, but no code can be inserted there: {}", missed.why),
            (0, None) => {
                format!("no place in the module; {}", alternatives(&tracepoint.what, module, filter))
            }
            (n, Some(missed)) => format!("found at {}; {}", count(n, "place", "places"), missed.why),
            (n, None) => {
                format!("found at {}; the predicate holds at none of them", count(n, "place", "places"))
            }
        };
        let key = (l.clause, why);
        match lines.iter_mut().find(|(of, _)| *of == key) {
            Some((_, points)) => points.push(tracepoint.to_string()),
            None => lines.push((key, vec![tracepoint.to_string()])),
        }
    }
    let idle = |clause: &usize| matches.iter().filter(|l| l.clause == *clause).all(|l| l.possible.is_empty());
    Unmatched {
        clauses: (0..script.clauses.len()).filter(idle).collect(),
        all: matches.iter().all(|l| l.possible.is_empty()),
        lines: lines.into_iter().map(|((_, why), points)| format!("{}: {why}", points.join(", "))).collect(),
    }
}

/// Why a program does nothing in a kernel although it matches instructions there: what is not available, and
/// which clauses have conditions that are never true. `None` if it does something.
pub(super) fn idle(
    script: &Script,
    rewrite: &Rewrite,
    kernel: &str,
    matches: &[ProbeMatch],
) -> Option<Vec<String>> {
    let mut plans = rewrite.plan.functions.iter().zip(&rewrite.module.functions);
    plans.find(|(plan, f)| f.name == kernel && plan.skipped.as_deref() == Some(UNPROBED))?;
    let state = &rewrite.plan.probe_state;
    let missed = unavailable(script, &rewrite.module, &state.unavailable);
    let mut why: Vec<String> = missed.into_iter().map(|m| m.what).collect();
    for clause in 0..script.clauses.len() {
        let found: usize = matches.iter().filter(|l| l.clause == clause).map(|l| l.possible.len()).sum();
        if found > 0 && !state.unavailable.iter().any(|m| m.clause == clause) {
            let places = count(found, "place", "places");
            why.push(format!(
                "{}: found at {places}; no condition in it can be true there",
                script.clause(clause)
            ));
        }
    }
    Some(why)
}
