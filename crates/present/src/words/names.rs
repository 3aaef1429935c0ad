//! Names of the things a report is about: launches, kernels, sites, places in the source, lanes.

use std::collections::BTreeMap;

use prlx_analyze::report::{LaunchReport, Location, ProcessPair, Report};
use prlx_trace::kernel::{FaultKind, SiteClass};
use prlx_trace::names::is_library_file;
use prlx_trace::{LaneMask, WarpSize};

use crate::format::{clean, count, number, plain_name};

/// Maximum number of ranges that are all shown of a launch.
const RANGES: usize = 3;

/// `launch 3`, or `launch 3 of A, 2 of B` where the numbers differ; with the process if there are several,
/// and with the NVTX ranges around the launch.
pub(crate) fn launch(processes: &[ProcessPair], l: &LaunchReport) -> String {
    let number = if l.launch[0] == l.launch[1] {
        format!("launch {}", l.launch[0])
    } else {
        format!("launch {} of A, {} of B", l.launch[0], l.launch[1])
    };
    let launch = match processes.get(l.process as usize) {
        Some(p) if processes.len() > 1 => format!("{number} of {}", clean(&p.names[0])),
        _ => number,
    };
    match ranges(l) {
        Some(ranges) => format!("{launch}, in {ranges}"),
        None => launch,
    }
}

/// The innermost NVTX ranges around a launch, of both sides if these differ. `None` if there are none.
pub(crate) fn ranges(l: &LaunchReport) -> Option<String> {
    let [a, b] = l.ranges.each_ref().map(|names| innermost_ranges(names));
    match (a, b) {
        (Some(a), Some(b)) if a != b => Some(format!("{a} (A), {b} (B)")),
        (a, b) => a.or(b),
    }
}

