//! Sessions: the recording of a program, a folder with one file for each of its processes.
//!
//! The command that starts the program puts the [`Options`] into an environment variable. The recorder inside
//! each process creates a file of its own in the folder ([`create_process_file`]) and appends to it. When the
//! program has ended, the command writes an index ([`SessionIndex`], `session.json`) beside the files.
//! [`Session`] reads all of it. A single recording counts as a session of one process.
//!
//! # Invariants
//! No file is written by two processes. A folder without an index, or with truncated files, can still be
//! read.
//!
//! # Limitations
//! A folder on a file system that several hosts share has one index: that of the host that ended last.

mod folder;
mod index;
mod options;
mod part;
mod pattern;
mod process_file;

pub use folder::Session;
pub use index::{INDEX, ProcessEntry, SessionIndex};
pub use options::{LaunchFilterState, NVTX_LIBRARY, Options, VARIABLE, Zoom};
pub use part::{LaunchBound, LaunchPart, LaunchPartState, RangePattern};
pub use pattern::KernelPattern;
pub use process_file::{
    CHANGES_EXTENSION, LIVE_EXTENSION, LOST, MODULE_NOT_REWRITTEN, NO_ROOM, ProcessFile, capture_folder,
    captured_launch, create_process_file, map_file, memory_changes_file, this_process,
};
