//! The modules of both sides, in one numbering, as lanes are compared.

use std::collections::BTreeMap;

use prlx_trace::SiteId;

use crate::builds::CommonIds;
use crate::builds::canonical_form::CanonicalForm;
use crate::decode::CheckedModule;

/// The modules that both lanes' trees were built with.
pub(crate) struct BuildPair<'a> {
    pub programs: [&'a CheckedModule<'a>; 2],
    pub names: [&'a CommonIds; 2],
    /// Both sides' mapping to the canonical form, if the trees are in that form. Such trees contain no branch
    /// and join entries.
    pub canonical: Option<&'a [CanonicalForm; 2]>,
    /// No match between the sides is certain: a difference at a known site is uncertain
    /// ([`LaneDiff`](super::difference::LaneDiff)), never a finding.
    pub all_uncertain: bool,
    /// By side: see [`guarded`](crate::builds::guards::guarded).
    pub guarded: [&'a BTreeMap<SiteId, Vec<SiteId>>; 2],
}
