//! PTX: a table of operations, a lossless reader, and the resolution of its syntax into the neutral view.
//!
//! [`parse`] finds the structure of a module and does not look at operands. [`view`] resolves the names and
//! operands of all functions, [`view_of`] those of chosen functions. [`read`] parses and resolves. [`prune`]
//! cuts one kernel out of a module.

mod opcode;
mod ops;
mod optional;
mod prune;
mod resolve;
mod suffixes;
mod syntax;
mod validity;

pub use opcode::{Opcode, opcode};
pub use ops::{Op, TableClass};
pub use optional::{OPTIONAL, with_optional_lines};
pub use prune::{Pruned, prune};
pub use resolve::{read, semantics, view, view_of};
pub use syntax::parser::{invalid, parse, truncation};
pub use syntax::tree::{FunctionSyntax, Item, ItemKind, Statement, StatementKind, SyntaxTree};
pub use validity::refusal;
