//! Memory: the storage behind every state space, the table of global allocations, and checked accesses.

pub mod access;
pub mod heap;
mod region;

pub use region::{FIRST, Lanes, Memory, Owner, Region};
