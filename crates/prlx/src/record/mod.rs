//! Records launch files and programs, and keeps the recordings.

mod environment;
mod file;
mod filters;
mod folder;
pub(crate) mod kernel_resources;
mod launch_file;
mod library;
mod options;
mod program;
mod session_folder;
mod start_error;
mod supervisor;
mod tuning;

pub use file::save;
pub use filters::{check_code_filters, check_ranges, out_of_range, require_kernel, require_lines};
pub use folder::RecordingFolder;
pub use launch_file::{
    RecordedLaunch, instrument, load, record, recorder_program, store_outputs, warps_per_cta, with_seed,
    zoomed,
};
pub(crate) use launch_file::{rewrite, warn_of_changes};
pub use options::{LaunchSelection, RecorderOptions, patterns, session_options};
pub use program::{Ended, ProgramOutput, discard_empty_recording, run_program, run_with_choices};
pub use session_folder::remove_recording;
pub use supervisor::Supervisor;
pub use tuning::TunerChoices;
