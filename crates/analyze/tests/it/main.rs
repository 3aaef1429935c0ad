//! Integration tests of `prlx-analyze`. [`toy`] writes programs and their traces; the other modules check the
//! results.

mod builds;
mod decode;
mod diff;
mod operands;
mod path_view;
mod toy;
