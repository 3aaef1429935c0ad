//! The trips of a loop in a lane's tree, some of which may be runs of pruned ones.

use std::ops::Range;

use super::execution_tree::LaneTree;

/// The trips of a loop on one side.
pub(super) struct Trips {
    /// Their nodes. A node can be a run of pruned trips.
    pub nodes: Vec<u32>,
    /// By node: the number of its first trip.
    pub starts: Vec<usize>,
    /// By node, and at the end: the number of visits of the lane before it.
    pub before: Vec<u64>,
    pub count: usize,
}

impl Trips {
    /// The trips of a loop that begins after `start` visits.
    pub fn new(tree: &LaneTree, of: u32, start: u64) -> Trips {
        let entries = tree.entries(of);
        let (mut count, mut visits) = (0, start);
        let nodes: Vec<u32> = entries.iter().map(|e| e.id()).collect();
        let mut starts = Vec::with_capacity(nodes.len());
        let mut before = Vec::with_capacity(nodes.len() + 1);
        for e in entries {
            starts.push(count);
            before.push(visits);
            count += 1 + e.nth as usize;
            visits += tree.node(e.id()).visits;
        }
        before.push(visits);
        Trips { nodes, starts, before, count }
    }

    /// The index of the node that begins with a trip.
    pub fn index(&self, trip: usize) -> usize {
        match self.count == self.nodes.len() {
            true => trip,
            false => self.starts.partition_point(|s| *s < trip),
        }
    }

    /// The runs of pruned trips: the first trip, and the number that both sides share.
    pub fn runs<'t>(&'t self, tree: &'t LaneTree) -> impl Iterator<Item = (usize, u32)> {
        let numbers = self.nodes.iter().map(|n| tree.node(*n).pruned);
        self.starts.iter().copied().zip(numbers).filter(|(_, number)| *number != 0)
    }

    /// The number of visits in these nodes.
    pub fn visits(&self, nodes: Range<usize>) -> u64 {
        self.before[nodes.end] - self.before[nodes.start]
    }

    /// The number of trips in the run of pruned ones that they begin with, and the hashes of the nodes after
    /// it.
    pub fn after_run(&self, tree: &LaneTree) -> (usize, Vec<u64>) {
        let run = self.nodes.first().is_some_and(|n| tree.node(*n).pruned != 0);
        let head = if run { self.starts.get(1).copied().unwrap_or(self.count) } else { 0 };
        (head, self.nodes[usize::from(run)..].iter().map(|n| tree.node(*n).hash).collect())
    }
}
