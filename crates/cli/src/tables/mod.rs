//! Writes Parquet files, if the program is built with the feature `parquet`.

#[cfg(not(feature = "parquet"))]
mod missing;
#[cfg(feature = "parquet")]
mod parquet;

#[cfg(not(feature = "parquet"))]
pub use missing::{write_findings, write_recording, write_spans, write_tables};
#[cfg(feature = "parquet")]
pub use parquet::{write_findings, write_recording, write_spans, write_tables};
