//! From the syntax tree of a PTX module to its neutral view: names, operands, basic blocks, locations,
//! initial values.

mod blocks;
mod body;
mod builder;
mod initializer;
mod labels;
mod locations;
mod markers;
mod module;
mod operands;
mod scopes;
mod semantics;
mod special_registers;

pub use module::{read, view, view_of};
