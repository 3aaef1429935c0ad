//! Integration tests of `prlx-instrument`, as one program.

mod cases;
mod corpus;
mod faults;
mod mutants;
mod reordering;
mod support;
