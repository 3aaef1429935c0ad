//! Matrix products: `mma`, `wmma`, `wgmma` and `tcgen05`, and tensor memory.

pub mod elements;
pub mod mma;
pub mod product;
pub mod product_shape;
pub mod tensor_core;
pub mod tensor_memory;
pub mod tensor_product;
pub mod tensor_state;
pub mod wgmma;
pub mod wgmma_state;
