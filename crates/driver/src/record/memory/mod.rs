//! The memory of a launch, for every API: the context that tells instrumented code where it is, and what a
//! copy of it becomes in a recording.

pub(super) mod context;
pub(super) mod launches;