/// The ranges of a list that has the innermost last: of many, the outermost and the innermost. `None` if it
/// is empty.
pub(crate) fn innermost_ranges(names: &[impl ToString]) -> Option<String> {
    let all: Vec<String> = names.iter().map(|name| clean(&name.to_string())).collect();
    match &all[..] {
        [] => None,
        [first, .., last_but_one, last] if all.len() > RANGES => {
            Some(format!("{first} > … > {last_but_one} > {last}"))
        }
        _ => Some(all.join(" > ")),
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
    let file = clean(prlx_trace::names::file_name(&l.file));
    format!("{file}:{}", l.line)
}

/// `lanes 3, 5-7`, or `all lanes`.
pub(crate) fn lanes(mask: LaneMask, size: WarpSize) -> String {
    if mask == size.full_mask() { "all lanes".into() } else { mask.to_string() }
}

/// A launch that only one side has; `what` is the rest of its name.
fn unmatched_launch(number: u64, side: u8, what: &str) -> String {
    let [here, there] = if side == 0 { ["A", "B"] } else { ["B", "A"] };
    format!("launch {number} of {here}{what}, has no match in {there}")
}

/// Most kernels whose launches a report lists.
const KERNELS: usize = 6;
/// Most numbers of launches that are listed for a kernel.
const NUMBERS: usize = 4;

/// Part of the name of the kernel with which XLA's autotuner checks what surrounds the buffers of a candidate
/// (`redzone_allocator_kernel` in XLA's `stream_executor/gpu`).
const XLA_AUTOTUNER: &str = "RedzoneAllocatorKernel";

/// The launches that only one side has: one line for each side and kernel. If a known library chose the
/// kernels, what to do.
pub(crate) fn unmatched_launches(r: &Report) -> Vec<String> {
    let mut groups: BTreeMap<(u64, u8, &str), Vec<u64>> = BTreeMap::new();
    for u in &r.unpaired {
        groups.entry((u.process, u.side, &u.kernel)).or_default().push(u.launch);
    }
    let line = |((process, side, name), numbers): (&(u64, u8, &str), &Vec<u64>)| {
        let process = r.processes.get(*process as usize).filter(|_| r.processes.len() > 1);
        let of =
            process.map_or(String::new(), |p| format!(", {}", clean(&p.names[usize::from((*side).min(1))])));
        let name = format!("{of}, {}", clean(&plain_name(name)));
        match &numbers[..] {
            [number] => unmatched_launch(*number, *side, &name),
            _ => unmatched_numbers(numbers, *side, &name),
        }
    };
    let mut lines: Vec<String> = groups.iter().take(KERNELS).map(line).collect();
    let rest: usize = groups.values().skip(KERNELS).map(Vec::len).sum();
    if rest > 0 {
        let kernels = count((groups.len() - KERNELS) as u64, "more kernel", "more kernels");
        let launches = count(rest as u64, "launch", "launches");
        lines.push(format!("and {launches} of {kernels} have no match"));
    }
    let mut all = r.launches.iter().map(|l| &l.kernel).chain(r.unpaired.iter().map(|u| &u.kernel));
    if !lines.is_empty() && all.any(|kernel| kernel.contains(XLA_AUTOTUNER)) {
        lines.push("XLA's autotuner ran, which chooses kernels by time".to_owned());
        lines.push("XLA_FLAGS=--xla_gpu_autotune_level=0 turns it off for both programs".to_owned());
    }
    lines
}

/// `launches 4, 9, 14 and 3 more of A, scale, have no match in B`.
fn unmatched_numbers(numbers: &[u64], side: u8, what: &str) -> String {
    let [here, there] = if side == 0 { ["A", "B"] } else { ["B", "A"] };
    let listed: Vec<String> = numbers.iter().take(NUMBERS).map(u64::to_string).collect();
    let more = numbers.len().saturating_sub(NUMBERS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("launches {}{more} of {here}{what}, have no match in {there}", listed.join(", "))
}

/// The launches that were folded: one line for each kernel.
pub(crate) fn folded_launches(r: &Report) -> Vec<String> {
    let mut groups: BTreeMap<(&str, bool), [u64; 2]> = BTreeMap::new();
    for f in &r.folded {
        groups.entry((&f.kernel, f.autotuner)).or_default()[usize::from(f.side.min(1))] += f.launches;
    }
    let line = |((name, autotuner), [a, b]): (&(&str, bool), &[u64; 2])| {
        let name = clean(&plain_name(name));
        let repeats = format!("{} in A, {} in B", number(*a), number(*b));
        match autotuner {
            true => format!(
                "autotuner: repeated launches of {name}: {repeats}; they were not compared (--strict)"
            ),
            false => format!(
                "repeated launches of {name} that changed no memory: {repeats} (--strict compares them)"
            ),
        }
    };
    let mut lines: Vec<String> = groups.iter().take(KERNELS).map(line).collect();
    let rest = groups.len().saturating_sub(KERNELS) as u64;
    if rest > 0 {
        lines.push(format!("and repeated launches of {}", count(rest, "more kernel", "more kernels")));
    }
    lines
}

/// Findings that a report does not list.
pub(crate) fn findings_cut(n: u64) -> String {
    count(n, "more finding that is not listed", "more findings that are not listed")
}

#[cfg(test)]
mod tests {
    use prlx_analyze::report::{FoldedLaunches, Report, UnmatchedLaunch};

    use super::{folded_launches, unmatched_launches};

    #[test]
    fn launches_without_a_match_are_listed_by_kernel() {
        let of = |kernel: &str, side, launch| UnmatchedLaunch {
            kernel: kernel.into(),
            side,
            launch,
            ..UnmatchedLaunch::default()
        };
        let mut all: Vec<UnmatchedLaunch> = (0..300).map(|n| of("gemm", 1, 2 * n)).collect();
        all.push(of("scan", 0, 7));
        all.extend((0..7u64).map(|n| of(&format!("z{n}"), 1, 900 + n)));
        let lines = unmatched_launches(&Report { unpaired: all, ..Report::default() });
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], "launch 7 of A, scan, has no match in B");
        assert_eq!(lines[1], "launches 0, 2, 4, 6 and 296 more of B, gemm, have no match in A");
        assert_eq!(lines[6], "and 3 launches of 3 more kernels have no match");
        let both =
            vec![of("gemm", 1, 3), of("_ZN15stream_executor3gpu26RedzoneAllocatorKernelImplEPhhmPj", 0, 1)];
        let lines = unmatched_launches(&Report { unpaired: both, ..Report::default() });
        assert_eq!(lines.len(), 4);
        assert!(lines[3].contains("--xla_gpu_autotune_level=0"), "{lines:?}");
    }

    #[test]
    fn folded_launches_are_counted_by_kernel() {
        let of = |side, launches, autotuner| FoldedLaunches {
            kernel: "gemm".into(),
            side,
            launches,
            autotuner,
            ..FoldedLaunches::default()
        };
        let folded = vec![of(0, 100, true), of(0, 50, true), of(1, 149, true), of(1, 2, false)];
        let lines = folded_launches(&Report { folded, ..Report::default() });
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("repeated launches of gemm that changed no memory: 0 in A, 2 in B"));
        assert!(lines[1].starts_with("autotuner: repeated launches of gemm: 150 in A, 149 in B"));
    }
}
