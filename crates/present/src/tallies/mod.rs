//! What probe programs kept, as people and programs read it: tables of one or more recordings, merged.
//!
//! Tables of one name, aggregate and kind of keys come together, whatever module, launch or process they are of: rows whose
//! keys *read* the same are one row, so a line that has three locations in two modules has one. Records stay apart: what
//! tells them apart comes before their own keys.
//!
//! Holds: the same recordings give the same bytes; values that found no room are said with their table. Misses: sums of
//! floats depend on the order of recordings in their last bits.

mod flat;
mod html;
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
