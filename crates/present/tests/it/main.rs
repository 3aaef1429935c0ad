//! Tests of what reports, recordings and timelines look like: text, JSON, HTML, Perfetto, tables, the viewer.

#[path = "../../../analyze/tests/it/toy.rs"]
mod build;
mod golden;
mod html;
mod perfetto;
mod profile;
mod report;
mod schema;
mod session;
#[cfg(feature = "parquet")]
mod tables;
mod timeline;
#[path = "../../../../tests/tools.rs"]
mod tools;
mod toy;
#[cfg(feature = "tui")]
mod tui;
