//! Graphs, captures and executable graphs as data.

use std::collections::BTreeMap;
use std::thread::ThreadId;

use crate::work::Work;

/// A capture that goes on.
pub(crate) struct Capture {
    pub(crate) graph: u64,
    pub(crate) origin: u64,
    pub(crate) mode: i32,
    pub(crate) thread: ThreadId,
    pub(crate) broken: bool,
}

/// What a graph does.
#[derive(Clone, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Node>,
}

#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) after: Vec<u64>,
    pub(crate) work: Work,
}

/// All of them.
#[derive(Default)]
pub struct Graphs {
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) captures: BTreeMap<u64, Capture>,
    /// Graphs that are ready: their work, by the nodes it came from.
    pub(crate) ready: BTreeMap<u64, Vec<(u64, Work)>>,
    /// What was given out of kernel nodes' parameters: bytes, and pointers to each.
    pub(crate) given: BTreeMap<u64, Given>,
}

/// A kernel node's parameters where their pointers point to.
pub struct Given {
    pub(super) _bytes: Box<[u8]>,
    pub pointers: Box<[usize]>,
}
