//! Folds launches that repeat an earlier launch of the same process, so that both sides have one of each.
//!
//! Two kinds of repeats are folded:
//!
//! - A launch that equals an earlier one and, by the digests, changed no memory.
//! - A launch of an autotuner. An autotuner launches several configurations of one kernel with the same
//!   arguments, each as often as time allows, so the number of launches differs from run to run.
//!
//! # Invariants
//! Only launches with equal recordings fold, and the first of them is kept.
//!
//! # Limitations
//! - An autotuner is recognised by its pattern: at least [`CONFIGURATIONS`] configurations of one kernel, of
//!   which each has at least [`LAUNCHES`] launches with equal parameters and at most [`BETWEEN`] other
//!   launches in between.
//! - Configurations whose kernels have different names are not recognised.

use std::collections::{BTreeMap, HashMap, HashSet};

use prlx_trace::launch::StreamHashes;
use prlx_trace::{Launch, Recording, Trace};

use crate::report::FoldedLaunches;

/// Configurations that an autotuner tries at least.
const CONFIGURATIONS: usize = 2;
/// Launches of each configuration. Triton's autotuner times a kernel in at least so many launches.
const LAUNCHES: usize = 5;
/// Other launches between two launches of an autotuner, such as the one that clears the cache.
const BETWEEN: usize = 2;

/// A launch, as folding looks at it.
pub(crate) struct Candidate<'a> {
    /// The number that the user knows it by.
    pub number: u64,
    /// The name of its kernel.
    pub kernel: &'a str,
    /// The launch and its streams.
    pub recording: &'a Recording,
}

/// What must be equal in launches of one configuration: the code, the dimensions, and the shared memory.
type Configuration = (u128, [u32; 9], u32);

/// What must be equal for a launch to repeat another.
type Same<'a> = (&'a str, Configuration, &'a [u8], StreamsId, Vec<(u32, Option<u64>)>, &'a Option<String>);

/// What stands for a launch's streams: their hash, and the hashes that were kept in place of them.
type StreamsId = (u64, Option<StreamHashes>);

impl<'a> Candidate<'a> {
    fn launch(&self) -> &'a Launch {
        &self.recording.launch
    }

    fn configuration(&self, trace: &Trace) -> Configuration {
        let l = self.launch();
        let digest = trace.modules.get(l.module.index()).map_or(0, |m| m.digest);
        let c = l.cluster.unwrap_or_default();
        let d = [l.grid, l.block, c];
        (digest, [d[0].x, d[0].y, d[0].z, d[1].x, d[1].y, d[1].z, d[2].x, d[2].y, d[2].z], l.shared)
    }

    /// Everything that was recorded of it, apart from when and where. `None` if its streams are not known.
    fn same(&self, trace: &Trace) -> Option<Same<'a>> {
        let l = self.launch();
        let streams = Some(self.recording.streams.root()).filter(|root| *root != 0)?;
        let left = l.pointees.iter().map(|p| (p.offset, p.after)).collect();
        let streams = (streams, l.hashes);
        Some((self.kernel, self.configuration(trace), &l.params, streams, left, &l.skipped))
    }

    /// Whether the memory behind all its pointers is known, and as it was before the launch.
    fn changed_nothing(&self) -> bool {
        let l = self.launch();
        let known = l.undigested.is_none() && !l.pointees.is_empty() && l.fault.is_none();
        known && l.pointees.iter().all(|p| p.before.is_some() && p.before == p.after && p.digested == p.bytes)
    }
}

/// The launches that repeat others.
#[derive(Default)]
pub(crate) struct Repeats {
    /// The indices of the launches that fold into an earlier one.
    pub folded: HashSet<usize>,
    /// The launches that they fold into, with counts.
    pub groups: Vec<FoldedLaunches>,
}

