//! The model that inserted code is compared with: what the actions of a plan mean for one lane.

pub(super) mod lane;
mod markers;
pub(super) mod tables;
pub(super) mod track;
