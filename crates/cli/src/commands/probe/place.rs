//! Where clauses land and what they miss there, in words.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::view::{FuncId, InstId, Module};
use prlx_present::tallies;
use prlx_probe::lang::{Script, Stmt};
use prlx_probe::{At, Filter, Landing, Missed, instead};

use super::{count, heading};

/// An instruction, with its place in the source or in the PTX.
pub fn inst(module: &Module, source: &str, function: FuncId, at: Option<InstId>) -> String {
    let Some(f) = module.functions.get(function.index()) else { return String::new() };
    let Some(inst) = at.and_then(|at| f.insts.get(at.index())) else { return f.name.clone() };
    let text = inst.span.of(source).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = 1 + source.get(..inst.span.start as usize).map_or(0, |s| s.matches('\n').count());
    let place = match inst.loc.and_then(|l| module.locs.get(l.index())) {
        Some(loc) => {
            let file = module.files.get(loc.file as usize).map_or("?", |f| f.path.as_str());
            format!("{}:{}", file.rsplit('/').next().unwrap_or(file), loc.line)
        }
        None => format!("line {line} of the PTX"),
    };
    format!("{place} `{}` in {}", text.trim_end_matches(';'), f.name)
}

/// A place of an insertion.
pub fn at(module: &Module, source: &str, function: FuncId, at: At) -> String {
    match at {
        At::Entry => format!("the begin of {}", inst(module, source, function, None)),
        At::Before(i) => format!("before {}", inst(module, source, function, Some(i))),
        At::After(i) => format!("after {}", inst(module, source, function, Some(i))),
    }
}

/// Functions and instructions.
type Places = BTreeSet<(u32, Option<u32>)>;

/// What the plan says is missed, each reason once for a clause, with the tables that lack it.
pub fn missed(script: &Script, module: &Module, source: &str, all: &[Missed]) -> Vec<tallies::Missed> {
    let mut groups: BTreeMap<(usize, &str), Places> = BTreeMap::new();
    for m in all {
        groups.entry((m.clause, &m.why)).or_default().insert((m.function.0, m.at.map(|i| i.0)));
    }
    let told = groups.into_iter().map(|((clause, why), places)| {
        let first = places.first().map(|(f, i)| inst(module, source, FuncId(*f), i.map(InstId))).unwrap_or_default();
        let more = if places.len() > 1 { "first at " } else { "at " };
        let places = count(places.len(), "place", "places");
        let what = format!("{} does nothing at {places}: {why}; {more}{first}", heading(script, clause));
        tallies::Missed { tables: tables(script, clause), what }
    });
    told.collect()
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
                Stmt::Local(..) | Stmt::Assign(..) => {}
            }
        }
    }
    let mut out = BTreeSet::new();
    if let Some(clause) = script.clauses.get(clause) {
        walk(script, &clause.body, &mut out);
    }
    out.into_iter().collect()
}

/// What lands nowhere.
pub struct Nowhere {
    /// Why tracepoints do nothing, those of a clause together that do so alike.
    pub lines: Vec<String>,
    /// Clauses of which every tracepoint does nothing.
    pub clauses: Vec<usize>,
    /// That is all of them.
    pub all: bool,
}

/// What of a program does nothing in a module.
pub fn nowhere(script: &Script, module: &Module, filter: &Filter, landings: &[Landing]) -> Nowhere {
    let mut lines: Vec<((usize, String), Vec<String>)> = Vec::new();
    for l in landings.iter().filter(|l| l.holds.is_empty()) {
        let Some(tracepoint) = script.clauses.get(l.clause).and_then(|c| c.tracepoints.get(l.tracepoint)) else {
            continue;
        };
        let why = match (l.found.len(), l.missed.first()) {
            (0, Some(missed)) => format!("it has places, but can't stand there: {}", missed.why),
            (0, None) => format!("no place in the module; {}", instead(&tracepoint.what, module, filter)),
            (n, Some(missed)) => format!("found at {}; {}", count(n, "place", "places"), missed.why),
            (n, None) => format!("found at {}; the predicate holds at none of them", count(n, "place", "places")),
        };
        let key = (l.clause, why);
        match lines.iter_mut().find(|(of, _)| *of == key) {
            Some((_, points)) => points.push(tracepoint.to_string()),
            None => lines.push((key, vec![tracepoint.to_string()])),
        }
    }
    let idle = |clause: &usize| landings.iter().filter(|l| l.clause == *clause).all(|l| l.holds.is_empty());
    Nowhere {
        clauses: (0..script.clauses.len()).filter(idle).collect(),
        all: landings.iter().all(|l| l.holds.is_empty()),
        lines: lines.into_iter().map(|((_, why), points)| format!("{}: {why}", points.join(", "))).collect(),
    }
}
