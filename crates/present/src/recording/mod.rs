//! Shows the content of a recording: its launches, its modules, the visits of a warp, its launches on a
//! timeline.

pub mod launches;
pub mod module;
pub mod timeline;
pub mod visits;
