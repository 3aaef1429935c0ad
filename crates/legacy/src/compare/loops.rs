//! Finds loops in event streams, without the code.
//!
//! The sites of two streams are the nodes of a graph; an edge means that a lane went from one to the other.
//! The strongly connected components are loops, entered at the site met first. Without the edges back to that
//! site, the remaining components are nested loops.
//!
//! # Invariants
//! Both streams get the same loops, so they compare trip by trip. Every graph gives some nesting. Work is
//! linear in events, and in edges times [`DEEP`].
//!
//! # Limitations
//! Sites in shared code (a function called from two places) may form a loop that does not exist. Both sides
//! get the same one.

use std::collections::{HashMap, HashSet};

use crate::v1::EventBytes;

use super::event_order::mask;
use super::fast_hash::FastHash;
use super::parallel::both;

/// Index that stands for no loop or no node.
pub(super) const NONE: u32 = u32::MAX;
/// Maximum nesting depth of loops. Deeper loops count as part of the loop around them.
const DEEP: u32 = 32;

/// Loop nest of the union of two streams' site graphs.
pub(super) struct Loops {
    /// By node: its innermost loop.
    pub inner: Vec<u32>,
    /// By loop: the loop that encloses it.
    parent: Vec<u32>,
    /// By loop: the node that it is entered at.
    pub header: Vec<u32>,
    /// By node: its site.
    sites: Vec<u32>,
    /// By side and event: its site as a node.
    pub nodes: [Vec<u32>; 2],
}

impl Loops {
    pub fn new(streams: [&[EventBytes]; 2]) -> Loops {
        let walk = |side: usize| {
            let mut graph = Graph::default();
            let nodes = graph.walk(streams[side]);
            (graph, nodes)
        };
        let [(mut graph, a), (other, mut b)] = both(streams[0].len() + streams[1].len(), walk);
        let to = graph.add(&other);
        if !to.iter().copied().eq(0..to.len() as u32) {
            b.iter_mut().for_each(|n| *n = to[*n as usize]);
        }
        let (inner, parent, header) = nest(&graph);
        Loops { inner, parent, header, sites: graph.sites, nodes: [a, b] }
    }

    /// The site that a loop is entered at.
    pub fn entry(&self, of: u32) -> u32 {
        self.header.get(of as usize).and_then(|&h| self.sites.get(h as usize)).copied().unwrap_or(0)
    }

    /// Nodes there are.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// The loop right inside `around` that `node` belongs to; [`NONE`] if it is in `around` itself.
    #[inline]
    pub fn inside(&self, node: u32, around: u32) -> u32 {
        let (mut at, mut last) = (self.inner[node as usize], NONE);
        while at != around && at != NONE {
            last = at;
            at = self.parent[at as usize];
        }
        last
    }
}

#[derive(Default)]
struct Graph {
    ids: HashMap<u32, u32, FastHash>,
    sites: Vec<u32>,
    /// By node: the site and node that came after it last.
    next: Vec<(u32, u32)>,
    edges: HashSet<u64, FastHash>,
}

fn site(e: &EventBytes) -> u32 {
    u32::from_le_bytes([e[0], e[1], e[2], e[3]])
}

impl Graph {
    /// Adds one stream; its events' nodes.
    fn walk(&mut self, events: &[EventBytes]) -> Vec<u32> {
        let mut out = Vec::with_capacity(events.len());
        // Lanes by the node they were at last.
        let mut lanes: Vec<(u32, u32)> = Vec::new();
        for e in events {
            let (site, m) = (site(e), mask(e));
            if let [(all, at)] = lanes[..]
                && all == m
            {
                let (known, node) = self.next[at as usize];
                let node = if known == site && node != NONE { node } else { self.step(at, site) };
                lanes[0].1 = node;
                out.push(node);
                continue;
            }
            let node = self.node(site);
            for (of, at) in &mut lanes {
                if *of & m != 0 {
                    self.edges.insert(u64::from(*at) << 32 | u64::from(node));
                    *of &= !m;
                }
            }
            lanes.retain(|(of, _)| *of != 0);
            match lanes.iter_mut().find(|(_, at)| *at == node) {
                Some((of, _)) => *of |= m,
                None => lanes.push((m, node)),
            }
            out.push(node);
        }
        out
    }

    /// Adds what another graph has; which node each of its nodes is here.
    fn add(&mut self, other: &Graph) -> Vec<u32> {
        let to: Vec<u32> = other.sites.iter().map(|&site| self.node(site)).collect();
        let edge = |e: &u64| u64::from(to[(e >> 32) as usize]) << 32 | u64::from(to[*e as u32 as usize]);
        self.edges.extend(other.edges.iter().map(edge));
        to
    }

    fn step(&mut self, from: u32, site: u32) -> u32 {
        let node = self.node(site);
        self.edges.insert(u64::from(from) << 32 | u64::from(node));
        self.next[from as usize] = (site, node);
        node
    }

    fn node(&mut self, site: u32) -> u32 {
        let fresh = self.next.len() as u32;
        let node = *self.ids.entry(site).or_insert(fresh);
        if node == fresh {
            self.next.push((0, NONE));
            self.sites.push(site);
        }
        node
    }
}

