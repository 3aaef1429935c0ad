//! Matches two builds of one source: which function, loop and site of one is which of the other.
//!
//! [`site_match`] is the entry. It matches lines by a [`source_diff`], and sites by [`match_key`]. Code that
//! a compiler unrolled, peeled or duplicated is matched by [`unroll_match`].

pub(crate) mod canonical_form;
mod common_ids;
mod confidence;
mod control_flow;
pub(crate) mod gaps;
pub(crate) mod guards;
pub(crate) mod inlining;
mod match_key;
mod polarity;
pub(crate) mod site_match;
mod source_diff;
mod unroll_match;
mod unrolled_copies;

pub(crate) use common_ids::CommonIds;
