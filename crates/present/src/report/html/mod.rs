//! A report as one HTML page that loads nothing else.

mod finding;
mod map;
mod output;
mod page;
mod source;

pub use page::html;
