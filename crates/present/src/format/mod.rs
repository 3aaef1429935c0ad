//! Text for terminals: colour, escaping, layout, aligned columns.
//!
//! # Invariants
//! Text from a trace passes through [`clean`] before it is printed, so that it cannot move the cursor, change
//! colours or reorder the line. No colour codes are written unless [`Style::color`] is set.

mod escape;
mod grid;
pub(crate) mod html;
mod layout;
mod style;

pub use escape::{Cleaned, clean, clean_lines, shell_word};
pub(crate) use grid::Grid;
pub(crate) use layout::{clip, count, number, pad, percent, plain_name, time, wrap};
pub(crate) use style::Ink;
pub use style::Style;
