//! The graphs of the program, with the contexts of their kernel nodes.

use std::collections::HashMap;
use std::sync::Arc;

use prlx_driver::cuda::recorder::NodeId;

use crate::recording::context_recorder::Of;
use crate::recording::launch_shape::Shape;
use crate::rewritten_module::{Kernel, Module};

/// What is known of graphs.
#[derive(Default)]
pub(super) struct Graphs {
    /// Contexts that nodes have, by address, and whose recorder gave them out.
    pub nodes: HashMap<u64, (Arc<Of>, NodeId)>,
    /// Graphs that are ready.
    pub ready: HashMap<usize, Ready>,
    pub count: u32,
}

/// A graph that is ready.
pub(super) struct Ready {
    pub(super) number: u32,
    pub(super) replays: u64,
    pub(super) kernels: Vec<Node>,
}

/// A kernel node of a graph that is ready.
#[derive(Clone)]
pub struct Node {
    /// The driver's handle.
    pub handle: usize,
    /// The address of its context.
    pub context: u64,
    /// What it starts.
    pub module: Arc<Module>,
    /// Of that module.
    pub kernel: Kernel,
    /// How.
    pub shape: Shape,
    /// With what.
    pub params: Vec<u8>,
    /// Why it can't be recorded: it is there twice, with one context.
    pub twice: bool,
}
