//! Launches of graphs.
//!
//! # Invariants
//! A node is recorded by the recorder that allocated its context, or its launch states why not.
//!
//! # Limitations
//! Memory behind the pointers of graph launches is not digested.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use prlx_driver::cuda::Functions;
use prlx_driver::queue::Stream;
use prlx_driver::record::program::Replay;
use prlx_plan::{FunctionPlan, Plan};
use prlx_trace::kernel::Function;
use prlx_trace::launch::Origin;

use crate::recording::context_recorder::ContextRecorder;
use crate::recording::graph_nodes::{ExecutableGraph, Node};
use crate::recording::launch_shape::Shape;
use crate::recording::lock::lock;
use crate::recording::open::session;
use crate::recording::session::SESSION;
use crate::recording::streams::{effective_stream, is_capturing};

/// Why launches of graphs have no digests.
const IN_GRAPH: &str = "launches of graphs are not digested";

/// Allocates a context for a graph's node, and returns its device address.
pub fn new_node_context(real: &Functions) -> Option<u64> {
    let session = session(real)?;
    let context = session.current_context(real)?;
    let (id, address) = context.recorder.node()?;
    lock(&session.graphs).nodes.insert(address, (context, id));
    Some(address)
}

/// Whether a device address is that of a node's context.
pub fn is_node_context(context: u64) -> bool {
    matches!(SESSION.get(), Some(Some(s)) if lock(&s.graphs).nodes.contains_key(&context))
}

/// Notes an executable graph with its kernel nodes: a new one, or one that was updated from another graph.
pub fn graph_instantiated(exec: *mut c_void, mut kernels: Vec<Node>) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut graphs = lock(&session.graphs);
    if let Some(graph) = graphs.executable.get_mut(&exec.addr()) {
        // The program changes nodes by the handles of the graph that was instantiated, so these stay.
        for (new, old) in kernels.iter_mut().zip(&graph.kernels) {
            new.handle = old.handle;
        }
        graph.kernels = kernels;
        return;
    }
    let number = graphs.count;
    graphs.count += 1;
    graphs.executable.insert(exec.addr(), ExecutableGraph { number, launches: 0, kernels });
}

/// Notes that a node of an executable graph was changed. `None`: its kernel is no longer recorded.
pub fn node_changed(exec: *mut c_void, handle: *mut c_void, node: Option<Node>) {
    let Some(Some(session)) = SESSION.get() else { return };
    if let Some(graph) = lock(&session.graphs).executable.get_mut(&exec.addr()) {
        match (graph.kernels.iter_mut().find(|n| n.handle == handle.addr()), node) {
            (Some(old), Some(new)) => {
                // The call does not change the cluster.
                let cluster = old.shape.cluster;
                *old = Node { shape: Shape { cluster, ..new.shape }, ..new };
            }
            (Some(_), None) => graph.kernels.retain(|n| n.handle != handle.addr()),
            (None, new) => graph.kernels.extend(new),
        }
    }
}

/// Device address of the context of a node of an executable graph.
pub fn node_context(exec: *mut c_void, handle: *mut c_void) -> Option<u64> {
    let Some(Some(session)) = SESSION.get() else { return None };
    let graphs = lock(&session.graphs);
    let mut kernels = graphs.executable.get(&exec.addr())?.kernels.iter();
    kernels.find(|n| n.handle == handle.addr()).map(|n| n.context)
}

/// Forgets an executable graph. The contexts of its nodes stay with the graph that it was instantiated from.
pub fn graph_destroyed(exec: *mut c_void) {
    if let Some(Some(session)) = SESSION.get() {
        lock(&session.graphs).executable.remove(&exec.addr());
    }
}

/// A launch of a graph between [`begin_graph_launch`] and [`GraphLaunch::launched`].
pub struct GraphLaunch {
    replay: Replay,
    context: Arc<ContextRecorder>,
    stream: *mut c_void,
}

/// Begins to record a launch of a graph into a stream. `per_thread`: the null stream is the thread's own
/// default stream.
pub fn begin_graph_launch(
    real: &Functions,
    exec: *mut c_void,
    stream: *mut c_void,
    per_thread: bool,
) -> Option<GraphLaunch> {
    let Some(Some(session)) = SESSION.get() else { return None };
    let stream = effective_stream(stream, per_thread);
    let (exec, replay, kernels) = {
        let mut graphs = lock(&session.graphs);
        let graph = graphs.executable.get_mut(&exec.addr()).filter(|g| !g.kernels.is_empty())?;
        graph.launches += 1;
        (graph.number, graph.launches - 1, graph.kernels.clone())
    };
    if is_capturing(real, stream) {
        return None;
    }
    let context = session.current_context(real)?;
    let mut nodes = Vec::new();
    for (i, node) in kernels.into_iter().enumerate() {
        let Some((owner, id)) = lock(&session.graphs).nodes.get(&node.context).cloned() else { continue };
        let Some((mut launch, skipped)) =
            session.rewritten_launch(real, &node.module, &node.kernel, &node.shape, node.params)
        else {
            continue;
        };
        launch.stream = session.stream_number(stream);
        launch.origin = Origin::Graph { exec, node: i as u32, replay };
        launch.undigested = session.options.digest.map(|_| IN_GRAPH.to_owned());
        if !Arc::ptr_eq(&owner, &context) {
            session.append_skipped(launch, "it is for another device than its graph was launched on");
            continue;
        }
        let skipped = if node.shares_context { Some("its graph has it twice") } else { skipped };
        let plan = skipped.map_or_else(
            || node.module.plan.clone(),
            |why| without_kernel(&node.module.plan, node.kernel.function, why),
        );
        nodes.push((id, plan, launch));
    }
    // SAFETY: the program launches into this stream, so the driver knows it during the call (P5).
    let replay = context.recorder.replay(exec, unsafe { Stream::foreign(stream) }, nodes);
    Some(GraphLaunch { replay, context, stream })
}

impl GraphLaunch {
    /// The driver, which was called between the two `called` times, has returned `code`.
    pub fn launched(mut self, code: i32, called: [Instant; 2]) {
        self.replay.called = Some(called);
        let recorder = &self.context.recorder;
        match code {
            // SAFETY: the program's launch into this stream returns only after this call, so the driver knows
            // the stream (P5). Later the recorder uses it only as a key.
            0 => recorder.replayed(self.replay, unsafe { Stream::foreign(self.stream) }),
            _ => recorder.not_replayed(self.replay),
        }
    }
}

/// A plan that does not record `kernel`, because of `why`. A node with this plan gets a context that records
/// nothing.
fn without_kernel(plan: &Plan, kernel: usize, why: &str) -> Arc<Plan> {
    let skipped = FunctionPlan { skipped: Some(why.to_owned()), ..FunctionPlan::default() };
    let functions = vec![Function::default(); kernel + 1];
    let module = prlx_trace::kernel::Module { functions, ..prlx_trace::kernel::Module::default() };
    Arc::new(Plan {
        request: plan.request.clone(),
        warp_size: plan.warp_size,
        module,
        functions: vec![skipped; kernel + 1],
        probe_state: plan.probe_state.clone(),
        finals: plan.finals,
    })
}
