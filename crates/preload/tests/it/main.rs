//! The integration tests of `prlx-preload`.

#[path = "../../../../tests/nvidia.rs"]
mod nvidia;
mod programs;
#[path = "../../../../tests/tools.rs"]
mod tools;
