//! The report on two recordings as a whole: processes, launches, and the verdict on all of them.

use std::collections::BTreeMap;

use crate::launches::gaps::plural;

use super::finding::Finding;
use super::launch::LaunchReport;
use super::plain_data::data;
use super::verdict::{LaunchPart, Verdict};

data! {
    /// What comparing two recordings gives.
    struct Report {
        /// Whether they agree.
        verdict: Verdict,
        /// What keeps the verdict from being certain, or would if nothing differed.
        gaps: Vec<String>,
        /// What the user calls the sides: files or commands. Empty until the caller says.
        names: [String; 2],
        /// What made each side.
        producers: [String; 2],
        /// Processes, compared in pairs; a comparison of launch files has one.
        processes: Vec<ProcessPair>,
        /// Processes that the other side has no partner for.
        alone: Vec<UnmatchedProcess>,
        /// Pairs of launches that there are to compare; a part of a report ([`crate::DiffOptions::shard`])
        /// has fewer.
        pairs: u64,
        /// Launches, compared in pairs, by process and A's number.
        launches: Vec<LaunchReport>,
        /// Launches that the other side has no partner for.
        unpaired: Vec<UnmatchedLaunch>,
        /// Launches that repeat an earlier launch of their process, and were not compared. They make no
        /// difference.
        #[cfg_attr(feature = "serde", serde(default))]
        folded: Vec<FoldedLaunches>,
    }
    /// Two processes that belong together.
    struct ProcessPair {
        /// By side: the process in words; empty if there is none, as with launch files.
        names: [String; 2],
        /// By side: where and how its file was cut off; `None` if it is whole.
        cut: [Option<String>; 2],
    }
    /// A process that only one side has.
    #[cfg_attr(feature = "schema", schemars(rename = "Alone"))]
    struct UnmatchedProcess {
        /// Which side has it: 0 for A, 1 for B.
        side: u8,
        /// The process in words.
        name: String,
        /// How much it launched.
        launches: u64,
        /// Where and how its file was cut off; `None` if it is whole.
        cut: Option<String>,
    }
    /// Launches of one side that repeat an earlier launch.
    #[cfg_attr(feature = "schema", schemars(rename = "Folded"))]
    struct FoldedLaunches {
        /// Their process, by index.
        process: u64,
        /// Which side has them: 0 for A, 1 for B.
        side: u8,
        /// The name of their kernel.
        kernel: String,
        /// The number of the launch that they repeat.
        launch: u64,
        /// How many they are.
        launches: u64,
        /// Whether an autotuner made them. Otherwise the digests show that they changed no memory.
        autotuner: bool,
    }
    /// A launch that only one side has.
    #[cfg_attr(feature = "schema", schemars(rename = "Unpaired"))]
    struct UnmatchedLaunch {
        /// Its process, by index.
        process: u64,
        /// Which side has it: 0 for A, 1 for B.
        side: u8,
        /// Its number among that side's launches.
        launch: u64,
        /// The name of its kernel.
        kernel: String,
        /// Whether the other side launched other kernels at its place, between the same matched launches.
        #[cfg_attr(feature = "serde", serde(default))]
        replaced: bool,
    }
}

impl Report {
    /// The first launch whose verdict is `differs`.
    pub fn first_launch(&self) -> Option<&LaunchReport> {
        self.launches.iter().find(|l| l.verdict == Verdict::Differs)
    }
    /// The first launch whose inputs are known and equal, and whose outputs differ.
    pub fn culprit(&self) -> Option<&LaunchReport> {
        self.launches.iter().find(|l| l.culprit)
    }
    /// Before the culprit: the first launch whose outputs differ and whose inputs differ only in bytes that
    /// may be padding. Also returns how many other launches of its kernel differ in the same bytes and have
    /// equal outputs.
    pub fn suspect(&self) -> Option<(&LaunchReport, u64)> {
        let other = |l: &LaunchReport| l.differences.iter().any(|d| d.what == LaunchPart::Output);
        let mut before = self.launches.iter().take_while(|l| !l.culprit);
        let suspect = before.find(|l| l.padding.is_some() && other(l))?;
        let alike =
            |l: &&LaunchReport| (&l.kernel, &l.padding) == (&suspect.kernel, &suspect.padding) && !other(l);
        Some((suspect, self.launches.iter().filter(alike).count() as u64))
    }
    /// The finding to read first: the first finding of the first launch that has any.
    pub fn first(&self) -> Option<(&LaunchReport, &Finding)> {
        self.launches.iter().find_map(|l| l.findings.first().map(|f| (l, f)))
    }
    /// A comparison without any processes yet.
    pub fn new(names: [String; 2]) -> Report {
        let mut report = Report { names, ..Report::default() };
        report.conclude();
        report
    }

