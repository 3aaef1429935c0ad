//! The static half of the trace: decode programs, sites, slices.

pub(crate) mod program;
pub(crate) mod slice;
pub(crate) mod statics;
