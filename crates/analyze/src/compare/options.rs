//! The options of a comparison.

use crate::decode::DecodeLimits;
use crate::launches::filter::Filter;
use crate::outputs::Tolerance;

/// The options of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct DiffOptions {
    /// The kernels to compare, as names with `*` and `?`. Empty: all.
    pub kernels: Vec<String>,
    /// The launches to compare, as ranges of A's numbers: the first, and one past the last. Empty: all.
    pub launches: Vec<(u64, u64)>,
    /// The largest number of findings listed for a launch.
    pub findings: usize,
    /// The largest number of warps listed for a finding.
    pub warps: usize,
    /// Bounds on the decoding of each lane.
    pub limits: DecodeLimits,
    /// What to compare and report.
    pub filter: Filter,
    /// Compares only every `of`-th pair of launches, from pair `index` on. The result is a part of a report
    /// ([`Report::merge`](crate::Report::merge)).
    pub shard: Option<Shard>,
    /// Matches kernels without a match by name in the order of their first launches.
    pub force: bool,
    /// Counts as differences also what only the schedule decides: active lanes, and decisions that follow
    /// from the order of atomics although all outputs agree.
    pub strict: bool,
    /// How far elements of recorded outputs may be apart. With `None`, what the launch files state counts;
    /// other outputs must have equal bits.
    pub tolerance: Option<Tolerance>,
    /// Whether other digests of the memory behind pointers are a difference. Memory that no launch writes can
    /// differ from run to run; without this, digests only show that memory is equal.
    pub digest_differences: bool,
    /// Tolerances of single outputs, by name pattern; the first match counts, before `tolerance`.
    pub output_tolerances: Vec<(String, Tolerance)>,
}

/// One part of a divided comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// The part's index, from 0.
    pub index: u64,
    /// The number of parts.
    pub of: u64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        DiffOptions {
            kernels: Vec::new(),
            launches: Vec::new(),
            findings: 64,
            warps: 256,
            limits: DecodeLimits::default(),
            filter: Filter::default(),
            shard: None,
            force: false,
            strict: false,
            tolerance: None,
            digest_differences: true,
            output_tolerances: Vec::new(),
        }
    }
}
