//! Graphs and their nodes.
//!
//! # Limitations
//! Nodes are kernels, copies, fills and child graphs. Edges have no data.

use std::collections::BTreeMap;

use prlx_driver::cuda::calls::node;
use prlx_trace::Dim3;

use crate::codes::Result;
use crate::codes::code;
use crate::device::state::Device;
use crate::graphs::data::{Given, Graph, Graphs, Node};
use crate::work::Work;

impl Device {
    fn graph(&mut self, graph: u64) -> Result<&mut Graph> {
        self.graphs.graphs.get_mut(&graph).ok_or(code::INVALID_VALUE)
    }

    fn node(&mut self, node: u64) -> Result<&mut Node> {
        let mut all = self.graphs.graphs.values_mut().flat_map(|g| g.nodes.iter_mut());
        all.find(|n| n.handle == node).ok_or(code::INVALID_VALUE)
    }

    pub fn graph_create(&mut self) -> Result<u64> {
        self.ready()?;
        let graph = self.handle();
        self.graphs.graphs.insert(graph, Graph::default());
        Ok(graph)
    }

    pub fn graph_destroy(&mut self, graph: u64) -> Result<()> {
        let removed = self.graphs.graphs.remove(&graph).ok_or(code::INVALID_VALUE)?;
        for node in removed.nodes {
            self.graphs.given.remove(&node.handle);
        }
        Ok(())
    }

    /// A copy, with nodes of its own.
    pub fn graph_clone(&mut self, graph: u64) -> Result<u64> {
        let mut copy = self.graph(graph)?.clone();
        let renamed: BTreeMap<u64, u64> = copy.nodes.iter().map(|n| (n.handle, self.handle())).collect();
        for node in &mut copy.nodes {
            node.handle = renamed[&node.handle];
            node.after.iter_mut().for_each(|a| *a = renamed[a]);
        }
        let handle = self.handle();
        self.graphs.graphs.insert(handle, copy);
        Ok(handle)
    }

    pub fn graph_nodes(&mut self, graph: u64) -> Result<Vec<u64>> {
        Ok(self.graph(graph)?.nodes.iter().map(|n| n.handle).collect())
    }

    pub fn node_add(&mut self, graph: u64, after: Vec<u64>, work: Work) -> Result<u64> {
        let handle = self.handle();
        let graph = self.graph(graph)?;
        if after.iter().any(|a| !graph.nodes.iter().any(|n| n.handle == *a)) {
            return Err(code::INVALID_VALUE);
        }
        graph.nodes.push(Node { handle, after, work });
        Ok(handle)
    }

    pub fn node_kind(&mut self, node: u64) -> Result<i32> {
        Ok(match self.node(node)?.work {
            Work::Launch { .. } => node::KERNEL,
            Work::Write { .. } | Work::Read { .. } | Work::Copy { .. } => node::COPY,
            Work::Fill { .. } => node::FILL,
            Work::Graph(_) => node::GRAPH,
            _ => node::EMPTY,
        })
    }

    pub fn node_graph(&mut self, node: u64) -> Result<u64> {
        match self.node(node)?.work {
            Work::Graph(graph) => Ok(graph),
            _ => Err(code::INVALID_VALUE),
        }
    }

    /// What a kernel node starts; its parameters stay where they are until the node is changed.
    pub fn node_kernel(&mut self, node: u64) -> Result<(Work, &Given)> {
        let work = self.node(node)?.work.clone();
        let Work::Launch { function, params, .. } = &work else { return Err(code::INVALID_VALUE) };
        if !self.graphs.given.contains_key(&node) {
            let bytes: Box<[u8]> = params.as_slice().into();
            let places = &self.kernel(*function)?.params;
            let pointers = places.iter().map(|p| bytes.as_ptr() as usize + p.offset as usize).collect();
            self.graphs.given.insert(node, Given { _bytes: bytes, pointers });
        }
        Ok((work, &self.graphs.given[&node]))
    }

    /// What it is told later, its attributes, stays.
    pub fn node_change(&mut self, node: u64, work: Work) -> Result<()> {
        let found = self.node(node)?;
        found.work = with_attributes(&found.work, work)?;
        self.graphs.given.remove(&node);
        Ok(())
    }

    /// Sets the sizes of its clusters.
    pub fn node_cluster(&mut self, node: u64, sizes: Dim3) -> Result<()> {
        let (Work::Launch { function, mut config, params }, _) = self.node_kernel(node)? else {
            return Err(code::INVALID_VALUE);
        };
        config.cluster = sizes;
        let work = self.launch(function, config, params)?;
        self.node(node)?.work = work;
        Ok(())
    }

    pub fn graphs_gone(&mut self) {
        self.graphs = Graphs::default();
    }
}

/// A kernel node's new work, with the attributes of what it did before.
pub(crate) fn with_attributes(old: &Work, mut new: Work) -> Result<Work> {
    match (old, &mut new) {
        (Work::Launch { config: old, .. }, Work::Launch { config, .. }) => config.cluster = old.cluster,
        _ => return Err(code::INVALID_VALUE),
    }
    Ok(new)
}
