//! Timelines of kernels and their analysis: as text, JSON and HTML, and their spans for viewers and tables.
//!
//! # Invariants
//! The same timeline gives the same bytes. Text and JSON contain all notes of a timeline.

mod chrome;
mod diff;
mod host;
mod html;
mod json;
mod spans;
mod text;

pub use chrome::chrome;
pub use diff::{profile_diff, profile_diff_json};
pub use html::{ProfilePage, profile_html};
pub use json::profile_json;
pub use spans::{DETAILED, SPANS, csv, perfetto, rows};
pub use text::{profile, profile_head};
