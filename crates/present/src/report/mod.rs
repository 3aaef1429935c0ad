//! A comparison's report as text, JSON, an HTML page, a flame graph and an interactive viewer.

pub mod flame;
pub mod html;
pub mod json;
pub mod text;
#[cfg(feature = "tui")]
pub mod tui;
