//! Both sides' modules, in one numbering, as lanes are compared.

use std::collections::BTreeMap;

use prlx_trace::SiteId;

use crate::builds::CommonIds;
use crate::builds::canonical_form::CanonicalForm;
use crate::decode::CheckedModule;

/// EntryKind both trees were made with.
pub(crate) struct BuildPair<'a> {
    pub programs: [&'a CheckedModule<'a>; 2],
    pub names: [&'a CommonIds; 2],
    /// How the trees were brought to the form that two builds share, if they were: then nothing in them is where control parts.
    pub canonical: Option<&'a [CanonicalForm; 2]>,
    /// Nothing is surely the same on both sides: what differs is [`LaneDiff::doubted`], and no finding, where a site is known.
    pub unsure: bool,
    /// By side: see [`crate::pair::guarded`].
    pub guarded: [&'a BTreeMap<SiteId, Vec<SiteId>>; 2],
}
