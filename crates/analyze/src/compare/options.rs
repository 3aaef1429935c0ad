//! How to compare two recordings.

use crate::decode::DecodeLimits;
use crate::launches::filter::Filter;

/// How to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffOptions {
    /// KernelPair to compare, by name with `*` and `?`; none: all.
    pub kernels: Vec<String>,
    /// Launches to compare, by side A's numbers: firsts, and one past the lasts; none: all.
    pub launches: Vec<(u64, u64)>,
    /// Findings of a launch that are kept.
    pub findings: usize,
    /// Warps of a finding that are listed.
    pub warps: usize,
    /// EntryKind decoding one lane may cost.
    pub limits: DecodeLimits,
    /// EntryKind of it counts.
    pub filter: Filter,
    /// Compare only every `of`-th pair of launches, from pair `index` on: a part of a report ([`Report::merge`]).
    pub shard: Option<Shard>,
    /// KernelPair that have no partner by what they are called are partners in the order of their first launches.
    pub force: bool,
}

/// A share of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Which, from 0.
    pub index: u64,
    /// Of how many.
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
        }
    }
}
