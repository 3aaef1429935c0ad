//! Turns reports, recordings and timelines into what people and programs read.
//!
//! - [`words`](self) has the sentences of a report, `format` their layout on a terminal and in HTML.
//! - `report` writes a comparison's report; `gate`, `runs` and `checks` the outcomes of other commands.
//! - [`recording`] and [`tables`] show what a recording holds; `tallies` what probe programs counted.
//! - [`profile`] shows timelines of kernels; [`perfetto`] writes traces for its viewer.
//! - [`legacy`] writes the JSON, CSV and Chrome traces of PRLX 0.5.
//!
//! # Invariants
//! - The same report gives the same bytes.
//! - No colour codes are written unless asked for.
//! - A name from a trace cannot write control characters to a terminal.

mod checks;
mod document;
mod format;
mod gate;
pub mod legacy;
pub mod perfetto;
mod printed;
pub mod profile;
pub mod recording;
mod report;
mod runs;
pub mod tables;
pub mod tallies;
mod words;

pub use checks::{checks, checks_json};
pub use format::{Cleaned, Style, clean as safe, clean_lines as safe_lines, shell_word};
pub use gate::{gate, gate_json, github, junit};
pub use printed::{printed, printed_difference, printed_limit};
pub use recording::launches::{kernels, launches};
pub use recording::visits::{visits, visits_json};
pub use report::flame::flame;
pub use report::html::html;
pub use report::json::{Sides, json, read_json};
pub use report::text::text;
#[cfg(feature = "tui")]
pub use report::tui;
pub use runs::repeats::{repeats, repeats_json};
pub use runs::schedules::{schedule_checks, schedules, schedules_json};
pub use tallies::{tallies, tallies_csv, tallies_html, tallies_json};
