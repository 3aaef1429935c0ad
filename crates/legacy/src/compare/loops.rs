//! Finds loops in event streams, without the code.
//!
//! The sites of two streams are the nodes of a graph; an edge means that a lane went from one to the other.
//! The strongly connected components are loops, entered at the site met first. Without the edges back to that
//! site, the remaining components are nested loops.
//!
//! # Invariants
//! Both streams get the same loops, so they compare trip by trip. Work is linear in events, and in edges times
//! [`LOOKS`].
//!
//! # Limitations
//! Where lanes go from most sites back to many others, as in a table of states that data chooses, the nest
//! would be as arbitrary as the order of the first visits. There are no loops then.
//!
//! Sites in shared code (a function called from two places) may form a loop that does not exist. Both sides
//! get the same one.

use std::collections::VecDeque;

use crate::v1::EventBytes;

use super::event_order::mask;
use super::fast_hash::FastHash;
use super::nodes::Nodes;

/// Index that stands for no loop or no node.
pub(super) const NONE: u32 = u32::MAX;
/// Maximum nesting depth of loops. Deeper loops count as part of the loop around them.
const DEEP: u32 = 32;
/// How often the search for nested loops may look at each edge on average. Where that is not enough, loops
/// that were not searched count as part of the loop around them.
const LOOKS: usize = 4;
/// Looks that a graph of any size may take.
const FEW_LOOKS: usize = 1 << 14;
/// A stream has no loop structure if its edges back to sites met before are more than so many for each node.
const MOST_BACK: usize = 3;
/// Edges back that a stream of any size may have.
const FEW_BACK: usize = 32;

/// Loop nest of the union of two streams' site graphs.
pub(super) struct Loops {
    /// By node: its innermost loop.
    pub inner: Vec<u32>,
    /// By loop: the loop that encloses it.
    parent: Vec<u32>,
    /// By loop: the node that it is entered at.
    pub header: Vec<u32>,
}

impl Loops {
    /// Finds the loops of two streams. `None` if there is no structure: lanes go from most sites back to many
    /// others.
    pub fn new(streams: [&[EventBytes]; 2], nodes: &Nodes) -> Option<Loops> {
        let mut edges = Edges::new(nodes.len());
        edges.walk(streams[0], &nodes.of[0], nodes.in_a)?;
        edges.walk(streams[1], &nodes.of[1], nodes.len())?;
        let (inner, parent, header) = nest(&edges.graph());
        Some(Loops { inner, parent, header })
    }

    /// No loops among so many nodes.
    pub fn none(nodes: usize) -> Loops {
        Loops { inner: vec![NONE; nodes], parent: Vec::new(), header: Vec::new() }
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

/// The edges of the site graph, each once.
struct Edges {
    /// Origin in the high half, target in the low half.
    all: Vec<u64>,
    /// A table of them with open addressing: origin and target plus 1; 0 is a free slot.
    slots: Vec<u64>,
    seed: u64,
    /// By node: the node that came after it last.
    next: Vec<u32>,
    /// By node: its place in the order in which the current stream meets nodes.
    met: Vec<u32>,
    /// Number of edges that lead back to a node that the current stream met before.
    back: usize,
}

impl Edges {
    fn new(nodes: usize) -> Edges {
        Edges {
            all: Vec::with_capacity(2 * nodes),
            slots: vec![0; (4 * nodes).next_power_of_two().max(64)],
            seed: FastHash::default().seed(),
            next: vec![NONE; nodes],
            met: vec![NONE; nodes],
            back: 0,
        }
    }

    /// Adds one stream of at most so many nodes. `None` if it has no structure.
    fn walk(&mut self, events: &[EventBytes], nodes: &[u32], most: usize) -> Option<()> {
        self.met.fill(NONE);
        self.back = 0;
        let limit = MOST_BACK * most + FEW_BACK;
        let mut count = 0;
        // Lanes by the node they were at last. Groups share no lane, so there are at most 32.
        let (mut lanes, mut groups) = ([(0u32, 0u32); 33], 0);
        for (e, &node) in events.iter().zip(nodes) {
            let met = &mut self.met[node as usize];
            if *met == NONE {
                (*met, count) = (count, count + 1);
            }
            let m = mask(e);
            let (mut kept, mut same) = (0, None);
            for i in 0..groups {
                let (of, at) = lanes[i];
                if of & m != 0 && self.next[at as usize] != node {
                    self.add(at, node);
                }
                if of & !m != 0 {
                    same = if at == node { Some(kept) } else { same };
                    lanes[kept] = (of & !m, at);
                    kept += 1;
                }
            }
            match same {
                Some(i) => lanes[i].0 |= m,
                None => {
                    lanes[kept] = (m, node);
                    kept += 1;
                }
            }
            groups = kept;
            if self.back > limit {
                return None;
            }
        }
        Some(())
    }

    fn add(&mut self, from: u32, to: u32) {
        self.next[from as usize] = to;
        let edge = u64::from(from) << 32 | u64::from(to);
        let at = self.slot(edge);
        if self.slots[at] != 0 {
            return;
        }
        self.slots[at] = edge + 1;
        self.all.push(edge);
        self.back += usize::from(self.met[to as usize] <= self.met[from as usize]);
        if self.all.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 4];
            for i in 0..self.all.len() {
                let at = self.slot(self.all[i]);
                self.slots[at] = self.all[i] + 1;
            }
        }
    }

