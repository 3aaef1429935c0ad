//! The form that two builds share: which place in the source each site of a build is, and in which loop iterations.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::Module;
use prlx_trace::{BlockId, FuncId, LoopId};

use crate::report::WhyUncompared as Why;

use super::common_ids::CommonIds;
use super::match_key::SiteMatchKey;

/// The numbers of families begin here, where no function's loops have theirs.
pub(crate) const FAMILIES: u32 = 1 << 24;
/// With a group's number: its copies in loops alone.
pub(super) const TESTS: u32 = 1 << 31;

/// What becomes of a site's visits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SiteRole {
    Compared(CanonicalSite),
    Excluded(Why),
}

/// Where a copy stands in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CanonicalSite {
    pub group: u32,
    /// It holds where the group's first copy does not.
    pub inverted: bool,
    /// It is surely what its group is on the other side ([`crate::doubt`]).
    pub certain: bool,
    /// It asks before the first trip too, where the other side does not: that shows in whether there is one.
    pub early: bool,
    /// Families around it, outermost first.
    pub levels: Vec<LoopLevel>,
}

/// Which trip of a family a copy is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoopLevel {
    pub family: u32,
    /// Which part of the family on this side: a loop, or what was peeled off.
    pub segment: u32,
    /// That loop.
    pub of: Option<LoopId>,
    /// How many trips of the source one of it is.
    pub factor: u32,
    /// Which of them.
    pub offset: u32,
}

/// One side.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CanonicalForm {
    pub names: CommonIds,
    pub sites: Vec<SiteRole>,
    /// By function and loop: a place in it, which tells where its trips are.
    pub loops: BTreeMap<(FuncId, LoopId), CanonicalSite>,
    /// By function and block: copies that are in every trip of their family, and count them.
    pub counts: BTreeMap<(FuncId, BlockId), Vec<CanonicalSite>>,
    /// By group: the factors of its segments, by level and segment.
    pub factors: BTreeMap<u32, BTreeMap<(u32, u32), u32>>,
    /// By family: this side's first loop of it.
    pub families: BTreeMap<u32, LoopId>,
    /// By family: the first name in it, which is its place in what is around it.
    pub order: BTreeMap<u32, u32>,
    /// Families whose trips may be other ones than the other side's.
    pub doubtful: BTreeSet<u32>,
    /// Functions that are not called from as many places as on the other side.
    pub calls: BTreeSet<FuncId>,
    /// Functions that the other side does not have.
    pub alone: BTreeSet<FuncId>,
    /// Functions that are not the same on the other side, site by site and loop by loop.
    pub uneven: BTreeSet<FuncId>,
}

/// What the sites of both modules are put into groups by.
pub(crate) struct MatchInput<'a> {
    pub modules: [&'a Module; 2],
    pub keys: [&'a [SiteMatchKey]; 2],
    /// B's sites that have one partner of A each, by whatever rule.
    pub partners: &'a [Option<u32>],
    pub names: [&'a CommonIds; 2],
    /// Whether a site's line has another text on the other side, by A's and B's site.
    pub edited: &'a dyn Fn(usize, usize) -> bool,
}
