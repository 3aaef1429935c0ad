//! PTX: a table of operations, a lossless reader, and the way from it to the neutral view.
//!
//! [`parse`] finds the structure and leaves operands alone; [`view`] (or [`view_of`], for chosen functions) resolves
//! them; [`read`] does both. [`prune`] cuts one kernel out of a module.

mod body;
mod constant;
mod declare;
mod form;
mod initial;
mod locs;
mod lower;
mod meaning;
mod names;
mod operand;
mod ops;
mod parse;
mod prune;
mod scan;

pub use form::Form;
pub use lower::{read, view, view_of};
pub use ops::{Op, TableClass};
pub use parse::{Function, Item, ItemKind, Kind, Module, Statement, parse};
pub use prune::{Pruned, prune};
