//! Capture and graphs.
//!
//! Holds: while a stream is captured, calls that could wait are refused and break the capture, as the thread's and the capture's
//! modes say; a captured stream's work is written down, not done; streams that joined must have come back when it ends.
//! A graph that is ready is a copy: later changes of the graph do not reach it.
//! Misses: nodes other than kernels, copies, fills and graphs; edges with data; a graph that is started runs its nodes in one
//! order, as they were added.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{ThreadId, current};

use prlx_driver::cuda::calls::{capture as mode, node};

use prlx_trace::Dim3;

use crate::device::{Device, Result, Work, code};

/// A capture that goes on.
struct Capture {
    graph: u64,
    origin: u64,
    mode: i32,
    thread: ThreadId,
    broken: bool,
}

/// What a graph does.
#[derive(Clone, Default)]
struct Graph {
    nodes: Vec<Node>,
}

#[derive(Clone)]
struct Node {
    handle: u64,
    after: Vec<u64>,
    work: Work,
}

thread_local! {
    /// The calling thread's mode, the same for all devices.
    static MODE: Cell<i32> = const { Cell::new(mode::GLOBAL) };
}

/// Changes the calling thread's mode; gives what it was.
pub fn exchange_mode(to: i32) -> Result<i32> {
    if (mode::GLOBAL..=mode::RELAXED).contains(&to) { Ok(MODE.replace(to)) } else { Err(code::INVALID_VALUE) }
}

/// All of them.
#[derive(Default)]
pub struct Graphs {
    graphs: BTreeMap<u64, Graph>,
    captures: BTreeMap<u64, Capture>,
    /// Graphs that are ready: their work, by the nodes it came from.
    ready: BTreeMap<u64, Vec<(u64, Work)>>,
    /// What was given out of kernel nodes' parameters: bytes, and pointers to each.
    given: BTreeMap<u64, Given>,
}

/// A kernel node's parameters where their pointers point to.
pub struct Given {
    _bytes: Box<[u8]>,
    pub pointers: Box<[usize]>,
}

impl Device {
    fn graph(&mut self, graph: u64) -> Result<&mut Graph> {
        self.graphs.graphs.get_mut(&graph).ok_or(code::INVALID_VALUE)
    }
    fn node(&mut self, node: u64) -> Result<&mut Node> {
        let mut all = self.graphs.graphs.values_mut().flat_map(|g| g.nodes.iter_mut());
        all.find(|n| n.handle == node).ok_or(code::INVALID_VALUE)
    }

    /// A call that could wait for something: not while a capture goes on, as the modes say.
    pub fn unsafe_call(&mut self) -> Result<()> {
        let (own, me) = (MODE.get(), current().id());
        let wrong = |c: &Capture| match own {
            mode::RELAXED => false,
            mode::GLOBAL => c.mode == mode::GLOBAL || c.thread == me && c.mode != mode::RELAXED,
            _ => c.thread == me && c.mode != mode::RELAXED,
        };
        match self.graphs.captures.values_mut().find(|c| !c.broken && wrong(c)) {
            Some(capture) => {
                capture.broken = true;
                Err(code::CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }
    /// Whether any stream is captured.
    pub fn capturing(&self) -> bool {
        !self.graphs.captures.is_empty()
    }
    pub fn invalidate(&mut self, capture: u64) {
        if let Some(c) = self.graphs.captures.get_mut(&capture) {
            c.broken = true;
        }
    }

    pub fn capture_begin(&mut self, stream: u64, mode: i32) -> Result<()> {
        self.ready()?;
        if !(mode::GLOBAL..=mode::RELAXED).contains(&mode) {
            return Err(code::INVALID_VALUE);
        }
        let s = self.streams.all.get_mut(&stream).ok_or(code::INVALID_HANDLE)?;
        if s.capture.is_some() || stream == prlx_driver::cuda::calls::stream::LEGACY {
            return Err(code::CAPTURE_UNSUPPORTED);
        }
        let (graph, capture) = (self.handle(), self.handle());
        let broken = false;
        self.graphs.graphs.insert(graph, Graph::default());
        let one = Capture { graph, origin: stream, mode, thread: current().id(), broken };
        self.graphs.captures.insert(capture, one);
        if let Some(s) = self.streams.all.get_mut(&stream) {
            s.capture = Some((capture, Vec::new()));
        }
        Ok(())
    }
    pub fn capture_end(&mut self, stream: u64) -> Result<u64> {
        self.ready()?;
        let s = self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?;
        let (id, last) = s.capture.clone().ok_or(code::INVALID_VALUE)?;
        let found = self.graphs.captures.get(&id).ok_or(code::INVALID_VALUE)?;
        if found.origin != stream {
            return Err(code::CAPTURE_UNMATCHED);
        }
        if found.mode != mode::RELAXED && found.thread != current().id() {
            return Err(code::CAPTURE_WRONG_THREAD);
        }
        let (graph, broken) = (found.graph, found.broken);
        self.graphs.captures.remove(&id);
        for s in self.streams.all.values_mut().filter(|s| s.capture.as_ref().is_some_and(|c| c.0 == id)) {
            s.capture = None;
        }
        // Every node must lead to what the stream that began it waits for.
        let nodes = &self.graphs.graphs[&graph].nodes;
        let mut reached: BTreeSet<u64> = last.into_iter().collect();
        for node in nodes.iter().rev() {
            if reached.contains(&node.handle) {
                reached.extend(&node.after);
            }
        }
        let joined = nodes.iter().all(|n| reached.contains(&n.handle));
        if broken || !joined {
            self.graphs.graphs.remove(&graph);
            return Err(if broken { code::CAPTURE_INVALIDATED } else { code::CAPTURE_UNJOINED });
        }
        Ok(graph)
    }
    /// Status, number of the capture, its graph, and the nodes that come last in the stream.
    pub fn capture_info(&mut self, stream: u64) -> Result<(i32, u64, u64, &[u64])> {
        self.ready()?;
        let s = self.streams.all.get(&stream).ok_or(code::INVALID_HANDLE)?;
        let Some((id, last)) = &s.capture else { return Ok((mode::STATUS[0], 0, 0, &[])) };
        let capture = self.graphs.captures.get(id).ok_or(code::UNKNOWN)?;
        Ok((mode::STATUS[1 + usize::from(capture.broken)], *id, capture.graph, last))
    }
    /// Writes work down.
    pub fn captured(&mut self, capture: u64, after: Vec<u64>, work: Work) -> Result<u64> {
        let found = self.graphs.captures.get(&capture).ok_or(code::UNKNOWN)?;
        if found.broken {
            return Err(code::CAPTURE_INVALIDATED);
        }
        self.node_add(found.graph, after, work)
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
    pub fn graphs_gone(&mut self) {
        self.graphs = Graphs::default();
    }
}

/// A kernel node's new work, with the attributes of what it did before.
fn with_attributes(old: &Work, mut new: Work) -> Result<Work> {
    match (old, &mut new) {
        (Work::Launch { config: old, .. }, Work::Launch { config, .. }) => config.cluster = old.cluster,
        _ => return Err(code::INVALID_VALUE),
    }
    Ok(new)
}
