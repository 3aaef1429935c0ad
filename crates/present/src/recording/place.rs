//! Source locations and code on one line.

use prlx_trace::LocId;
use prlx_trace::kernel::{Loc, Module};
use prlx_trace::names::is_library_file;

/// `file.cu:12:3 < file.cu:40 (in lib.h:7)`: the user's own line, the calls around it, and the lines of
/// libraries that were inlined there.
pub(super) fn place(module: &Module, loc: Option<LocId>) -> String {
    let of = |id: LocId| module.locs.get(id.index());
    let path = |loc: &Loc| module.files.get(loc.file.index()).map_or("?", |f| f.path.as_str());
    let line = |loc: &Loc| {
        let column = if loc.column > 0 { format!(":{}", loc.column) } else { String::new() };
        format!("{}:{}{column}", path(loc).rsplit('/').next().unwrap_or_default(), loc.line)
    };
    let chain = std::iter::successors(loc.and_then(of), |loc| loc.inlined_at.and_then(of));
    let chain: Vec<&Loc> = chain.take(module.locs.len()).collect();
    let own = chain.iter().position(|loc| !is_library_file(path(loc))).unwrap_or(0);
    let (inner, outer) = chain.split_at(own);
    let lines = |locs: &[&Loc]| locs.iter().map(|loc| line(loc)).collect::<Vec<_>>();
    let inner: Vec<String> = lines(inner).into_iter().rev().collect();
    let inner = if inner.is_empty() { String::new() } else { format!(" (in {})", inner.join(", ")) };
    lines(outer).join(" < ") + &inner
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
