//! PTX: a table of operations, a lossless reader, and the way from it to the neutral view.
mod form;
mod ops;
pub use form::Form;
pub use ops::{Op, TableClass};
