//! From the syntax tree of a PTX module to its neutral view: names, operands, basic blocks, locations,
//! initial values.

mod blocks;
mod body;
mod builder;
mod effects;
mod initializer;
mod inline_assembly;
mod labels;
mod locations;
mod markers;
mod module;
mod operands;
mod order;
mod scopes;
mod semantics;
mod special_registers;

pub use effects::semantics;
pub use module::{read, view, view_of};
pub use special_registers::{is_special, special_widths};
