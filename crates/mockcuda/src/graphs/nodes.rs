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
use crate::graphs::data::{Graph, Graphs, Node, NodeParameters};
use crate::work::Work;

impl Device {
    fn graph(&mut self, graph: u64) -> Result<&mut Graph> {
        self.graphs.graphs.get_mut(&graph).ok_or(code::INVALID_VALUE)
    }

    fn node(&mut self, node: u64) -> Result<&mut Node> {
        let mut all = self.graphs.graphs.values_mut().flat_map(|g| g.nodes.iter_mut());
        all.find(|n| n.handle == node).ok_or(code::INVALID_VALUE)
    }

    /// Creates an empty graph.
    pub fn graph_create(&mut self) -> Result<u64> {
        self.ready()?;
        let graph = self.handle();
        self.graphs.graphs.insert(graph, Graph::default());
        Ok(graph)
    }

    /// Destroys a graph and its nodes.
    pub fn graph_destroy(&mut self, graph: u64) -> Result<()> {
        let removed = self.graphs.graphs.remove(&graph).ok_or(code::INVALID_VALUE)?;
        for node in removed.nodes {
            self.graphs.node_parameters.remove(&node.handle);
        }
        Ok(())
    }

    /// Copies a graph. The copy's nodes have new handles.
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

    /// The nodes of a graph.
    pub fn graph_nodes(&mut self, graph: u64) -> Result<Vec<u64>> {
        Ok(self.graph(graph)?.nodes.iter().map(|n| n.handle).collect())
    }

    /// Adds a node that runs after others of the graph.
    pub fn node_add(&mut self, graph: u64, after: Vec<u64>, work: Work) -> Result<u64> {
        let handle = self.handle();
        let graph = self.graph(graph)?;
        if after.iter().any(|a| !graph.nodes.iter().any(|n| n.handle == *a)) {
            return Err(code::INVALID_VALUE);
        }
        graph.nodes.push(Node { handle, after, work });
        Ok(handle)
    }

    /// The kind of a node (`CUgraphNodeType`).
    pub fn node_kind(&mut self, node: u64) -> Result<i32> {
        Ok(match self.node(node)?.work {
            Work::Launch { .. } => node::KERNEL,
            Work::Write { .. } | Work::Read { .. } | Work::Copy { .. } => node::COPY,
            Work::Fill { .. } => node::FILL,
            Work::Graph(_) => node::GRAPH,
            _ => node::EMPTY,
        })
    }

    /// The graph of a child graph node.
    pub fn node_graph(&mut self, node: u64) -> Result<u64> {
        match self.node(node)?.work {
            Work::Graph(graph) => Ok(graph),
            _ => Err(code::INVALID_VALUE),
        }
    }

    /// The launch of a kernel node, and its parameters in memory that stays until the node changes.
    pub fn node_kernel(&mut self, node: u64) -> Result<(Work, &NodeParameters)> {
        let work = self.node(node)?.work.clone();
        let Work::Launch { function, params, .. } = &work else { return Err(code::INVALID_VALUE) };
        if !self.graphs.node_parameters.contains_key(&node) {
            let bytes: Box<[u8]> = params.as_slice().into();
            let declared = &self.kernel(*function)?.params;
            let pointers = declared.iter().map(|p| bytes.as_ptr() as usize + p.offset as usize).collect();
            self.graphs.node_parameters.insert(node, NodeParameters { _bytes: bytes, pointers });
        }
        Ok((work, &self.graphs.node_parameters[&node]))
    }

    /// Gives a kernel node new parameters. Its attributes stay.
    pub fn node_change(&mut self, node: u64, work: Work) -> Result<()> {
        let found = self.node(node)?;
        found.work = with_attributes(&found.work, work)?;
        self.graphs.node_parameters.remove(&node);
        Ok(())
    }

    /// Sets the cluster size of a kernel node in CTAs.
    pub fn node_cluster(&mut self, node: u64, sizes: Dim3) -> Result<()> {
        let (Work::Launch { function, mut config, params, cooperative }, _) = self.node_kernel(node)? else {
            return Err(code::INVALID_VALUE);
        };
        config.cluster = sizes;
        let work = self.launch(function, config, params, cooperative)?;
        self.node(node)?.work = work;
        Ok(())
    }

    /// Destroys all graphs and captures.
    pub fn clear_graphs(&mut self) {
        self.graphs = Graphs::default();
    }
}

/// The new work of a kernel node, with the attributes of its old work.
pub(crate) fn with_attributes(old: &Work, mut new: Work) -> Result<Work> {
    match (old, &mut new) {
        (
            Work::Launch { config: old, cooperative: was_cooperative, .. },
            Work::Launch { config, cooperative, .. },
        ) => {
            config.cluster = old.cluster;
            *cooperative = *was_cooperative;
        }
        _ => return Err(code::INVALID_VALUE),
    }
    Ok(new)
}
