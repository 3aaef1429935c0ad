//! Memory: the storage behind every state space, the table of global allocations, and checked accesses.

pub mod access;
mod allocations;
pub mod heap;
pub mod peers;
mod region;

pub use allocations::{Allocation, FIRST, Memory, Owner, Variable};
pub use region::{CheckedLanes, Region};
