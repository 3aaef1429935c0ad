//! What of a function is recorded: which sites, and which of them a decoder can compute instead.

pub(crate) mod choice;
pub(crate) mod convergence;
pub(crate) mod cut;
pub(crate) mod elide;
pub(crate) mod hashes;
pub(crate) mod lower;
pub(crate) mod min_cut;
pub(crate) mod select;
pub(crate) mod stored;
pub(crate) mod trips;
