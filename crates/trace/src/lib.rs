//! The vocabulary of a recording, the records that devices write, and the files that hold them.
//!
//! A [`Trace`] has a static half ([`kernel`]: modules, control flow, sites, decode programs, source) and a
//! dynamic half ([`launch`]: launches, streams of warps). It explains itself with no module beside it. This
//! crate knows nothing of PTX, drivers or analyses; it reads `&[u8]` and writes to `Write`, and opens no
//! file.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::indexing_slicing
)]

#[macro_use]
mod codec;

pub mod check;
pub mod dataflow;
pub mod device;
mod dump;
pub mod element;
mod error;
mod file;
mod format;
mod frame;
#[doc(hidden)]
pub mod fuzz;
pub mod ids;
#[macro_use]
pub mod kernel;
pub mod launch;
pub mod mark;
pub mod names;
pub mod narrow;
pub mod outputs;
pub mod parallel;
mod printed;
pub mod process;
mod read_params;
pub mod table;
mod trace;
mod validate;
mod warp_list;
mod writer;

pub use codec::VERSION as FORMAT_VERSION;
pub use dump::warp as dump_warp;
pub use error::Error;
pub use file::MAGIC;
pub use format::format_markdown;
pub use ids::{
    BlockId, ClockDomain, ClockReading, Cta, Cycles, Dim3, FileId, FuncId, Lane, LaneMask, LocId, LoopId,
    ModuleId, Nanos, Picos, RangeId, SignedPicos, SiteId, Slot, WarpId, WarpSize,
};
pub use kernel::Level;
pub use launch::{Launch, WarpInfo, WarpStream};
pub use mark::{Mark, Marks};
pub use outputs::OutputContents;
pub use printed::Printed;
pub use process::Process;
pub use read_params::ReadParams;
pub use table::{Table, TableContents};
pub use trace::{Bytes, Recording, StreamFrame, Streams, Trace};
pub use writer::Writer;
