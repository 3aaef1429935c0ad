//! Parts of the device that tests and benchmarks of this crate reach into. No other crate uses them.

pub use crate::decode::amdgpu::FloatMode;
pub use crate::decode::amdgpu::alone::{WaveState, run_alone};
pub use crate::decode::contract::{Contraction, Fusion, contraction};
pub use crate::decode::coverage::{Coverage, coverage, tests};
pub use crate::decode::select::{AluOp, select};
pub use crate::error::EmuError;
pub use crate::exec::rng::Rng;
