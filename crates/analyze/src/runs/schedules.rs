//! The outcomes of running a launch under many schedules of the CPU device, one seed a schedule.
//!
//! # Invariants
//! The runs of all outcomes add up to [`Schedules::runs`]: each file runs once under each seed.
//!
//! # Limitations
//! Schedules that were not tried may have other outcomes.

use prlx_trace::Printed;
use prlx_trace::check::Findings;

use crate::report::{Fault, Report, Verdict};

/// All outcomes of one launch, or of two, under many schedules.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Schedules {
    /// `Same`: one outcome. `Differs`: several. `Unknown`: every run was stopped, in the same way.
    pub verdict: Verdict,
    /// The launch files as the user wrote them: one or two.
    pub files: Vec<String>,
    /// The kernel's name in the module of the first file.
    pub kernel: String,
    /// The seeds: the first, and one past the last.
    pub seeds: [u64; 2],
    /// The number of runs: files times seeds.
    pub runs: u64,
    /// The outcomes, the most frequent first.
    pub outcomes: Vec<ScheduleOutcome>,
    /// The first run of the first outcome compared with the first run of the second.
    pub report: Option<Report>,
    /// What the checks found, if they ran.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub checks: Option<ScheduleFindings>,
}

/// What the checks found in all runs: one finding for each kind, allocation and pair of places.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScheduleFindings {
    /// The findings, each as the first run with it has it.
    pub found: Findings,
    /// By finding: the runs with it.
    pub seen: Vec<SeenIn>,
}

/// The runs that have a finding.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SeenIn {
    /// The number of runs with the finding.
    pub runs: u64,
    /// The first of them. The list is cut to a few.
    pub first: Vec<ScheduleRun>,
}

/// Runs with the same outcome: the same outputs, or stopped in the same way.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScheduleOutcome {
    /// The number of runs with this outcome.
    pub runs: u64,
    /// The first of these runs. The list is cut to a few.
    pub first: Vec<ScheduleRun>,
    /// What stopped the first run. Other runs of the outcome may have stopped elsewhere.
    pub fault: Option<Fault>,
    /// The outputs. Empty if the runs were stopped.
    pub outputs: Vec<OutputContent>,
    /// What the first run printed. Other runs of the outcome may have printed other text.
    pub printed: Printed,
    /// The number of these runs whose outputs have other bits than those of the first run, within the
    /// tolerance.
    pub within_tolerance: u64,
}

/// One run: a launch file under a seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScheduleRun {
    /// The launch file, an index into [`Schedules::files`].
    pub file: usize,
    /// The seed of the schedule.
    pub seed: u64,
}

/// The content of an output buffer after the launch.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OutputContent {
    /// The argument's name.
    pub name: String,
    /// XXH3-64 of the bytes, in hexadecimal.
    pub digest: String,
    /// The number of elements.
    pub elements: u64,
    /// The values of the first elements, as text.
    pub first: Vec<String>,
    /// The number of elements that differ from what the launch file expects. `None` if it expects nothing.
    pub wrong: Option<u64>,
}
