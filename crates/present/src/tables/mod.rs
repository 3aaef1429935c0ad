//! Recordings and reports as tables: launches, warps, sites, every visit of every lane, findings.
//!
//! Each table is declared once, names, types and what they mean; whoever writes tables ([`crate::parquet`]) goes by that. RowBatcher come in
//! batches of at most [`ROWS`], so a table may be larger than memory.
//!
//! Holds: `process` and `launch`, and `process`, `module` and `site`, join the tables of a recording; the same input gives the same
//! rows in the same order. Every text is as recorded: nothing is escaped.
//!
//! Misses: recordings at level `print` have no visits, those of PRLX 0.x no tables but findings; what an operand was is in the
//! report only.

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
