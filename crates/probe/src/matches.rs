//! Lists which instructions each tracepoint of a program matches in a module, before anything runs.
//!
//! Works by [`Plan::resolve`], with a program that does as little as possible at each site.
//!
//! # Invariants
//!
//! - A match is a site at which the plan of the real program inserts code.
//!
//! # Limitations
//!
//! - A site that two tracepoints of one clause match counts twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prlx_isa::view::{FuncId, FunctionKind, Module};
use prlx_trace::names::{display_name, display_names};
use prlx_trace::table::Aggregate;

use crate::bind::sites;
use crate::lang::{Builtin, Clause, Expr, ExprKind, Script, Stmt, Table, Tracepoint, Update, What};
use prlx_plan::function::body::Body;
use prlx_plan::pattern;
use prlx_plan::{Action, At, FILTERED, Filter, Plan, RecordingRequest, UNPROBED, Unavailable};

/// Maximum number of alternatives in a list.
const LISTED: usize = 12;

/// The sites that a tracepoint of a clause matches.
#[derive(Clone, PartialEq, Debug)]
pub struct ProbeMatch {
    /// Index of the clause in the program.
    pub clause: usize,
    /// Index of the tracepoint in its clause.
    pub tracepoint: usize,
    /// All sites that the tracepoint matches.
    pub found: Vec<(FuncId, At)>,
    /// Sites where the clause's predicate can be true. Most predicates are known only when the code runs.
    pub possible: Vec<(FuncId, At)>,
    /// Sites where no code can be inserted, or where the predicate is not available; and functions with such
    /// sites that are not probed.
    pub missed: Vec<Unavailable>,
}

impl ProbeMatch {
    /// The sites of each tracepoint of `script` in `module`.
    pub fn all(script: &Script, module: &Module, filter: &Filter) -> Vec<ProbeMatch> {
        let mut all = Vec::new();
        for (number, clause) in script.clauses.iter().enumerate() {
            for (i, tracepoint) in clause.tracepoints.iter().enumerate() {
                let at = |predicate: Option<Expr>| {
                    let probe = touch(script, clause, tracepoint, predicate);
                    places(probe, tracepoint, module, filter)
                };
                let (found, mut missed) = at(None);
                let possible = match &clause.predicate {
                    None => found.clone(),
                    predicate => {
                        let (possible, more) = at(predicate.clone());
                        missed = more;
                        possible
                    }
                };
                missed.iter_mut().for_each(|m| m.clause = number);
                all.push(ProbeMatch { clause: number, tracepoint: i, found, possible, missed });
            }
        }
        all
    }
}

/// A program that does as little as possible at the sites of one tracepoint.
fn touch(script: &Script, clause: &Clause, tracepoint: &Tracepoint, predicate: Option<Expr>) -> Script {
    let span = tracepoint.span.clone();
    // A value that is known only at run time cannot become a counter, so every site has its own insertion.
    let lane = Expr { kind: ExprKind::Builtin(Builtin::Lane), span: span.clone() };
    let update = Update { table: 0, key: Vec::new(), value: Some(lane), span: span.clone() };
    let table = Table { name: String::new(), aggregate: Aggregate::Sum, keys: 0, span };
    let clause = Clause {
        tracepoints: vec![tracepoint.clone()],
        predicate,
        body: vec![Stmt::Update(update)],
        ..clause.clone()
    };
    Script { tables: vec![table], records: Vec::new(), clauses: vec![clause], ..script.clone() }
}

fn places(
    script: Script,
    tracepoint: &Tracepoint,
    module: &Module,
    filter: &Filter,
) -> (Vec<(FuncId, At)>, Vec<Unavailable>) {
    let filter = filter.clone();
    let request = RecordingRequest { filter, ..RecordingRequest::of_probe(Arc::new(script)) };
    let plan = Plan::resolve(&request, module, "", &|_| None);
    let mut found = Vec::new();
    for function in plan.functions.iter().filter(|f| f.skipped.is_none()) {
        let probes = function.insertions.iter().filter(|i| matches!(i.action, Action::Probe(_)));
        found.extend(probes.map(|i| (function.function, i.at)));
    }
    let mut unavailable = plan.probe_state.unavailable;
    for function in &plan.functions {
        let Some(why) = function.skipped.as_ref().filter(|why| *why != FILTERED && *why != UNPROBED) else {
            continue;
        };
        let body = Body::of(module, function.function);
        if let Some(first) = sites(&body, tracepoint).0.first() {
            let name = display_name(&body.function.name);
            let why = format!("{name} is not probed: {why}");
            unavailable.push(Unavailable { clause: 0, function: function.function, at: first.inst, why });
        }
    }
    (found, unavailable)
}

/// Describes what `module` has of the kind that a tracepoint looks for. Shown if nothing matches.
pub fn alternatives(what: &What, module: &Module, filter: &Filter) -> String {
    let taken = |name: &str, kind: FunctionKind| {
        filter.takes_function(name) && (kind != FunctionKind::Kernel || pattern::any(&filter.kernels, name))
    };
    let functions = || module.functions.iter().filter(|f| taken(&f.name, f.kind));
    match what {
        What::Kernel(_) => listed("its kernels are", names(module, Some(FunctionKind::Kernel))),
        What::Func(_) => listed("its functions are", names(module, None)),
        What::Block => "it has no instructions".to_owned(),
        What::Loop | What::Trip => "it has no loops".to_owned(),
        What::Branch => "it has no conditional branches and no switches".to_owned(),
        What::Decision => "it has no branches, guarded instructions or selects".to_owned(),
        What::Marker(_) => {
            let marks = functions().flat_map(|f| &f.markers).map(|m| format!("{} {}", m.kind.name(), m.name));
            let all: BTreeSet<String> = marks.collect();
            if all.is_empty() {
                return "it has no markers".to_owned();
            }
            listed("its markers are", all.into_iter().collect())
        }
        What::Inst(words) => {
            let mut opcodes: BTreeMap<&str, u64> = BTreeMap::new();
            for inst in functions().flat_map(|f| &f.insts) {
                *opcodes.entry(inst.semantics.opcode.as_str()).or_default() += 1;
            }
            let operation = words.first().map_or("*", String::as_str);
            let first = |opcode: &str| opcode.split('.').next().unwrap_or_default().to_owned();
            let near: Vec<String> = opcodes
                .iter()
                .filter(|(opcode, _)| pattern::matches(operation.as_bytes(), first(opcode).as_bytes()))
                .map(|(opcode, n)| format!("{opcode} ({n})"))
                .collect();
            if !near.is_empty() {
                return listed("there are", near);
            }
            let mut operations: BTreeMap<String, u64> = BTreeMap::new();
            opcodes.iter().for_each(|(opcode, n)| *operations.entry(first(opcode)).or_default() += n);
            let mut order: Vec<(String, u64)> = operations.into_iter().collect();
            order.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            listed("its operations are", order.into_iter().map(|(op, n)| format!("{op} ({n})")).collect())
        }
    }
}

fn names(module: &Module, kind: Option<FunctionKind>) -> Vec<String> {
    let wanted = module.functions.iter().filter(|f| kind.is_none_or(|k| f.kind == k));
    display_names(wanted.map(|f| f.name.as_str()))
}

fn listed(what: &str, mut all: Vec<String>) -> String {
    if all.is_empty() {
        return "there are none".to_owned();
    }
    let more = all.len().saturating_sub(LISTED);
    all.truncate(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{what} {}{more}", all.join(", "))
}
