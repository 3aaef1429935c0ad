//! The integration tests of `prlx-preload`.

mod programs;
#[path = "../../../../tests/tools.rs"]
mod tools;