    /// Where an edge is, or the free slot for it. At most half of the slots are in use, so the search ends.
    #[inline]
    fn slot(&self, edge: u64) -> usize {
        let last = self.slots.len() - 1;
        let mixed = u128::from(edge ^ self.seed) * u128::from(self.seed);
        let mut at = (mixed ^ mixed >> 64) as usize & last;
        while self.slots[at] != 0 && self.slots[at] != edge + 1 {
            at = (at + 1) & last;
        }
        at
    }

    /// The edges by their origin.
    fn graph(&self) -> Graph {
        let n = self.next.len();
        let mut starts = vec![0u32; n + 1];
        self.all.iter().for_each(|e| starts[(e >> 32) as usize + 1] += 1);
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let mut ends = starts.clone();
        let mut to = vec![0u32; self.all.len()];
        let mut own = vec![false; n];
        for &e in &self.all {
            let (from, target) = ((e >> 32) as usize, e as u32);
            to[ends[from] as usize] = target;
            ends[from] += 1;
            own[from] |= from == target as usize;
        }
        Graph { starts, to, own }
    }
}

/// A graph of sites.
struct Graph {
    /// By node: where its edges begin in `to`; then the number of all edges.
    starts: Vec<u32>,
    /// Targets of edges.
    to: Vec<u32>,
    /// By node: whether it has an edge to itself.
    own: Vec<bool>,
}

