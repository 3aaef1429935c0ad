//! Names of the things a report is about: launches, kernels, sites, places in the source, lanes.

use prlx_analyze::report::{LaunchReport, Location, ProcessPair};
use prlx_trace::LaneMask;
use prlx_trace::kernel::{FaultKind, SiteClass};
use prlx_trace::names::is_library_file;

use crate::format::{clean, count, plain_name};

/// `launch 3`, or `launch 3 of A, 2 of B` where the numbers differ; with the process if there are several.
pub(crate) fn launch(processes: &[ProcessPair], l: &LaunchReport) -> String {
    let number = if l.launch[0] == l.launch[1] {
        format!("launch {}", l.launch[0])
    } else {
        format!("launch {} of A, {} of B", l.launch[0], l.launch[1])
    };
    match processes.get(l.process as usize) {
        Some(p) if processes.len() > 1 => format!("{number} of {}", clean(&p.names[0])),
        _ => number,
    }
}

/// A launch's kernel, demangled as far as its name is plain.
pub(crate) fn kernel(l: &LaunchReport) -> String {
    clean(&plain_name(&l.kernel))
}

/// The verb for a fault, in the form for a subject of number `n`: `faults`, `get stuck`.
pub(crate) fn stops(kind: FaultKind, n: u64) -> &'static str {
    match (kind, n) {
        (FaultKind::Fault, 1) => "faults",
        (FaultKind::Fault, _) => "fault",
        (FaultKind::Stuck, 1) => "gets stuck",
        (FaultKind::Stuck, _) => "get stuck",
    }
}

/// The noun for one site of a class.
pub(crate) fn noun(class: SiteClass) -> &'static str {
    match class {
        SiteClass::Branch => "branch",
        SiteClass::Guard => "guard",
        SiteClass::Select => "select",
        SiteClass::Switch => "switch",
        SiteClass::Load => "load",
        SiteClass::Store => "store",
        SiteClass::Atomic => "atomic",
        SiteClass::Sync => "barrier",
        SiteClass::Entry => "entry",
        SiteClass::Exit => "exit",
    }
}

/// The noun for several sites of a class.
pub(super) fn nouns(class: SiteClass) -> &'static str {
    match class {
        SiteClass::Branch => "branches",
        SiteClass::Guard => "guards",
        SiteClass::Select => "selects",
        SiteClass::Switch => "switches",
        SiteClass::Load => "loads",
        SiteClass::Store => "stores",
        SiteClass::Atomic => "atomics",
        SiteClass::Sync => "barriers",
        SiteClass::Entry => "entries",
        SiteClass::Exit => "exits",
    }
}

/// `file:line:column`, without the folder of the file; without the column if it is not known.
pub(crate) fn place(l: &Location) -> String {
    exact_place(own(l))
}

/// `file:line:column` of this very location, which may lie in a library.
pub(crate) fn exact_place(l: &Location) -> String {
    if l.column > 0 { format!("{}:{}", exact(l), l.column) } else { exact(l) }
}

/// `file:line` of the user's own line, without the folder of the file.
pub(crate) fn short(l: &Location) -> String {
    exact(own(l))
}

/// The user's own line: the location, or the innermost call around it that lies outside of libraries.
pub(crate) fn own(l: &Location) -> &Location {
    chain(l).find(|l| !is_library_file(&l.file)).unwrap_or(l)
}

/// A location and the calls that inlined it, innermost first.
pub(crate) fn chain(l: &Location) -> impl Iterator<Item = &Location> {
    std::iter::once(l).chain(&l.inlined)
}

/// `file:line` of this very location, which may lie in a library.
pub(crate) fn exact(l: &Location) -> String {
    let file = clean(l.file.rsplit(['/', '\\']).next().unwrap_or(&l.file));
    format!("{file}:{}", l.line)
}

/// `lanes 3, 5-7`, or `all lanes`; `size` is the number of lanes of a warp.
pub(crate) fn lanes(mask: LaneMask, size: u8) -> String {
    let all = if size >= 64 { u64::MAX } else { (1 << size) - 1 };
    if mask.0 == all { "all lanes".into() } else { mask.to_string() }
}

/// A launch that only one side has; `what` is the rest of its name.
pub(crate) fn unmatched_launch(number: u64, side: u8, what: &str) -> String {
    let [here, there] = if side == 0 { ["A", "B"] } else { ["B", "A"] };
    format!("launch {number} of {here}{what}, has no match in {there}")
}

/// Findings that a report does not list.
pub(crate) fn findings_cut(n: u64) -> String {
    count(n, "more finding that is not listed", "more findings that are not listed")
}
