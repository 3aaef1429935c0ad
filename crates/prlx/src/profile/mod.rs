//! Profiles launch files and programs: records their markers, and measures what the markers cost.

mod calibrate;
mod launch_files;
mod machine_code;
mod markers;
mod program;

pub use launch_files::{LaunchProfile, profile_launch_files};
pub use markers::{MarkerHint, ProfileOptions, marking};
pub use program::{ProcessProfile, ProgramProfile, profile_program};
