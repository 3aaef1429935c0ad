//! Two builds of one source: which function, loop and site of one is which of the other.

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
