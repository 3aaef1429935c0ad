//! Executable graphs.
//!
//! # Invariants
//! An executable graph is a copy: later changes of the graph do not reach it.
//!
//! # Limitations
//! A launch runs the nodes in the order in which they were added.

use crate::codes::Result;
use crate::codes::code;
use crate::device::state::Device;
use crate::graphs::nodes::with_attributes;
use crate::work::Work;

impl Device {
    /// Appends the nodes of a graph and of its child graphs.
    fn flat(&self, graph: u64, into: &mut Vec<(u64, Work)>) -> Result<()> {
        for node in &self.graphs.graphs.get(&graph).ok_or(code::INVALID_VALUE)?.nodes {
            match node.work {
                Work::Graph(inner) => self.flat(inner, into)?,
                _ => into.push((node.handle, node.work.clone())),
            }
        }
        Ok(())
    }

    /// Instantiates a graph.
    pub fn graph_instantiate(&mut self, graph: u64) -> Result<u64> {
        self.ready()?;
        let mut all = Vec::new();
        self.flat(graph, &mut all)?;
        let exec = self.handle();
        self.graphs.executable.insert(exec, all);
        Ok(exec)
    }

    /// Gives a kernel node of an executable graph new parameters.
    pub fn exec_change_node(&mut self, exec: u64, node: u64, work: Work) -> Result<()> {
        let all = self.graphs.executable.get_mut(&exec).ok_or(code::INVALID_VALUE)?;
        let found = all.iter_mut().find(|w| w.0 == node && matches!(w.1, Work::Launch { .. }));
        let found = found.ok_or(code::INVALID_VALUE)?;
        found.1 = with_attributes(&found.1, work)?;
        Ok(())
    }

    /// Updates an executable graph from a graph with the same kinds of nodes in the same order. Returns false
    /// and changes nothing if they differ.
    pub fn exec_update(&mut self, exec: u64, graph: u64) -> Result<bool> {
        let mut new = Vec::new();
        self.flat(graph, &mut new)?;
        let all = self.graphs.executable.get_mut(&exec).ok_or(code::INVALID_VALUE)?;
        let alike = |((_, a), (_, b)): (&(u64, Work), &(u64, Work))| {
            std::mem::discriminant(a) == std::mem::discriminant(b)
        };
        let fits = all.len() == new.len() && all.iter().zip(&new).all(alike);
        if fits {
            for (old, (_, work)) in all.iter_mut().zip(new) {
                old.1 = work;
            }
        }
        Ok(fits)
    }

    /// Puts the work of an executable graph into a stream.
    pub fn exec_launch(&mut self, exec: u64, stream: u64) -> Result<()> {
        self.ready()?;
        let all = self.graphs.executable.get(&exec).ok_or(code::INVALID_VALUE)?.clone();
        for (_, work) in all {
            self.put(stream, work)?;
        }
        Ok(())
    }

    /// Destroys an executable graph.
    pub fn exec_destroy(&mut self, exec: u64) -> Result<()> {
        self.graphs.executable.remove(&exec).map(drop).ok_or(code::INVALID_VALUE)
    }
}
