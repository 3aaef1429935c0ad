//! Shows the content of a recording: its launches, its modules, the visits of a warp, its launches on a
//! timeline.

pub mod launches;
pub mod module;
mod place;
mod recorded;
pub mod timeline;
pub mod visits;
