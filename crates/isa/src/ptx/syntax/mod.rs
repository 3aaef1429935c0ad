//! The syntax of PTX: where a module, its functions and their statements begin and end.
//!
//! [`parser`] reads a module into the [`tree`]. [`scan`] finds the ends of words, strings, brackets and
//! statements. [`header`], [`declaration`] and [`constant`] read the parts that more than one stage needs.

pub(super) mod constant;
pub(super) mod declaration;
pub(super) mod header;
pub(super) mod parser;
pub(super) mod scan;
pub(super) mod tree;
