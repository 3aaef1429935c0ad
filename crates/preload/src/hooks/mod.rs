//! What this library does about each driver call that it stands in for, and about exits of the program.

pub mod exit;
pub mod graph;
mod jit_options;
pub mod launch;
pub mod library;
pub mod link;
pub(crate) mod link_inputs;
pub mod modules;
mod params;
mod replacement;
pub mod wait;