/// Finds the repeats among the launches of one process, which are in the order of their launch.
pub(crate) fn repeats(trace: &Trace, launches: &[Candidate<'_>]) -> Repeats {
    let mut tuned = vec![None; launches.len()];
    for (n, stretch) in stretches(trace, launches).into_iter().enumerate() {
        tuned[stretch].iter_mut().for_each(|t| *t = Some(n));
    }
    let mut first: HashMap<(Option<usize>, Same<'_>), usize> = HashMap::new();
    let mut counts: BTreeMap<(usize, bool), u64> = BTreeMap::new();
    let mut out = Repeats::default();
    for (i, launch) in launches.iter().enumerate() {
        let Some(same) = launch.same(trace) else { continue };
        let in_stretch = tuned[i].map_or(i, |_| *first.entry((tuned[i], same.clone())).or_insert(i));
        let anywhere = *first.entry((None, same)).or_insert(i);
        let autotuner = in_stretch != i;
        let kept = if autotuner { in_stretch } else { anywhere };
        if autotuner || kept != i && launch.changed_nothing() {
            out.folded.insert(i);
            *counts.entry((kept, autotuner)).or_default() += 1;
        }
    }
    out.groups = counts
        .into_iter()
        .map(|((kept, autotuner), n)| FoldedLaunches {
            kernel: launches[kept].kernel.to_owned(),
            launch: launches[kept].number,
            launches: n,
            autotuner,
            ..FoldedLaunches::default()
        })
        .collect();
    out
}

/// The stretches of launches that are the work of an autotuner.
fn stretches(trace: &Trace, launches: &[Candidate<'_>]) -> Vec<std::ops::Range<usize>> {
    // By kernel and parameters: the launches of the stretch that may still go on.
    let mut open: HashMap<(&str, &[u8]), Vec<usize>> = HashMap::new();
    let mut found = Vec::new();
    let mut close = |members: &[usize]| {
        let mut by_configuration: HashMap<Configuration, usize> = HashMap::new();
        members.iter().for_each(|i| {
            *by_configuration.entry(launches[*i].configuration(trace)).or_default() += 1;
        });
        let often = by_configuration.values().filter(|n| **n >= LAUNCHES).count();
        if let (true, [first, .., last]) = (often >= CONFIGURATIONS, members) {
            found.push(*first..*last + 1);
        }
    };
    for (i, launch) in launches.iter().enumerate() {
        let members = open.entry((launch.kernel, &launch.launch().params)).or_default();
        if members.last().is_some_and(|last| i - last > BETWEEN + 1) {
            close(members);
            members.clear();
        }
        members.push(i);
    }
    open.values().for_each(|members| close(members));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use prlx_trace::ModuleId;
    use prlx_trace::kernel::Module;
    use prlx_trace::launch::Pointee;

    /// `k1` is kernel `k` in configuration 1.
    fn launches(text: &str) -> Vec<(String, Recording)> {
        let launch = |w: &str| {
            let module = ModuleId(w[1..2].parse().unwrap());
            let launch = Launch { module, params: vec![1, 2], ..Launch::default() };
            (w[..1].to_owned(), Recording { launch, ..Recording::default() })
        };
        text.split_whitespace().map(launch).collect()
    }

    /// Kernel, number of the launch that is repeated, number of repeats, whether an autotuner made them.
    type Counts = (String, u64, u64, bool);

    /// The numbers of the launches that are left, and the counts of the others.
    fn fold(all: &[(String, Recording)]) -> (Vec<usize>, Vec<Counts>) {
        let modules = (0..9).map(|digest| Module { digest, ..Module::default() }).collect();
        let trace = Trace { modules, ..Trace::default() };
        let candidates: Vec<Candidate<'_>> = (0u64..)
            .zip(all)
            .map(|(number, (kernel, recording))| Candidate { number, kernel, recording })
            .collect();
        let Repeats { folded, groups } = repeats(&trace, &candidates);
        let groups = groups.into_iter().map(|g| (g.kernel, g.launch, g.launches, g.autotuner)).collect();
        ((0..all.len()).filter(|i| !folded.contains(i)).collect(), groups)
    }

    #[test]
    fn an_autotuner_leaves_one_launch_of_each_configuration() {
        // The cache is cleared by launch `z` before each.
        let tuned = format!("a1 {} {} a1 b1", "z0 a1 ".repeat(5), "z0 a2 ".repeat(6));
        let (left, groups) = fold(&launches(&format!("{tuned} c1 c1 c1 a1")));
        // The first of each, and what comes later.
        assert_eq!(left, [0, 1, 12, 24, 25, 26, 27, 28]);
        let name = |k: &str, first, n| (k.to_owned(), first, n, true);
        assert_eq!(groups, [name("a", 0, 6), name("z", 1, 10), name("a", 12, 5)]);
        let (left, _) = fold(&launches(&format!("{} {}", "a1 ".repeat(9), "a2 ".repeat(4))));
        assert_eq!(left.len(), 13, "four launches are no benchmark");
    }

    #[test]
    fn a_loop_of_launches_is_no_autotuner() {
        let (left, groups) = fold(&launches(&"a1 b1 ".repeat(50)));
        assert_eq!((left.len(), groups.len()), (100, 0));
    }

    #[test]
    fn launches_that_changed_nothing_fold() {
        let with = |before: u64, after: u64| {
            let mut all = launches("a1 a1 a1");
            for (i, (_, r)) in all.iter_mut().enumerate() {
                let before = if i == 0 { 7 } else { before };
                let pointee =
                    Pointee { offset: 0, bytes: 8, digested: 8, before: Some(before), after: Some(after) };
                r.launch.pointees = vec![pointee];
            }
            fold(&all)
        };
        assert_eq!(with(9, 9), (vec![0], vec![("a".to_owned(), 0, 2, false)]));
        assert_eq!(with(8, 9).0, [0, 1, 2], "memory changed");
    }

    #[test]
    fn launches_with_other_hashes_do_not_fold() {
        let mut all = launches("a1 a1 a1");
        for (i, (_, r)) in (0..).zip(&mut all) {
            let (before, after) = (Some(9), Some(9));
            r.launch.pointees = vec![Pointee { offset: 0, bytes: 8, digested: 8, before, after }];
            r.launch.hashes = Some(StreamHashes { control: i % 2, ..StreamHashes::default() });
        }
        assert_eq!(fold(&all).0, [0, 1]);
    }
}
