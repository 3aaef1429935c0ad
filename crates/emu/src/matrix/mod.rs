//! Matrix products: `mma`, `wmma` and `wgmma`.

pub mod mma;
pub mod product;
pub mod wgmma;
pub mod wgmma_state;
