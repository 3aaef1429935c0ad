//! Selects the launches of each side to compare, and computes what is known of them before any lane is
//! decoded.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use prlx_trace::{Launch, ReadParams, Recording, Trace};

use crate::glob::matches;
use crate::launches::kernel_names;
use crate::launches::launch_match::LaunchKey;
use crate::launches::repeats::{Candidate, Repeats, repeats};
use crate::report::FoldedLaunches;

use super::options::DiffOptions;

/// A launch to compare.
pub(super) struct SelectedLaunch {
    /// Its index in the trace.
    pub index: usize,
    /// The number that the user knows it by.
    pub number: u64,
    pub kernel: String,
}

/// The number that the user knows a launch by. In recordings without process information, its index.
fn number(t: &Trace, index: usize, r: &Recording) -> u64 {
    if t.process.is_some() { r.launch.number } else { index as u64 }
}

/// The launch with the number `wanted`.
pub(crate) fn at_number(t: &Trace, wanted: u64) -> Option<&Recording> {
    t.launches.iter().enumerate().find(|(i, r)| number(t, *i, r) == wanted).map(|(_, r)| r)
}

/// The launches of a side to compare, in the order of their launch.
pub(super) fn selected_launches(t: &Trace, options: &DiffOptions) -> Vec<SelectedLaunch> {
    let kernels = &options.kernels;
    let mut all: Vec<SelectedLaunch> = t
        .launches
        .iter()
        .enumerate()
        .map(|(index, r)| SelectedLaunch {
            index,
            number: number(t, index, r),
            kernel: kernel_name(t, &r.launch),
        })
        .filter(|w| kernels.is_empty() || kernels.iter().any(|p| matches(p, &w.kernel)))
        .collect();
    all.sort_by_key(|w| (w.number, w.index));
    all
}

/// Removes launches of a program that repeat an earlier one. Returns what was removed.
pub(super) fn fold_repeats(t: &Trace, launches: &mut Vec<SelectedLaunch>) -> Vec<FoldedLaunches> {
    if t.process.is_none() {
        return Vec::new();
    }
    let candidates: Vec<Candidate<'_>> = launches
        .iter()
        .map(|w| Candidate { number: w.number, kernel: &w.kernel, recording: &t.launches[w.index] })
        .collect();
    let Repeats { folded, groups } = repeats(t, &candidates);
    let mut index = 0..;
    launches.retain(|_| index.next().is_some_and(|i| !folded.contains(&i)));
    groups
}

/// Matches the remaining kernels in the order of their first launches: A's name by B's name.
fn forced<'n>(
    sides: [&'n [SelectedLaunch]; 2],
    names: [&BTreeSet<&'n str>; 2],
    renamed: &BTreeMap<&'n str, &'n str>,
) -> BTreeMap<&'n str, &'n str> {
    let [a, b] = [0, 1].map(|side| {
        let mut seen: BTreeSet<&str> = renamed.iter().flat_map(|(b, a)| [*a, *b]).collect();
        let all = sides[side].iter().map(|w| w.kernel.as_str()).filter(|k| !names[1 - side].contains(k));
        all.filter(|k| seen.insert(*k)).collect::<Vec<&str>>()
    });
    b.into_iter().zip(a).collect()
}

/// What is known of both sides' launches before their lanes are decoded.
pub(super) fn launch_keys(
    traces: [&Trace; 2],
    sides: [&[SelectedLaunch]; 2],
    force: bool,
) -> [Vec<LaunchKey>; 2] {
    let module = |side: usize, w: &SelectedLaunch| {
        let t = traces[side];
        t.modules.get(t.launches[w.index].launch.module.index()).map_or("", |m| &m.name)
    };
    let names =
        [0, 1].map(|side| traces[side].modules.iter().map(|m| &m.name[..]).collect::<BTreeSet<&str>>());
    let devices =
        [0, 1].map(|side| traces[side].launches.iter().map(|r| r.launch.ordinal).collect::<BTreeSet<u32>>());
    let [ours, theirs] = sides.map(|all| all.iter().map(|w| w.kernel.as_str()).collect::<BTreeSet<&str>>());
    let renamed = kernel_names::renamed(&ours, &theirs);
    let forced = if force { forced(sides, [&ours, &theirs], &renamed) } else { BTreeMap::new() };
    let forced_kernels: BTreeSet<&str> = forced.iter().flat_map(|(b, a)| [*a, *b]).collect();
    let mut numbers: BTreeMap<(&str, &str, Option<u32>), u64> = BTreeMap::new();
    [0, 1].map(|side| {
        let mut params = ReadParams::new(&traces[side].modules);
        let item = |w| {
            let SelectedLaunch { index, kernel, .. }: &SelectedLaunch = w;
            // A module name that only one side has proves nothing: the module may have been renamed.
            let name = module(side, w);
            let name = if names[1 - side].contains(name) && !forced_kernels.contains(kernel.as_str()) {
                name
            } else {
                ""
            };
            let Recording { launch: l, streams } = &traces[side].launches[*index];
            // A device that only one side used proves nothing either.
            let device = Some(l.ordinal).filter(|d| devices[1 - side].contains(d));
            let next = numbers.len() as u64;
            let ours = renamed.get(kernel.as_str()).or_else(|| forced.get(kernel.as_str()));
            let kernel = ours.filter(|_| side == 1).copied().unwrap_or(kernel);
            let kernel = *numbers.entry((name, kernel, device)).or_insert(next);
            let mut digest = DefaultHasher::new();
            (l.grid, l.block, params.of(l), streams.root(), &l.skipped).hash(&mut digest);
            l.args.iter().for_each(|a| (a.before, a.after).hash(&mut digest));
            l.pointees.iter().for_each(|p| (p.before, p.after).hash(&mut digest));
            let mut dimensions = DefaultHasher::new();
            (l.grid, l.block, l.cluster).hash(&mut dimensions);
            LaunchKey { kernel, dimensions: dimensions.finish(), digest: digest.finish() }
        };
        sides[side].iter().map(item).collect()
    })
}

pub(super) fn kernel_name(t: &Trace, l: &Launch) -> String {
    let f = t.modules.get(l.module.index()).and_then(|m| m.functions.get(l.kernel.index()));
    f.map_or_else(|| format!("{} of {}", l.kernel, l.module), |f| f.name.clone())
}
