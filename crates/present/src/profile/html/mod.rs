//! Timelines of kernels as one HTML page that loads nothing else.

mod page;

pub use page::{ProfilePage, profile_html};
