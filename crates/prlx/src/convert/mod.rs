//! Converts recordings into files of PRLX 0.x, and repacks such files.

mod complete_file;
mod export;
mod losses;
mod packing;
mod repack;

pub use complete_file::{Out, write_complete};
pub use export::export_launch;
pub use packing::Packing;
pub use repack::repack_file;
