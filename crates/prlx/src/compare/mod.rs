//! Records two sides, compares them, and records them again around the first findings to see all operands
//! there.

mod arguments;
mod before;
mod captured;
mod changes;
mod chosen_ctas;
mod explain;
mod launch_files;
mod outputs;
mod program_runs;
mod programs;
mod side_runs;
mod step_limits;
mod stored_values;
mod survey;

pub use captured::compare_captured_launches;
pub use launch_files::{
    CompareOptions, LaunchComparison, ZOOMED_FINDINGS, attach_operands, compare_launch_files,
};
pub use outputs::compare_outputs;
pub use programs::{ProgramComparison, compare_programs};
pub(crate) use programs::{RunPair, compare_runs, first_run};

use prlx_trace::Level;

/// Whether recordings at a level locate a finding by the visit at which lanes take different branches.
fn locates_visits(level: Level) -> bool {
    level.has_paths()
}
