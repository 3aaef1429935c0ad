//! Execution: warps, CTAs, clusters and the grid.

pub mod calls;
pub mod cluster;
pub mod cta;
pub mod deadlock;
pub mod fault;
pub mod grid;
pub mod host;
pub mod order;
pub mod sync;
pub mod warp;
