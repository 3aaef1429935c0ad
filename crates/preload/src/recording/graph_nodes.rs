//! The program's graphs, with the contexts of their kernel nodes.

use std::collections::HashMap;
use std::sync::Arc;

use prlx_driver::record::program::NodeId;

use crate::recording::context_recorder::ContextRecorder;
use crate::recording::launch_shape::Shape;
use crate::rewritten_module::{Kernel, Module};

/// The process's graphs.
#[derive(Default)]
pub(super) struct Graphs {
    /// Contexts of nodes, by device address, with the recorder that allocated them.
    pub nodes: HashMap<u64, (Arc<ContextRecorder>, NodeId)>,
    /// Executable graphs, by handle.
    pub executable: HashMap<usize, ExecutableGraph>,
    /// Number of the next executable graph.
    pub count: u32,
}

/// An executable graph.
pub(super) struct ExecutableGraph {
    pub(super) number: u32,
    /// How often it was launched.
    pub(super) launches: u64,
    /// Its kernel nodes that have contexts.
    pub(super) kernels: Vec<Node>,
}

/// A kernel node of an executable graph.
#[derive(Clone)]
pub struct Node {
    /// The driver's handle of the node, as an address.
    pub handle: usize,
    /// Device address of its context.
    pub context: u64,
    /// Module of the kernel.
    pub module: Arc<Module>,
    /// The kernel that it launches.
    pub kernel: Kernel,
    /// How it launches the kernel.
    pub shape: Shape,
    /// The program's parameters as PTX lays them out, in the form in which they are recorded.
    pub params: Vec<u8>,
    /// Whether another node of the graph has the same context. Neither of them can be recorded.
    pub shares_context: bool,
}
