//! Parts of the device that tests and benchmarks of this crate reach into. No other crate uses them.

pub use crate::coverage::{Coverage, coverage, tests};
pub use crate::cta::Rng;
pub use crate::select::{AluOp, select};
