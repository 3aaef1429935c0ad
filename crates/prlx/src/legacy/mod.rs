//! Recordings of PRLX 0.x on disk: files, sessions, site tables, and the source files that those name.

mod files;
mod sources;

pub use files::{Input, MappedFile, identify, ids_in_a, open_launch, recorded_at, site_table};
pub use sources::SourceFiles;
