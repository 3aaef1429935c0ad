//! Recording without instrumentation: a plan's actions, run beside the original code.

pub mod marks;
pub mod probes;
pub mod recorder;
pub mod value;
