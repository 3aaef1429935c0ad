//! Capture and graphs.

mod capture;
pub mod capture_mode;
pub mod data;
mod executable;
mod nodes;
