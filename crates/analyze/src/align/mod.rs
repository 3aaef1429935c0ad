//! One lane on both sides: its path as a tree by execution index, and where two such trees differ.

pub(crate) mod build_pair;
pub(crate) mod canonical_path;
pub(crate) mod difference;
pub(crate) mod digests;
pub(crate) mod divergence;
pub(crate) mod execution_tree;
pub(crate) mod pair_trees;
pub(crate) mod step_recorder;
mod trips;
