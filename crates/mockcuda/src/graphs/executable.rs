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
    fn flat(&self, graph: u64, into: &mut Vec<(u64, Work)>) -> Result<()> {
        for node in &self.graphs.graphs.get(&graph).ok_or(code::INVALID_VALUE)?.nodes {
            match node.work {
                Work::Graph(inner) => self.flat(inner, into)?,
                _ => into.push((node.handle, node.work.clone())),
            }
        }
        Ok(())
    }

    pub fn graph_ready(&mut self, graph: u64) -> Result<u64> {
        self.ready()?;
        let mut all = Vec::new();
        self.flat(graph, &mut all)?;
        let exec = self.handle();
        self.graphs.ready.insert(exec, all);
        Ok(exec)
    }

    pub fn ready_change(&mut self, exec: u64, node: u64, work: Work) -> Result<()> {
        let all = self.graphs.ready.get_mut(&exec).ok_or(code::INVALID_VALUE)?;
        let found = all.iter_mut().find(|w| w.0 == node && matches!(w.1, Work::Launch { .. }));
        let found = found.ok_or(code::INVALID_VALUE)?;
        found.1 = with_attributes(&found.1, work)?;
        Ok(())
    }

    /// Whether it could be made like the graph: the same nodes, by kind and order.
    pub fn ready_update(&mut self, exec: u64, graph: u64) -> Result<bool> {
        let mut new = Vec::new();
        self.flat(graph, &mut new)?;
        let all = self.graphs.ready.get_mut(&exec).ok_or(code::INVALID_VALUE)?;
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

    pub fn ready_launch(&mut self, exec: u64, stream: u64) -> Result<()> {
        self.ready()?;
        let all = self.graphs.ready.get(&exec).ok_or(code::INVALID_VALUE)?.clone();
        for (_, work) in all {
            self.put(stream, work)?;
        }
        Ok(())
    }

    pub fn ready_destroy(&mut self, exec: u64) -> Result<()> {
        self.graphs.ready.remove(&exec).map(drop).ok_or(code::INVALID_VALUE)
    }
}
