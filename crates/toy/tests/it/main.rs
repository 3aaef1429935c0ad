//! The toy instruction set through all of PRLX.

mod compare;
mod rewrite;
mod run;
mod support;
mod view;
