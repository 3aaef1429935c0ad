//! Records launches.
//!
//! | module | content |
//! |---|---|
//! | `memory` | the memory of a launch: what instrumented code finds there, and how it is read |
//! | `job` | records one launch of a launch file, and measures what that costs |
//! | [`program`] | records the launches of a program that does not know about it |
//!
//! `job` makes the calls of [`Driver`](crate::Driver), which every device has. They return when their work is
//! done. `program` makes those of [`Queue`](crate::queue::Queue), none of which waits for the program. Both
//! share `memory` and [`decode`](crate::decode), which make no calls.

mod job;
mod memory;
pub mod program;

pub use job::{
    Cost, CostOptions, KernelVariant, MarkerVisits, OriginalRun, RecordOptions, Recorded, cost, record,
};
