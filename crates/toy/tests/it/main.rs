//! The toy instruction set through all of PRLX.

mod compare;
mod probes;
mod rewrite;
mod run;
mod support;
mod view;
