//! The process's recording: its file in the session's folder, one recorder for each context, and the entry of
//! each launch.
//!
//! # Invariants
//! - A launch is recorded, or the reason why not is written to the file.
//! - The file is created at the first module that the program loads. It is appended to while the program
//!   runs, and is complete when the program ends by `exit`.

mod capture;
mod context_recorder;
mod contexts;
mod devices;
mod digest_batch;
mod digest_queue;
mod digest_thread;
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
mod tensor_maps;

pub use contexts::{
    before_capture, before_release, before_wait, copy_after_wait, finish_contexts, pause_primary,
    resume_primary,
};
pub use flush::flush_at_exit;
pub use graphs::{
    GraphLaunch, begin_graph_launch, graph_destroyed, graph_instantiated, is_node_context, new_node_context,
    node_changed, node_context,
};
pub use launches::{begin_launch, launch_queued, record_unchanged};
pub use modules::{module_not_rewritten, module_probed, module_skipped};
pub use session::{launch_count, set_last_wait};
pub use tensor_maps::tensor_map_encoded;
