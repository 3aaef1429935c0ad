//! Records one launch of a job, and measures what recording costs.

mod cost;
pub(crate) mod instrumented;
pub(crate) mod launches;
mod memory;
mod options;

pub use cost::{Cost, CostOptions, KernelVariant, MarkerVisits, cost};
pub use instrumented::record;
pub(crate) use launches::tables;
pub use options::{OriginalRun, RecordOptions, Recorded};
