//! Integration tests of `prlx-instrument`, as one program.

mod amd;
mod cases;
mod corpus;
mod faults;
mod mutants;
mod reordering;
mod support;
