//! Runs probe programs in launch files and in programs, and explains where and how a program is inserted.

mod check;
mod code;
mod count;
mod engine;
mod explain;
mod launch_files;
mod matches;
mod plan;
mod program;
mod recordings;
mod script;

pub use check::{Checked, ModuleMatches, check_module};
pub use count::count;
pub use engine::{EngineOptions, run_engine};
pub use explain::{ClauseExplanation, Explanation, InsertedCode, Totals, explain};
pub use launch_files::{LaunchProbe, ProbeOptions, probe_jobs, probe_launch_files};
pub use plan::recording_request;
pub use program::{LiveTables, ProgramProbe, probe_program};
pub use recordings::{read_recording, tables, tables_of_recordings};
pub use script::{NamedScript, SelectedScript, named, select};
