//! Finds loops in event streams, without the code.
//!
//! The sites of two streams are the nodes of a graph; an edge means that a lane went from one to the other.
//! The strongly connected components are loops, entered at the site met first. Without the edges back to that
//! site, the remaining components are nested loops.
//!
//! # Invariants
//! Both streams get the same loops, so they compare trip by trip. Work is linear in events, and in edges
//! times [`EDGE_VISITS`].
//!
//! # Limitations
//! If lanes go from most sites back to many others, as in a state machine that data drives, the nest would
//! depend on the order of first visits only. Such streams have no loops.
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
/// Maximum number of visits of an edge, on average, in the search for nested loops. Loops that were not
/// searched count as part of the loop around them. Outer loops are searched first.
const EDGE_VISITS: usize = 4;
/// Number of visits of edges that is allowed for any graph.
const MIN_EDGE_VISITS: usize = 1 << 14;
/// Maximum number of back edges for each node. A back edge leads to a node that the side visited before. A
/// stream with more back edges has no loop structure.
const MAX_BACK_EDGES: usize = 3;
/// Number of back edges that is allowed for any stream.
const MIN_BACK_EDGES: usize = 32;

/// Loop nest of the union of two streams' site graphs.
#[derive(Default)]
pub(super) struct Loops {
    /// By node: its innermost loop.
    pub inner: Vec<u32>,
    /// By loop: where the loops around it, outermost first, and itself begin in `paths`; then, where all end.
    starts: Vec<u32>,
    paths: Vec<u32>,
    /// By loop: the node that it is entered at.
    pub header: Vec<u32>,
}

impl Loops {
    /// Finds the loops of two streams. `None` if a stream has too many back edges.
    pub fn new(streams: [&[EventBytes]; 2], nodes: &Nodes) -> Option<Loops> {
        let mut edges = Edges::new(nodes.len(), nodes.in_a);
        edges.walk_a(streams[0], &nodes.of[0])?;
        edges.walk_b(streams, nodes)?;
        Some(nest(&edges.graph()))
    }

