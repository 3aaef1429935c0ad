//! The toy instruction set through all of PRLX.

mod support;
mod view;
