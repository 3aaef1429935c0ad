//! Minimum cuts of flow networks, by Dinic's algorithm (E. A. Dinic, Soviet Math. Doklady 11, 1970).
//!
//! # Limitations
//! - The algorithm gives up after a given amount of work.

use std::collections::VecDeque;

/// A capacity that no cut contains.
pub(crate) const UNLIMITED: u64 = u64::MAX / 4;

/// A node of a [`Network`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Node(u32);

/// A directed graph with capacities.
#[derive(Default)]
pub(crate) struct Network {
    /// By node: its edges.
    edges_of: Vec<Vec<u32>>,
    /// By edge: where it leads, and the capacity that is left. Edge `i ^ 1` is edge `i` reversed.
    edges: Vec<(u32, u64)>,
}

impl Node {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Network {
    pub fn node(&mut self) -> Node {
        self.edges_of.push(Vec::new());
        Node(self.edges_of.len() as u32 - 1)
    }

    pub fn edge(&mut self, from: Node, to: Node, capacity: u64) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.edges_of[from.index()].push(self.edges.len() as u32);
            self.edges.push((to.0, capacity));
        }
    }

    /// By node: whether it lies on the sink's side of the minimum cut that is nearest to the sink. `None` if
    /// no finite cut separates the two, or if more than `work` edges would have to be looked at.
    pub fn min_cut(mut self, source: Node, sink: Node, mut work: u64) -> Option<Vec<bool>> {
        let mut flow = 0u64;
        loop {
            let distance = self.distances(sink, &mut work)?;
            if distance[source.index()] == u32::MAX {
                return Some(distance.into_iter().map(|d| d != u32::MAX).collect());
            }
            flow += self.blocking_flow(source, sink, &distance, &mut work)?;
            if flow >= UNLIMITED {
                return None;
            }
        }
    }

    /// By node: the number of edges with capacity left from it to the sink; `u32::MAX` if there is no way.
    fn distances(&self, sink: Node, work: &mut u64) -> Option<Vec<u32>> {
        let mut distance = vec![u32::MAX; self.edges_of.len()];
        distance[sink.index()] = 0;
        let mut queue = VecDeque::from([sink.0]);
        while let Some(node) = queue.pop_front() {
            let edges = &self.edges_of[node as usize];
            *work = work.checked_sub(edges.len() as u64)?;
            for &edge in edges {
                let from = self.edges[edge as usize].0;
                if self.edges[edge as usize ^ 1].1 > 0 && distance[from as usize] == u32::MAX {
                    distance[from as usize] = distance[node as usize] + 1;
                    queue.push_back(from);
                }
            }
        }
        Some(distance)
    }

    /// Adds flow along shortest ways until each of them is full. Returns how much.
    fn blocking_flow(&mut self, source: Node, sink: Node, distance: &[u32], work: &mut u64) -> Option<u64> {
        let mut next = vec![0usize; self.edges_of.len()];
        let mut way: Vec<u32> = Vec::new();
        let mut flow = 0u64;
        let mut at = source.0;
        loop {
            *work = work.checked_sub(1)?;
            if at == sink.0 {
                let most = way.iter().map(|e| self.edges[*e as usize].1).min().unwrap_or(0);
                for &edge in &way {
                    self.edges[edge as usize].1 -= most;
                    self.edges[edge as usize ^ 1].1 += most;
                }
                flow = flow.saturating_add(most);
                // From the first edge that is full now.
                let full = way.iter().position(|e| self.edges[*e as usize].1 == 0).unwrap_or(0);
                at = self.edges[way[full] as usize ^ 1].0;
                way.truncate(full);
                continue;
            }
            match self.edges_of[at as usize].get(next[at as usize]) {
                Some(&edge) => {
                    let (to, left) = self.edges[edge as usize];
                    if left > 0 && distance[at as usize] == distance[to as usize].saturating_add(1) {
                        way.push(edge);
                        at = to;
                    } else {
                        next[at as usize] += 1;
                    }
                }
                None => {
                    let Some(edge) = way.pop() else { return Some(flow) };
                    at = self.edges[edge as usize ^ 1].0;
                    next[at as usize] += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On random graphs of few nodes, the cut weighs as much as the lightest of all subsets.
    #[test]
    fn lightest() {
        let mut state = 7u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let nodes = 2 + random(6) as usize;
            let edges: Vec<(usize, usize, u64)> = (0..random(16))
                .map(|_| (random(nodes as u64) as usize, random(nodes as u64) as usize, random(9)))
                .collect();
            let mut network = Network::default();
            let names: Vec<Node> = (0..nodes).map(|_| network.node()).collect();
            edges.iter().for_each(|&(a, b, c)| network.edge(names[a], names[b], c));
            let (source, sink) = (0, nodes - 1);
            let weight = |sinks: &dyn Fn(usize) -> bool| -> u64 {
                edges.iter().filter(|(a, b, _)| !sinks(*a) && sinks(*b)).map(|e| e.2).sum()
            };
            let least = (0..1u32 << nodes)
                .filter(|set| set >> source & 1 == 0 && set >> sink & 1 == 1)
                .map(|set| weight(&|n| set >> n & 1 == 1))
                .min()
                .unwrap();
            let side = network.min_cut(names[source], names[sink], 1 << 20).unwrap();
            assert!(!side[source] && side[sink]);
            assert_eq!(weight(&|n| side[n]), least, "{edges:?}");
        }
    }

    #[test]
    fn bounds() {
        let mut network = Network::default();
        let (a, b) = (network.node(), network.node());
        network.edge(a, b, UNLIMITED);
        assert_eq!(network.min_cut(a, b, 1 << 20), None);
        let mut network = Network::default();
        let (a, b) = (network.node(), network.node());
        network.edge(a, b, 1);
        assert_eq!(network.min_cut(a, b, 1), None);
    }
}