impl Graph {
    /// The targets of a node's edges.
    #[inline]
    fn next(&self, v: u32) -> &[u32] {
        &self.to[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }
}

/// Innermost loop by node; parent and header by loop.
fn nest(graph: &Graph) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let n = graph.own.len();
    let mut inner = vec![NONE; n];
    let (mut parent, mut header) = (Vec::new(), Vec::new());
    let mut parts = Parts::new(n);
    let degree = |nodes: &[u32]| nodes.iter().map(|&v| graph.next(v).len() + 1).sum::<usize>();
    let mut looks = LOOKS * (graph.to.len() + n) + FEW_LOOKS;
    // A part of the graph, the loop it makes, and how deep that is. Outer loops come first.
    let mut todo: VecDeque<(Vec<u32>, u32, u32)> = VecDeque::from([((0..n as u32).collect(), NONE, 0)]);
    while let Some((nodes, of, depth)) = todo.pop_front() {
        let Some(left) = looks.checked_sub(degree(&nodes)) else { continue };
        looks = left;
        let entry = header.get(of as usize).copied().unwrap_or(NONE);
        // Edges within the part, but for those back to where it is entered.
        let found = parts.of(graph, &nodes, |to| to != entry && inner[to as usize] == of);
        for part in found {
            if part.len() == 1 && part[0] == entry {
                continue;
            }
            let id = header.len() as u32;
            parent.push(of);
            // Nodes are numbered as they were first met.
            header.push(part.iter().copied().min().unwrap_or(NONE));
            part.iter().for_each(|&v| inner[v as usize] = id);
            if depth < DEEP && part.len() > 1 {
                todo.push_back((part, id, depth + 1));
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

    /// The parts of the graph among `nodes` that have a circle, by edges to nodes that `within` lets through.
    fn of(&mut self, graph: &Graph, nodes: &[u32], within: impl Fn(u32) -> bool) -> Vec<Vec<u32>> {
        nodes.iter().for_each(|&v| self.index[v as usize] = NONE);
        let (mut count, mut stack, mut out, mut walk) = (0, Vec::new(), Vec::new(), Vec::new());
        for &root in nodes {
            if self.index[root as usize] != NONE {
                continue;
            }
            walk.push((root, 0usize));
            while let Some((v, i)) = walk.pop() {
                let at = v as usize;
                if i == 0 {
                    (self.index[at], self.low[at], self.on[at]) = (count, count, true);
                    count += 1;
                    stack.push(v);
                }
                if let Some((to, next)) = self.down(graph, v, i, &within) {
                    walk.extend([(v, next), (to, 0)]);
                    continue;
                }
                if let Some((up, _)) = walk.last() {
                    self.low[*up as usize] = self.low[*up as usize].min(self.low[at]);
                }
                if self.low[at] == self.index[at] {
                    self.part(graph, v, &mut stack, &mut out);
                }
            }
        }
        out
    }

    /// Follows a node's edges from the `i`-th on, to the first target that was not met before; with the edge
    /// after it.
    #[inline]
    fn down(
        &mut self,
        graph: &Graph,
        v: u32,
        i: usize,
        within: impl Fn(u32) -> bool,
    ) -> Option<(u32, usize)> {
        let edges = graph.next(v);
        let mut low = self.low[v as usize];
        let mut found = None;
        for (n, &to) in edges.iter().enumerate().skip(i).filter(|(_, to)| within(**to)) {
            if self.index[to as usize] == NONE {
                found = Some((to, n + 1));
                break;
            }
            if self.on[to as usize] {
                low = low.min(self.index[to as usize]);
            }
        }
        self.low[v as usize] = low;
        found
    }

    /// Takes the part whose first node is `v` off the stack.
    fn part(&mut self, graph: &Graph, v: u32, stack: &mut Vec<u32>, out: &mut Vec<Vec<u32>>) {
        // Most parts have one node, and no circle.
        if stack.last() == Some(&v) && !graph.own[v as usize] {
            stack.pop();
            self.on[v as usize] = false;
            return;
        }
        let first = stack.iter().rposition(|&w| w == v).unwrap_or(0);
        let part = stack.split_off(first);
        part.iter().for_each(|&w| self.on[w as usize] = false);
        out.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Event;

    fn stream(sites: &[u32]) -> Vec<EventBytes> {
        sites.iter().map(|&site| Event { site, mask: u32::MAX, ..Event::default() }.bytes()).collect()
    }

    /// The loops of two streams, and their nodes.
    fn found(streams: [&[EventBytes]; 2]) -> (Loops, Nodes) {
        let nodes = Nodes::new(streams);
        (Loops::new(streams, &nodes).expect("a structure"), nodes)
    }

    #[test]
    fn nests_are_found() {
        // 9, then twice: 1, an inner loop of 2 and 3, 4; then 8.
        let a = stream(&[9, 1, 2, 3, 2, 3, 4, 1, 2, 3, 4, 8]);
        let (l, nodes) = found([&a, &[]]);
        let of = |i: usize| nodes.of[0][i];
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
        let (l, _) = found([&a, &b]);
        assert!(l.inner.iter().all(|&i| i == NONE));
    }

    #[test]
    fn long_chains_do_not_recurse() {
        let a = stream(&(0..200_000).chain([0]).collect::<Vec<_>>());
        let (l, _) = found([&a, &[]]);
        assert!(l.inner.iter().all(|&i| i == 0));
    }

    #[test]
    fn sites_in_any_order_have_no_loops() {
        let mut seed = 5u32;
        let mut random = |n: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % n
        };
        let a = stream(&(0..5000).map(|_| random(60)).collect::<Vec<_>>());
        assert!(Loops::new([&a, &a], &Nodes::new([&a, &a])).is_none());
        // One site that leads to any other, each of which leads back, is a loop.
        let b = stream(&(0..5000).map(|i| if i % 2 == 0 { 1000 } else { random(60) }).collect::<Vec<_>>());
        let (l, nodes) = found([&b, &b]);
        assert_eq!(l.header[l.inside(nodes.of[0][1], NONE) as usize], 0);
    }
}
