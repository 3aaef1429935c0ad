//! Recording without instrumentation: a plan's actions, run beside the original code.

pub mod probes;
pub mod recorder;
pub mod tracks;
pub mod value;
