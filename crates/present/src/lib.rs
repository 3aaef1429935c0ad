//! Turns reports into what people and programs read.
//!
//! Holds: the same report gives the same bytes; no colour codes unless asked for; names from traces can't write control
//! characters to a terminal.

mod checks;
mod flame;
mod format;
mod gate;
mod html;
pub mod inspect;
mod json;
mod launches;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perfetto;
pub mod prlx;
pub mod profile;
mod repeats;
mod schedules;
pub mod tables;
pub mod tallies;
mod text;
pub mod timeline;
#[cfg(feature = "tui")]
pub mod tui;
mod visits;
mod words;

pub use checks::{checks, checks_json};
pub use flame::flame;
pub use format::{Style, clean as safe, clean_lines as safe_lines};
pub use gate::{gate, gate_json, github, junit};
pub use html::html;
pub use json::{json, read_json};
pub use launches::{kernels, launches};
pub use repeats::{repeats, repeats_json};
pub use schedules::{schedules, schedules_json};
pub use tallies::{tallies, tallies_csv, tallies_html, tallies_json};
pub use text::text;
pub use visits::{visits, visits_json};
