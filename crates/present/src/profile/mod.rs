//! Timelines of kernels and what is found in them: as text, as JSON, and their spans for viewers and tables.
//!
//! Holds: the same timeline gives the same bytes; what a timeline notes is said in text and JSON.

mod diff;
mod host;
mod html;
mod json;
mod spans;
mod text;

pub use diff::{profile_diff, profile_diff_json};
pub use html::{ProfilePage, profile_html};
pub use json::profile_json;
pub use spans::{DETAILED, SPANS, chrome, csv, perfetto, rows};
pub use text::{profile, profile_head};
