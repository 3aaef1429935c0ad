//! Recordings and reports as tables: launches, warps, sites, every visit of every lane, findings.
//!
//! Each table declares its columns once, with names, types and meanings; writers such as [`parquet`] follow
//! that declaration. Rows come in batches of at most [`ROWS`], so a table may be larger than memory.
//!
//! # Invariants
//! - `process` and `launch`, and `process`, `module` and `site`, join the tables of a recording.
//! - The same input gives the same rows in the same order.
//! - Text is as recorded, without escapes.
//!
//! # Limitations
//! Recordings at level `fingerprint` have no visits. Recordings of PRLX 0.x have findings only. Operands are
//! in the report only.

mod findings;
mod model;
#[cfg(feature = "parquet")]
pub mod parquet;
mod recording;
mod schema;

pub use findings::findings;
pub use model::{Batch, Cell, ColumnKind, ROWS, Sink, TableSchema};
pub use recording::{RECORDING, RowSource};
pub use schema::{FINDINGS, LAUNCHES, SITES, VISITS, WARPS};
