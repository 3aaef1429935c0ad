//! The outcomes of running a launch file or a program many times.
//!
//! # Invariants
//! The runs of all outcomes add up to [`Repeats::runs`].
//!
//! # Limitations
//! Outcomes that did not occur in these runs are not listed.

use prlx_trace::Printed;

use crate::report::{Report, Verdict};

/// All outcomes of repeated runs of one thing.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Repeats {
    /// `Same`: one outcome, fully seen. `Differs`: several outcomes. `Unknown`: one outcome, partly recorded.
    pub verdict: Verdict,
    /// The launch file or command that was run, as the user wrote it.
    pub command: String,
    /// The number of runs.
    pub runs: u64,
    /// The outcomes, the most frequent first.
    pub outcomes: Vec<RunOutcome>,
    /// With one outcome: its first run compared with itself. The gaps of this report say what was not seen.
    pub alone: Option<Report>,
}

/// Runs with the same outcome.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RunOutcome {
    /// The number of runs with this outcome.
    pub runs: u64,
    /// The numbers of the first of these runs, from 0. The list is cut to a few.
    pub first: Vec<u64>,
    /// A digest of everything that was recorded, in hexadecimal. `None` if the recording has no digests.
    pub digest: Option<String>,
    /// The number of these runs that have another digest: compared with the first run, they are the same.
    pub other_digests: u64,
    /// Why runs with other digests count as the same, as notes of the comparison with the first of them.
    pub notes: Vec<String>,
    /// How the program failed, or what stopped the launch. `None` if the run ended well.
    pub ended: Option<String>,
    /// The number of launches in one run.
    pub launches: u64,
    /// What the kernel printed in the first run of a launch file. Empty for programs.
    pub printed: Printed,
    /// The path of the first run's recording, if it was kept.
    pub kept: Option<String>,
    /// The first run of the most frequent outcome compared with the first run of this one. `None` for the
    /// most frequent outcome, and for outcomes beyond the limit of comparisons.
    pub report: Option<Report>,
}
