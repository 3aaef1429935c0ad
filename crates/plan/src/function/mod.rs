//! One function, prepared for every later stage: control flow, data flow, sites.

pub mod body;
pub(crate) mod points;
pub(crate) mod spin_loops;
pub mod wgmma;
