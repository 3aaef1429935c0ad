//! Both sides' modules, in one numbering, as lanes are compared.

use std::collections::BTreeMap;

use prlx_trace::SiteId;

use crate::builds::Names;
use crate::builds::canonical_form as fold;
use crate::decode::Program;

/// What both trees were made with.
pub(crate) struct Sides<'a> {
    pub programs: [&'a Program<'a>; 2],
    pub names: [&'a Names; 2],
    /// How the trees were brought to the form that two builds share, if they were: then nothing in them is where control parts.
    pub fold: Option<&'a [fold::Side; 2]>,
    /// Nothing is surely the same on both sides: what differs is [`LaneDiff::doubted`], and no finding, where a site is known.
    pub unsure: bool,
    /// By side: see [`crate::pair::guarded`].
    pub guarded: [&'a BTreeMap<SiteId, Vec<SiteId>>; 2],
}