    /// The launches that only one side has and that are differences, and by side the number of those that are
    /// none as libraries choose kernels by time: the other side launched other kernels in their place, and
    /// none of the later launches of the process, of which there are some, differs.
    ///
    /// A launch that may be missing because the other side's recording is truncated is neither.
    pub(crate) fn unpaired_differences(&self) -> (Vec<&UnmatchedLaunch>, [u64; 2]) {
        // By process and side: the last launch, and the last one that differs.
        let mut last: BTreeMap<(u64, usize), [Option<u64>; 2]> = BTreeMap::new();
        for (l, side) in self.launches.iter().flat_map(|l| [(l, 0), (l, 1)]) {
            let [any, differs] = last.entry((l.process, side)).or_default();
            *any = (*any).max(Some(l.launch[side]));
            if l.verdict == Verdict::Differs {
                *differs = (*differs).max(Some(l.launch[side]));
            }
        }
        let mut replaced = [0; 2];
        let differences = self.unpaired.iter().filter(|u| {
            let side = usize::from(u.side.min(1));
            let [any, differs] = last.get(&(u.process, side)).copied().unwrap_or_default();
            let none = u.replaced && any > Some(u.launch) && differs < Some(u.launch);
            replaced[side] += u64::from(none);
            let process = self.processes.get(u.process as usize);
            !none && process.is_none_or(|p| p.cut[1 - side].is_none())
        });
        (differences.collect(), replaced)
    }

    /// Computes the report's gaps and verdict from its launches and processes.
    pub fn conclude(&mut self) {
        self.gaps.clear();
        if self.pairs == 0 && self.unpaired.is_empty() && self.alone.iter().all(|p| p.launches == 0) {
            self.gaps.push("neither side recorded a launch".into());
        }
        let pairs =
            self.processes.iter().flat_map(|p| [0, 1].map(|side| (side, &p.names[side], &p.cut[side])));
        let alone = self.alone.iter().map(|p| (usize::from(p.side), &p.name, &p.cut));
        for (side, name, cut) in pairs.chain(alone) {
            let side = if side == 0 { "A" } else { "B" };
            let who = if name.is_empty() { side.to_owned() } else { format!("{side}'s {name}") };
            if let Some(cut) = cut {
                self.gaps.push(format!("{who} was cut off: later launches are missing ({cut})"));
            }
        }
        let (differences, replaced) = self.unpaired_differences();
        let extra = !differences.is_empty() || self.alone.iter().any(|p| p.launches > 0);
        let [a, b] = replaced;
        if a + b > 0 {
            self.gaps.push(format!(
                "{a} {} of A and {b} of B have other kernels in the same places, and what they left was not \
                 compared; no later launch differs (a library chose kernels by time?)",
                plural(a, "launch", "launches")
            ));
        }
        let elsewhere = self.pairs.saturating_sub(self.launches.len() as u64);
        if elsewhere > 0 {
            self.gaps.push(format!(
                "this is a part of a report: {elsewhere} of {} launch pairs are in other parts",
                self.pairs
            ));
        }
        let gap = if self.gaps.is_empty() { Verdict::Same } else { Verdict::Unknown };
        let extra = if extra { Verdict::Differs } else { Verdict::Same };
        self.verdict = self.launches.iter().map(|l| l.verdict).fold(gap.max(extra), Verdict::max);
    }
}
