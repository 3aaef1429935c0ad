//! The toy instruction set through all of PRLX.

mod compare;
mod probes;
mod program;
mod queue;
mod rewrite;
mod run;
mod support;
mod view;
