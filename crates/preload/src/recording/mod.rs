//! The process's recording: its file in the session's folder, one recorder for each context, and the entry of
//! each launch.
//!
//! # Invariants
//! A launch is recorded, or its reason is written down. The file is created when the first module is
//! rewritten, is appended to while the program runs, and is complete when the program ends by `exit`.

mod context_recorder;
mod contexts;
mod devices;
mod digest_queue;
mod flush;
pub mod graph_nodes;
mod graphs;
pub mod launch_shape;
pub mod launches;
mod live_file;
mod live_thread;
mod lock;
mod modules;
mod open;
pub(crate) mod session;
mod streams;

pub use contexts::{bring_in, hold, released, waited};
pub use flush::leave;
pub use graphs::{Replayed, changed, context_of, is_node, node, ready, ready_gone, replay};
pub use launches::{begin, passed, queued};
pub use modules::{left, probed};
pub use session::has_waited;
