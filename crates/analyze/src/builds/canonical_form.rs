//! The canonical form that two builds share: which place in the source each site is, and in which loop trips.
//!
//! A *source loop* is a loop as the source has it. One build may have it as several loops, or as straight
//! code. See [`super::unroll_match`] for how it is found.

use std::collections::{BTreeMap, BTreeSet};

use prlx_trace::kernel::Module;
use prlx_trace::{BlockId, FuncId, LoopId};

use crate::report::WhyUncompared as Why;

use super::common_ids::CommonIds;
use super::match_key::SiteKey;

/// The number of the first source loop, above all numbers of a function's own loops.
pub(crate) const FIRST_SOURCE_LOOP: u32 = 1 << 24;
/// A flag in a group's number: only its copies inside loops, that is, its loop tests.
pub(super) const LOOP_TESTS: u32 = 1 << 31;

/// Whether the visits of a site are compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SiteRole {
    Compared(CanonicalSite),
    Excluded(Why),
}

/// The position of a copy of a site in the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CanonicalSite {
    pub group: u32,
    /// The copy's decision is true where the group's first copy is false.
    pub inverted: bool,
    /// The group certainly is the same on the other side; see [`super::confidence`].
    pub certain: bool,
    /// The copy also tests before the first trip, where the other side does not. That test shows in whether
    /// the loop runs.
    pub early: bool,
    /// The source loops around it, outermost first.
    pub levels: Vec<LoopLevel>,
}

/// Which trip of a source loop a copy is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LoopLevel {
    pub source_loop: u32,
    /// The part of the source loop on this side: one of its loops, or code that was peeled off.
    pub segment: u32,
    /// The build's loop, if the part is one.
    pub of: Option<LoopId>,
    /// How many trips of the source one trip of this part makes.
    pub factor: u32,
    /// Which of these trips the copy is in, from 0.
    pub offset: u32,
}

/// One build's mapping to the canonical form.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct CanonicalForm {
    pub names: CommonIds,
    pub sites: Vec<SiteRole>,
    /// By function and loop: a position inside the loop, which gives the source trips of its trips.
    pub loops: BTreeMap<(FuncId, LoopId), CanonicalSite>,
    /// By function and block: copies that run on every trip of their source loop, and so count its trips.
    pub trip_counters: BTreeMap<(FuncId, BlockId), Vec<CanonicalSite>>,
    /// By group: how many source trips one trip makes, by nesting level and part.
    pub factors: BTreeMap<u32, BTreeMap<(u32, u32), u32>>,
    /// By source loop: this build's first loop of it.
    pub source_loops: BTreeMap<u32, LoopId>,
    /// By source loop: the smallest site number in it, which places the loop among the sites around it.
    pub order: BTreeMap<u32, u32>,
    /// Source loops whose trips may not be the other side's trips.
    pub uncertain_loops: BTreeSet<u32>,
    /// Functions that the other side calls from another number of places.
    pub uncertain_calls: BTreeSet<FuncId>,
    /// Functions that the other side does not have.
    pub unmatched_functions: BTreeSet<FuncId>,
    /// Functions whose sites and loops do not match the other side's one to one.
    pub changed_functions: BTreeSet<FuncId>,
}

/// What the matching of unrolled code starts from.
pub(crate) struct MatchInput<'a> {
    pub modules: [&'a Module; 2],
    pub keys: [&'a [SiteKey]; 2],
    /// By site of B: its match in A, where the site match found one.
    pub partners: &'a [Option<u32>],
    pub names: [&'a CommonIds; 2],
    /// Whether the source line of A's site and B's site has different texts.
    pub edited: &'a dyn Fn(usize, usize) -> bool,
}
