//! Messages about the sites of a probe program in a module.

use std::collections::{BTreeMap, BTreeSet};

use prlx_isa::view::{FuncId, InstId, Loc, LocId, Module};

use prlx_plan::{ProbeProgram, Unavailable};
use prlx_trace::names::{display_name, is_library_file};

/// The end of the message of [`nowhere`].
pub const NO_MATCH: &str = " matches no instruction";

/// The message that a clause matches nothing in a module.
pub fn nowhere(program: &dyn ProbeProgram, clause: usize) -> String {
    format!("clause {} ({}){NO_MATCH}", clause + 1, program.clause(clause))
}

/// An instruction of a module, with its place there or in the text that it was compiled from; without an
/// instruction the function.
pub fn inst(module: &Module, function: FuncId, at: Option<InstId>) -> String {
    let Some(f) = module.functions.get(function.index()) else { return String::new() };
    let Some(inst) = at.and_then(|at| f.insts.get(at.index())) else { return display_name(&f.name) };
    let text = inst.span.of(&module.text).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = 1 + module.text.get(..inst.span.start as usize).map_or(0, |s| s.matches('\n').count());
    let place = match inst.loc.and_then(|l| own_line(module, l)) {
        Some(loc) => {
            let file = module.files.get(loc.file as usize).map_or("?", |f| f.path.as_str());
            format!("{}:{}", file.rsplit('/').next().unwrap_or(file), loc.line)
        }
        None => format!("line {line} of the PTX"),
    };
    format!("{place} `{}` in {}", text.trim_end_matches(';'), display_name(&f.name))
}

/// The user's own line for a location: the location, or the innermost call around it that lies outside of
/// libraries. If all of them lie in libraries, the location itself.
pub fn own_line(module: &Module, at: LocId) -> Option<&Loc> {
    let of = |id: LocId| module.locs.get(id.index());
    let mut chain = std::iter::successors(of(at), |l| l.inlined_at.and_then(of)).take(64);
    let library = |l: &Loc| module.files.get(l.file as usize).is_some_and(|f| is_library_file(&f.path));
    chain.find(|l| !library(l)).or_else(|| of(at))
}

/// Functions and instructions.
type Places = BTreeSet<(u32, Option<u32>)>;

/// Groups the unavailable sites of a plan by clause and reason. Returns the index of the clause and a
/// sentence.
pub fn missed(program: &dyn ProbeProgram, module: &Module, all: &[Unavailable]) -> Vec<(usize, String)> {
    let mut groups: BTreeMap<(usize, &str), Places> = BTreeMap::new();
    for m in all {
        groups.entry((m.clause, &m.why)).or_default().insert((m.function.0, m.at.map(|i| i.0)));
    }
    let messages = groups.into_iter().map(|((clause, why), places)| {
        let first = places.first().map(|(f, i)| inst(module, FuncId(*f), i.map(InstId))).unwrap_or_default();
        let (count, more) = match places.len() {
            1 => ("1 place".to_owned(), "at"),
            n => (format!("{n} places"), "first at"),
        };
        (clause, format!("{} does nothing at {count}: {why}; {more} {first}", program.clause(clause)))
    });
    messages.collect()
}
