//! Execution: warps, CTAs, clusters and the grid.

pub mod barrier;
pub mod calls;
pub mod cluster;
pub mod cta;
pub mod cta_order;
pub mod cta_state;
pub mod deadlock;
pub mod exchange;
pub mod fault;
pub mod grid;
pub mod grid_shape;
pub mod groups;
pub mod interpreter;
pub mod launch;
pub mod loops;
pub mod pointer;
pub mod rng;
pub mod simd;
pub mod spin;
pub mod sync;
pub mod time;
pub mod warp_state;
pub mod watch;
pub mod wave;
pub mod wide;