    /// A loop's outer loops, outermost first, and itself; none for [`NONE`].
    #[inline]
    fn path(&self, of: u32) -> &[u32] {
        match self.starts.get(of as usize..) {
            Some(&[start, end, ..]) => &self.paths[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The loop right inside `around` that `node`, which is in `around`, belongs to; [`NONE`] if `node` is in
    /// no loop inside `around`.
    #[inline]
    pub fn inside(&self, node: u32, around: u32) -> u32 {
        let depth = self.path(around).len();
        self.path(self.inner[node as usize]).get(depth).copied().unwrap_or(NONE)
    }

    /// Adds a loop right inside `around`; its number.
    fn add(&mut self, around: u32, nodes: &[u32]) -> u32 {
        let id = self.header.len() as u32;
        // Nodes are numbered as they were first met.
        self.header.push(nodes.iter().copied().min().unwrap_or(NONE));
        nodes.iter().for_each(|&v| self.inner[v as usize] = id);
        let path = self.path(around).to_vec();
        self.paths.extend(path);
        self.paths.push(id);
        self.starts.push(self.paths.len() as u32);
        id
    }
}

/// The lanes of a warp, by the node that they were at last.
struct Lanes {
    /// Lanes and their node. Groups share no lane and no node, so there are at most 32, and one more while a
    /// step is made.
    groups: [(u32, u32); 33],
    len: usize,
}

impl Lanes {
    fn new() -> Lanes {
        Lanes { groups: [(0, 0); 33], len: 0 }
    }

    /// Moves the lanes of `m` to `node`. `leaves(n, of)` learns for each group whether lanes leave its node
    /// `of`: `n` is 1 or 0.
    #[inline]
    fn step(&mut self, m: u32, node: u32, mut leaves: impl FnMut(u64, u32)) {
        if let (1, (of, at)) = (self.len, &mut self.groups[0])
            && *of == m
        {
            leaves(1, *at);
            *at = node;
            return;
        }
        let (mut kept, mut joined) = (0, m);
        for i in 0..self.len {
            let (of, at) = self.groups[i];
            leaves(u64::from(of & m != 0), at);
            let stay = of & !m;
            joined |= if at == node { stay } else { 0 };
            self.groups[kept] = (stay, at);
            kept += usize::from(stay != 0 && at != node);
        }
        self.groups[kept] = (joined, node);
        self.len = kept + 1;
    }

    /// The lanes after the last of these events, which have all lanes together.
    fn after(events: &[EventBytes], nodes: &[u32]) -> Lanes {
        let mut all = 0;
        let since = events.iter().rposition(|e| {
            all |= mask(e);
            all == u32::MAX
        });
        let since = since.unwrap_or(0);
        let mut lanes = Lanes::new();
        for (e, &node) in events.iter().zip(nodes).skip(since) {
            lanes.step(mask(e), node, |_, _| ());
        }
        lanes
    }
}

/// Graphs with at most so many nodes are kept as a matrix of bits.
const DENSE: usize = 1024;

/// The edges of the site graph, each once.
struct Edges {
    nodes: usize,
    in_a: usize,
    /// For at most [`DENSE`] nodes: bits of targets, in rows of `words` by origin.
    bits: Vec<u64>,
    words: usize,
    /// For more nodes: the edges, with the origin in the high half and the target in the low half.
    all: Vec<u64>,
    /// A table of those with open addressing: the edge plus 1; 0 is a free slot.
    slots: Vec<u64>,
    seed: u64,
    /// For more nodes, by node: the node that came after it last.
    next: Vec<u32>,
    /// Number of edges that lead back to a node that the same side met before.
    back: usize,
}

impl Edges {
    fn new(nodes: usize, in_a: usize) -> Edges {
        let dense = nodes <= DENSE;
        let words = nodes.div_ceil(64);
        let of = |sparse: usize| if dense { 0 } else { sparse };
        Edges {
            nodes,
            in_a,
            bits: vec![0; if dense { nodes * words } else { 0 }],
            words,
            all: Vec::with_capacity(of(2 * nodes)),
            slots: vec![0; of((4 * nodes).next_power_of_two().max(16 * DENSE))],
            seed: FastHash::default().seed(),
            next: vec![NONE; of(nodes)],
            back: 0,
        }
    }

    /// Adds A's stream. `None` if it has no structure.
    fn walk_a(&mut self, events: &[EventBytes], nodes: &[u32]) -> Option<()> {
        let most = MAX_BACK_EDGES * self.in_a + MIN_BACK_EDGES;
        let mut lanes = Lanes::new();
        self.walk(events, nodes, &mut lanes, most)
    }

    /// Adds B's stream. `None` if it has no structure. Where it does what A does, it has A's edges.
    fn walk_b(&mut self, [a, b]: [&[EventBytes]; 2], nodes: &Nodes) -> Option<()> {
        let most = self.back + MAX_BACK_EDGES * self.nodes + MIN_BACK_EDGES;
        let of = &nodes.of[1];
        let mut lanes = Lanes::new();
        let mut j = 0;
        for run in &nodes.runs {
            let end = run.b + run.len;
            self.walk(&b[j..run.b], &of[j..run.b], &mut lanes, most)?;
            j = run.b;
            while j < end {
                // Lanes are where they are in A after they all made a step that A made too.
                let same = |j: usize| mask(&a[run.a + j - run.b]) == mask(&b[j]);
                let (mut all, mut from) = (0, j);
                while from < end && all != u32::MAX {
                    all = if same(from) { all | mask(&b[from]) } else { 0 };
                    from += 1;
                }
                self.walk(&b[j..from], &of[j..from], &mut lanes, most)?;
                let to = (from..end).find(|&j| !same(j)).unwrap_or(end);
                if to > from {
                    lanes = Lanes::after(&b[j..to], &of[j..to]);
                }
                j = to;
            }
        }
        self.walk(&b[j..], &of[j..], &mut lanes, most)
    }

    /// Adds events. `None` if more than `most` edges lead back.
    fn walk(&mut self, events: &[EventBytes], nodes: &[u32], lanes: &mut Lanes, most: usize) -> Option<()> {
        let dense = self.nodes <= DENSE;
        for (e, &node) in events.iter().zip(nodes) {
            match dense {
                true => lanes.step(mask(e), node, |n, of| self.set(n, of, node)),
                false => lanes.step(mask(e), node, |n, of| {
                    if n > 0 && self.next[of as usize] != node {
                        self.add(of, node);
                    }
                }),
            }
            if self.back > most {
                return None;
            }
        }
        Some(())
    }

    /// Whether an edge leads back. Nodes of A and B are numbered one after another, so the numbers say
    /// nothing of an edge between them.
    #[inline]
    fn leads_back(&self, from: u32, to: u32) -> bool {
        to <= from && (from as usize >= self.in_a) == (to as usize >= self.in_a)
    }

    /// Adds `n` edges, 1 or 0, to the matrix.
    #[inline]
    fn set(&mut self, n: u64, from: u32, to: u32) {
        let back = u64::from(self.leads_back(from, to));
        let word = &mut self.bits[from as usize * self.words + to as usize / 64];
        let fresh = n & !(*word >> (to % 64));
        *word |= fresh << (to % 64);
        self.back += (fresh & back) as usize;
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
        self.back += usize::from(self.leads_back(from, to));
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
        let mut at = (edge.wrapping_mul(self.seed) >> 32) as usize & last;
        while self.slots[at] != 0 && self.slots[at] != edge + 1 {
            at = (at + 1) & last;
        }
        at
    }

    /// The edges by their origin.
    fn graph(&self) -> Graph {
        let mut graph = Graph { starts: vec![0], to: Vec::new(), own: vec![false; self.nodes] };
        if self.nodes > DENSE {
            graph.sort(&self.all);
            return graph;
        }
        for (from, row) in self.bits.chunks_exact(self.words.max(1)).enumerate() {
            graph.own[from] = row[from / 64] >> (from % 64) & 1 == 1;
            for (i, &word) in row.iter().enumerate() {
                let mut rest = word;
                while rest != 0 {
                    graph.to.push(i as u32 * 64 + rest.trailing_zeros());
                    rest &= rest - 1;
                }
            }
            graph.starts.push(graph.to.len() as u32);
        }
        graph
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
    /// Takes edges in any order into an empty graph.
    fn sort(&mut self, edges: &[u64]) {
        let n = self.own.len();
        self.starts = vec![0; n + 1];
        edges.iter().for_each(|e| self.starts[(e >> 32) as usize + 1] += 1);
        for i in 0..n {
            self.starts[i + 1] += self.starts[i];
        }
        let mut ends = self.starts.clone();
        self.to = vec![0; edges.len()];
        for &e in edges {
            let (from, target) = ((e >> 32) as usize, e as u32);
            self.to[ends[from] as usize] = target;
            ends[from] += 1;
            self.own[from] |= from == target as usize;
        }
    }

    /// The targets of a node's edges.
    #[inline]
    fn next(&self, v: u32) -> &[u32] {
        &self.to[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }
}

/// The loops of a graph.
fn nest(graph: &Graph) -> Loops {
    let n = graph.own.len();
    let mut loops = Loops { inner: vec![NONE; n], starts: vec![0], ..Loops::default() };
    let mut parts = Parts::new(n);
    let degree = |nodes: &[u32]| nodes.iter().map(|&v| graph.next(v).len() + 1).sum::<usize>();
    let mut visits = EDGE_VISITS * (graph.to.len() + n) + MIN_EDGE_VISITS;
    // A part of the graph, the loop it makes, and how deep that is. Outer loops come first.
    let mut todo: VecDeque<(Vec<u32>, u32, u32)> = VecDeque::from([((0..n as u32).collect(), NONE, 0)]);
    while let Some((nodes, of, depth)) = todo.pop_front() {
        let Some(left) = visits.checked_sub(degree(&nodes)) else { continue };
        visits = left;
        let entry = loops.header.get(of as usize).copied().unwrap_or(NONE);
        // Edges within the part, but for those back to where it is entered.
        let found = parts.of(graph, &nodes, |to| to != entry && loops.inner[to as usize] == of);
        for part in found {
            if part.len() == 1 && part[0] == entry {
                continue;
            }
            let id = loops.add(of, &part);
            if depth < DEEP && part.len() > 1 {
                todo.push_back((part, id, depth + 1));
            }
        }
    }
    loops
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
    use super::super::nodes::PreviousWarp;
    use super::super::random::random;
    use super::*;
    use crate::v1::Event;

    fn stream(sites: &[u32]) -> Vec<EventBytes> {
        sites.iter().map(|&site| Event { site, mask: u32::MAX, ..Event::default() }.bytes()).collect()
    }

    /// The loops of two streams, and their nodes.
    fn found(streams: [&[EventBytes]; 2]) -> (Loops, Nodes) {
        let nodes = Nodes::new(streams, &mut PreviousWarp::default());
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

    /// What B's walk leaves out is in the graph already: walking all of both gives the same.
    #[test]
    fn where_b_does_what_a_does_it_has_its_edges() {
        let mut random = random(11);
        for round in 0..300 {
            // Few nodes are a matrix of bits, many a table.
            let (sites, len) = [(20, 200), (3000, 1500)][round % 2];
            let masks = [u32::MAX, 0xffff, 0xffff_0000, 0xf0, 1, 0xffff_fffe];
            let a: Vec<Event> = (0..len)
                .map(|i| Event { site: i % sites, mask: masks[random(6) as usize], ..Event::default() })
                .collect();
            let mut b = a.clone();
            for _ in 0..random(8) {
                let at = random(b.len() as u32) as usize;
                match random(3) {
                    0 => _ = b.remove(at),
                    1 => b[at].mask = masks[random(6) as usize],
                    _ => b.insert(at, Event { site: random(1500), mask: 7, ..Event::default() }),
                }
            }
            let [a, b] = [a, b].map(|side| side.iter().map(|e| e.bytes()).collect::<Vec<_>>());
            let nodes = Nodes::new([&a, &b], &mut PreviousWarp::default());
            let edges = |runs: bool| {
                let mut edges = Edges::new(nodes.len(), nodes.in_a);
                edges.walk(&a, &nodes.of[0], &mut Lanes::new(), usize::MAX);
                match runs {
                    true => edges.walk_b([&a, &b], &nodes).expect("few edges back"),
                    false => _ = edges.walk(&b, &nodes.of[1], &mut Lanes::new(), usize::MAX),
                }
                let graph = edges.graph();
                (0..nodes.len() as u32)
                    .map(|v| graph.next(v).iter().copied().collect::<std::collections::BTreeSet<_>>())
                    .collect::<Vec<_>>()
            };
            assert_eq!(edges(true), edges(false));
        }
    }

    #[test]
    fn long_chains_do_not_recurse() {
        let a = stream(&(0..200_000).chain([0]).collect::<Vec<_>>());
        let (l, _) = found([&a, &[]]);
        assert!(l.inner.iter().all(|&i| i == 0));
    }

    #[test]
    fn sites_in_any_order_have_no_loops() {
        let mut random = random(5);
        let a = stream(&(0..5000).map(|_| random(60)).collect::<Vec<_>>());
        assert!(Loops::new([&a, &a], &Nodes::new([&a, &a], &mut PreviousWarp::default())).is_none());
        // One site that leads to any other, each of which leads back, is a loop.
        let b = stream(&(0..5000).map(|i| if i % 2 == 0 { 1000 } else { random(60) }).collect::<Vec<_>>());
        let (l, nodes) = found([&b, &b]);
        assert_eq!(l.header[l.inside(nodes.of[0][1], NONE) as usize], 0);
    }
}