/// Innermost loop by node; parent and header by loop.
fn nest(graph: &Graph) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let n = graph.next.len();
    let mut edges: Vec<u64> = graph.edges.iter().copied().collect();
    edges.sort_unstable();
    let mut starts = vec![0u32; n + 1];
    for e in &edges {
        starts[(e >> 32) as usize + 1] += 1;
    }
    for i in 0..n {
        starts[i + 1] += starts[i];
    }
    let next = |v: u32| &edges[starts[v as usize] as usize..starts[v as usize + 1] as usize];
    let mut inner = vec![NONE; n];
    let (mut parent, mut header) = (Vec::new(), Vec::new());
    let mut parts = Parts::new(n);
    // A part of the graph, the loop it makes, and how deep that is.
    let mut todo: Vec<(Vec<u32>, u32, u32)> = vec![((0..n as u32).collect(), NONE, 0)];
    while let Some((nodes, of, depth)) = todo.pop() {
        let entry = header.get(of as usize).copied().unwrap_or(NONE);
        // Edges within the part, but for those back to where it is entered.
        let within = |v: u32, i: usize, inner: &[u32]| -> Option<Option<u32>> {
            let to = *next(v).get(i)? as u32;
            Some((to != entry && inner[to as usize] == of).then_some(to))
        };
        let found = parts.of(&nodes, |v, i| within(v, i, &inner));
        for part in found {
            let own = |v: u32| next(v).binary_search(&(u64::from(v) << 32 | u64::from(v))).is_ok();
            if part.len() == 1 && (part[0] == entry || !own(part[0])) {
                continue;
            }
            let id = header.len() as u32;
            parent.push(of);
            // Nodes are numbered as they were first met.
            header.push(part.iter().copied().min().unwrap_or(NONE));
            part.iter().for_each(|&v| inner[v as usize] = id);
            if depth < DEEP && part.len() > 1 {
                todo.push((part, id, depth + 1));
            }
        }
    }
    (inner, parent, header)
}

/// Tarjan's algorithm without recursion: strongly connected parts.
struct Parts {
    index: Vec<u32>,
    low: Vec<u32>,
    on: Vec<bool>,
}

impl Parts {
    fn new(n: usize) -> Parts {
        Parts { index: vec![NONE; n], low: vec![0; n], on: vec![false; n] }
    }

    /// The parts among `nodes`; `edge(v, i)` is the `i`-th edge of `v`: `None` past the last, `Some(None)`
    /// one that is left out.
    fn of(&mut self, nodes: &[u32], edge: impl Fn(u32, usize) -> Option<Option<u32>>) -> Vec<Vec<u32>> {
        nodes.iter().for_each(|&v| self.index[v as usize] = NONE);
        let (mut count, mut stack, mut out) = (0, Vec::new(), Vec::new());
        for &root in nodes {
            if self.index[root as usize] != NONE {
                continue;
            }
            let mut walk = vec![(root, 0usize)];
            while let Some((v, i)) = walk.pop() {
                let at = v as usize;
                if i == 0 {
                    (self.index[at], self.low[at], self.on[at]) = (count, count, true);
                    count += 1;
                    stack.push(v);
                }
                match edge(v, i) {
                    Some(to) => {
                        walk.push((v, i + 1));
                        let Some(to) = to else { continue };
                        if self.index[to as usize] == NONE {
                            walk.push((to, 0));
                        } else if self.on[to as usize] {
                            self.low[at] = self.low[at].min(self.index[to as usize]);
                        }
                    }
                    None => {
                        if let Some((up, _)) = walk.last() {
                            self.low[*up as usize] = self.low[*up as usize].min(self.low[at]);
                        }
                        if self.low[at] == self.index[at] {
                            let first = stack.iter().rposition(|&w| w == v).unwrap_or(0);
                            let part = stack.split_off(first);
                            part.iter().for_each(|&w| self.on[w as usize] = false);
                            out.push(part);
                        }
                    }
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Event;

    fn stream(sites: &[u32]) -> Vec<EventBytes> {
        sites.iter().map(|&site| Event { site, mask: u32::MAX, ..Event::default() }.bytes()).collect()
    }

    #[test]
    fn nests_are_found() {
        // 9, then twice: 1, an inner loop of 2 and 3, 4; then 8.
        let a = stream(&[9, 1, 2, 3, 2, 3, 4, 1, 2, 3, 4, 8]);
        let l = Loops::new([&a, &[]]);
        let of = |i: usize| l.nodes[0][i];
        assert_eq!(l.inside(of(0), NONE), NONE);
        let outer = l.inside(of(1), NONE);
        assert_eq!(l.header[outer as usize], of(1));
        assert_eq!(l.inside(of(1), outer), NONE);
        let inner = l.inside(of(2), outer);
        assert_eq!(l.header[inner as usize], of(2));
        assert_eq!(l.inside(of(3), outer), inner);
        assert_eq!(l.inside(of(6), outer), NONE);
        assert_eq!(l.inside(of(11), NONE), NONE);
    }

    #[test]
    fn fragments_that_take_turns_are_no_loop() {
        let event = |site, mask| Event { site, mask, ..Event::default() }.bytes();
        let a = [event(0, 3), event(1, 1), event(2, 2), event(3, 3)];
        let b = [event(0, 3), event(2, 1), event(1, 2), event(3, 3)];
        let l = Loops::new([&a, &b]);
        assert!(l.inner.iter().all(|&i| i == NONE));
    }

    #[test]
    fn long_chains_do_not_recurse() {
        let a = stream(&(0..200_000).chain([0]).collect::<Vec<_>>());
        let l = Loops::new([&a, &[]]);
        assert!(l.inner.iter().all(|&i| i == 0));
    }
}
