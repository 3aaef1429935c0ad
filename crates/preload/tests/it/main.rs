//! The integration tests of `prlx-preload`.

mod programs;
mod tools;
