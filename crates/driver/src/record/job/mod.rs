//! Records one launch of a job, and measures what recording costs.

mod allocations;
mod cost;
mod instrumented;
mod options;

pub use cost::{Cost, CostOptions, KernelVariant, MarkerVisits, cost};
pub use instrumented::record;
pub use options::{OriginalRun, RecordOptions, Recorded};
