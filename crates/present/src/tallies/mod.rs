//! The tables that probe programs filled, merged over one or more recordings, as text, HTML, JSON and CSV.
//!
//! Tables with the same name, aggregate and kinds of keys become one, whatever module, launch or process they
//! come from. Rows whose keys print the same become one row: a source line with three locations in two
//! modules has one row. Records are never merged; the recording and launch become their first keys.
//!
//! # Invariants
//! The same recordings give the same bytes. A table reports the values that did not fit.
//!
//! # Limitations
//! The last bits of sums of floats depend on the order of the recordings.

mod flat;
mod html;
mod joined;
mod json;
mod merge;
mod model;
mod names;
#[cfg(test)]
mod tests;
mod text;

pub use flat::FlatTable;
pub use html::tallies_html;
pub use json::{tallies_csv, tallies_json};
pub use model::{Tallies, TallyKey, TallyRow, TallyTable, Unavailable};
pub use text::tallies;
