//! Graphs, captures and executable graphs as data.

use std::collections::BTreeMap;
use std::thread::ThreadId;

use crate::work::Work;

/// A capture that has not ended.
pub(crate) struct Capture {
    /// The graph that gets the nodes.
    pub(crate) graph: u64,
    /// The stream in which it began.
    pub(crate) origin: u64,
    /// Its mode (`CUstreamCaptureMode`).
    pub(crate) mode: i32,
    /// The thread that began it.
    pub(crate) thread: ThreadId,
    /// Whether a call has invalidated it.
    pub(crate) broken: bool,
}

/// A graph. Its nodes are in an order in which they can run.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

/// A node of a graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    /// Nodes that run before it.
    pub(crate) after: Vec<u64>,
    pub(crate) work: Work,
}

/// Graphs and captures of a device, by handle.
#[derive(Default)]
pub struct Graphs {
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) captures: BTreeMap<u64, Capture>,
    /// Executable graphs: the nodes that they were made from, with their work.
    pub(crate) executable: BTreeMap<u64, Vec<(u64, Work)>>,
    /// Parameters of kernel nodes that the program has asked for, by node.
    pub(crate) node_parameters: BTreeMap<u64, NodeParameters>,
}

/// A kernel node's parameters, in memory that the program may read until the node changes.
pub struct NodeParameters {
    pub(super) _bytes: Box<[u8]>,
    /// Address of each parameter in `_bytes`.
    pub pointers: Box<[usize]>,
}
