//! The vocabulary of a recording, the records that devices write, and the files that hold them.
//!
//! A [`Trace`] has a static half ([`kernel`]: modules, control flow, sites, decode programs, source) and a dynamic half
//! ([`launch`]: launches, streams of warps). It explains itself with no module beside it. This crate knows nothing of
//! PTX, drivers or analyses; it reads `&[u8]` and writes to `Write`, and opens no file.

pub mod device;
mod error;
pub mod ids;
pub mod kernel;
pub mod launch;
mod trace;

pub use error::Error;
pub use ids::{BlockId, Cta, Dim3, FileId, FuncId, Lane, LaneMask, LocId, LoopId, ModuleId, SiteId, Slot, WarpId};
pub use kernel::Level;
pub use launch::{Launch, WarpStream};
pub use trace::{Recording, Streams, Trace, WarpInfo};
