//! Launches of graphs.
//!
//! # Invariants
//! A node is recorded by the recorder that gave out its context, or its launch states why not.
//!
//! # Limitations
//! The memory of graph launches is not digested.
#![allow(unsafe_code, reason = "the driver's handles")]

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

use prlx_driver::cuda::recorder::Replay;
use prlx_driver::cuda::{Functions, Stream};
use prlx_plan::{FunctionPlan, Plan};
use prlx_trace::kernel::Function;
use prlx_trace::launch::Origin;

use crate::recording::context_recorder::Of;
use crate::recording::graph_nodes::{Node, Ready};
use crate::recording::launch_shape::Shape;
use crate::recording::lock::lock;
use crate::recording::open::session;
use crate::recording::session::SESSION;
use crate::recording::streams::{capturing, in_stream};

/// Why launches of graphs have no digests.
const IN_GRAPH: &str = "launches of graphs are not digested";

/// A context for a graph's node.
pub fn node(real: &Functions) -> Option<u64> {
    let session = session(real)?;
    let of = session.here(real)?;
    let (id, context) = of.recorder.node()?;
    lock(&session.graphs).nodes.insert(context, (of, id));
    Some(context)
}

/// Whether it is one.
pub fn is_node(context: u64) -> bool {
    matches!(SESSION.get(), Some(Some(s)) if lock(&s.graphs).nodes.contains_key(&context))
}

/// A graph is ready, or was made like another.
pub fn ready(exec: *mut c_void, mut kernels: Vec<Node>) {
    let Some(Some(session)) = SESSION.get() else { return };
    let mut graphs = lock(&session.graphs);
    if let Some(ready) = graphs.ready.get_mut(&exec.addr()) {
        // The nodes are those of the graph that it was made from, for those who change them.
        for (new, old) in kernels.iter_mut().zip(&ready.kernels) {
            new.handle = old.handle;
        }
        ready.kernels = kernels;
        return;
    }
    let number = graphs.count;
    graphs.count += 1;
    graphs.ready.insert(exec.addr(), Ready { number, replays: 0, kernels });
}

/// A node of a graph that is ready was changed; `None`: to something that is not recorded.
pub fn changed(exec: *mut c_void, handle: *mut c_void, node: Option<Node>) {
    let Some(Some(session)) = SESSION.get() else { return };
    if let Some(ready) = lock(&session.graphs).ready.get_mut(&exec.addr()) {
        match (ready.kernels.iter_mut().find(|n| n.handle == handle.addr()), node) {
            (Some(old), Some(new)) => {
                let cluster = old.shape.cluster;
                *old = Node { shape: Shape { cluster, ..new.shape }, ..new };
            }
            (Some(_), None) => ready.kernels.retain(|n| n.handle != handle.addr()),
            (None, new) => ready.kernels.extend(new),
        }
    }
}

/// The context that a node of a graph that is ready has.
pub fn context_of(exec: *mut c_void, handle: *mut c_void) -> Option<u64> {
    let Some(Some(session)) = SESSION.get() else { return None };
    let graphs = lock(&session.graphs);
    graphs.ready.get(&exec.addr())?.kernels.iter().find(|n| n.handle == handle.addr()).map(|n| n.context)
}

/// It is gone. Its nodes' contexts stay with the graph that it was made from.
pub fn ready_gone(exec: *mut c_void) {
    if let Some(Some(session)) = SESSION.get() {
        lock(&session.graphs).ready.remove(&exec.addr());
    }
}

/// A launch of a graph between [`replay`] and [`Replayed::done`].
pub struct Replayed {
    replay: Replay,
    of: Arc<Of>,
    stream: *mut c_void,
}

/// A graph is about to be put into a stream.
pub fn replay(real: &Functions, exec: *mut c_void, handle: *mut c_void, own: bool) -> Option<Replayed> {
    let Some(Some(session)) = SESSION.get() else { return None };
    let handle = in_stream(handle, own);
    let (number, times, kernels) = {
        let mut graphs = lock(&session.graphs);
        let ready = graphs.ready.get_mut(&exec.addr()).filter(|r| !r.kernels.is_empty())?;
        ready.replays += 1;
        (ready.number, ready.replays - 1, ready.kernels.clone())
    };
    if capturing(real, handle) {
        return None;
    }
    let of = session.here(real)?;
    let mut nodes = Vec::new();
    for (i, node) in kernels.into_iter().enumerate() {
        let Some((giver, id)) = lock(&session.graphs).nodes.get(&node.context).cloned() else { continue };
        let Some((mut launch, why)) =
            session.launch(real, &node.module, &node.kernel, &node.shape, node.params)
        else {
            continue;
        };
        launch.stream = session.stream(handle);
        launch.origin = Origin::Graph { exec: number, node: i as u32, replay: times };
        launch.undigested = session.options.digest.map(|_| IN_GRAPH.to_owned());
        if !Arc::ptr_eq(&giver, &of) {
            session.left_out(launch, "it is for another device than its graph was launched on");
            continue;
        }
        let why = if node.twice { Some("its graph has it twice") } else { why };
        let plan = why.map_or_else(
            || node.module.plan.clone(),
            |why| without(&node.module.plan, node.kernel.function, why),
        );
        nodes.push((id, plan, launch));
    }
    // SAFETY: the program's stream.
    let replay = of.recorder.replay(number, unsafe { Stream::foreign(handle) }, nodes);
    Some(Replayed { replay, of, stream: handle })
}

impl Replayed {
    /// The driver was called, and has answered.
    pub fn done(mut self, code: i32, called: [Instant; 2]) {
        self.replay.called = Some(called);
        match code {
            // SAFETY: the program's stream, which it has just used.
            0 => self.of.recorder.replayed(self.replay, unsafe { Stream::foreign(self.stream) }),
            _ => self.of.recorder.not_replayed(self.replay),
        }
    }
}

/// A plan by which a kernel is not recorded, for a reason: its context is then one that records nothing.
fn without(plan: &Plan, kernel: usize, why: &str) -> Arc<Plan> {
    let skipped = FunctionPlan { skipped: Some(why.to_owned()), ..FunctionPlan::default() };
    let functions = vec![Function::default(); kernel + 1];
    let module = prlx_trace::kernel::Module { functions, ..prlx_trace::kernel::Module::default() };
    Arc::new(Plan {
        request: plan.request.clone(),
        module,
        functions: vec![skipped; kernel + 1],
        probe_state: plan.probe_state.clone(),
        finals: plan.finals,
    })
}
