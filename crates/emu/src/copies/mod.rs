//! Asynchronous copies, and the mbarriers that count them.

pub mod bulk;
pub mod lane;
pub mod mbarrier;
pub mod state;
pub mod tensor;
