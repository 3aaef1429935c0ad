//! Graphs: kernel nodes of rewritten kernels get their parameter too, however they come about.
//!
//! Nodes that a capture makes come from launches. What the driver says of a node has the parameter behind the
//! program's, where nobody looks; given back to it, it is put there again.
//!
//! A node's parameter is a context of its own, which stays while it is changed, copied and made ready. When a
//! graph is made ready its kernel nodes are looked up, with their contexts ([`kernels`]); before each launch
//! the recorder fills those.
//!
//! # Invariants
//! As in [`crate::launch`]; a context that two nodes of one graph have records nothing. Misses: bodies of
//! conditional nodes, and graphs that are made ready by the first version of `cuGraphInstantiate`: their
//! contexts are never filled.
#![allow(
    unsafe_code,
    reason = "a C interface: pointers come from the program, as cuda.h says what they point to"
)]
#![allow(non_snake_case, reason = "the driver's own names")]

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::time::Instant;

use prlx_driver::cuda::Functions;
use prlx_driver::cuda::calls::{InstantiateParams, KernelNodeParams, NodeParams, UpdateResult, launch, node};

use crate::hooks::params::{Room, Use, kernel};
use crate::panic_guard::guard;
use crate::recording::graph_nodes::Node;
use crate::recording::launch_shape::Shape;
use crate::{handles, recording};

/// Graphs in graphs that are looked into.
const DEPTH: u32 = 16;

/// The kernel nodes of a graph that have contexts.
///
/// # Safety
/// The driver knows the graph.
unsafe fn kernels(real: &Functions, graph: *mut c_void, depth: u32, all: &mut Vec<Node>) {
    let mut count = 0;
    // SAFETY: the caller's promise; every call has places for its answers.
    unsafe {
        if (real.cuGraphGetNodes)(graph, null_mut(), &mut count) != 0 || depth > DEPTH {
            return;
        }
        let mut nodes = vec![null_mut(); count];
        if (real.cuGraphGetNodes)(graph, nodes.as_mut_ptr(), &mut count) != 0 {
            return;
        }
        for handle in nodes.into_iter().take(count) {
            let (mut kind, mut inner) = (-1, null_mut());
            if (real.cuGraphNodeGetType)(handle, &mut kind) != 0 {
                continue;
            }
            if kind == node::GRAPH && (real.cuGraphChildGraphNodeGetGraph)(handle, &mut inner) == 0 {
                kernels(real, inner, depth + 1, all);
            } else if kind == node::KERNEL
                && let Some(one) = one(real, handle)
            {
                match all.iter_mut().find(|n| n.context == one.context) {
                    Some(other) => other.twice = true,
                    None => all.push(one),
                }
            }
        }
    }
}

/// A kernel node, if it has a context.
///
/// # Safety
/// The driver knows the node.
unsafe fn one(real: &Functions, handle: *mut c_void) -> Option<Node> {
    let mut said = NOTHING;
    // SAFETY: the caller's promise; the parameters that the driver tells of are a pointer for each, ours
    // behind the program's.
    unsafe {
        if (real.cuGraphKernelNodeGetParams_v2)(handle, &mut said) != 0 || said.params.is_null() {
            return None;
        }
        let function = if said.function.is_null() { said.kernel } else { said.function };
        let found = match kernel(real, function) {
            Some(found) => Some(found),
            // The driver tells of a captured kernel of a library by a handle that nobody has asked for.
            None => {
                for own in handles::library_kernels() {
                    let mut of_context = null_mut();
                    if (real.cuKernelGetFunction)(&mut of_context, own) == 0 {
                        handles::kernel_as(of_context, own);
                    }
                }
                handles::kernel(function).flatten()
            }
        };
        let (module, kernel) = found.filter(|(_, k)| k.skipped.is_none())?;
        let context = *(*said.params.add(kernel.params.len())).cast::<u64>();
        if !recording::is_node(context) {
            return None;
        }
        let mut params = vec![0; kernel.params.iter().map(|(at, size)| at + size).max().unwrap_or(0)];
        for (i, (at, size)) in kernel.params.iter().enumerate() {
            let from = (*said.params.add(i)).cast::<u8>();
            params[*at..at + size].copy_from_slice(std::slice::from_raw_parts(from, *size));
        }
        let cluster = cluster(real, handle);
        let shape = Shape { grid: said.grid, block: said.block, shared: said.shared, cluster };
        let params = kernel.recorded(params);
        Some(Node { handle: handle.addr(), context, module, kernel, shape, params, twice: false })
    }
}

/// CTAs of a cluster of a kernel node, if it asks for any.
fn cluster(real: &Functions, handle: *mut c_void) -> Option<[u32; 3]> {
    // As large as any attribute.
    let mut value = [0u32; 16];
    // SAFETY: the driver knows the node; a place for the answer.
    let code = unsafe {
        (real.cuGraphKernelNodeGetAttribute)(handle, launch::CLUSTER_DIMENSION, (&raw mut value).cast())
    };
    let sizes = [value[0], value[1], value[2]];
    (code == 0 && sizes != [0; 3]).then_some(sizes)
}

/// What a call fills.
const NOTHING: KernelNodeParams = KernelNodeParams {
    function: null_mut(),
    grid: [0; 3],
    block: [0; 3],
    shared: 0,
    params: null_mut(),
    extra: null_mut(),
    kernel: null_mut(),
    context: null_mut(),
};

/// A graph was made ready, if `code` says so.
///
/// # Safety
/// The driver knows the graph; `exec` holds what it became.
unsafe fn ready(real: &Functions, code: i32, exec: *mut *mut c_void, graph: *mut c_void) -> i32 {
    if code == 0 {
        guard(|| {
            let mut all = Vec::new();
            // SAFETY: the caller's promise.
            unsafe {
                kernels(real, graph, 0, &mut all);
                recording::ready(*exec, all);
            }
            Some(())
        });
    }
    code
}

/// What a node of a graph that is ready became; its clusters stay as they were.
fn now(handle: *mut c_void, room: &Room, copy: &KernelNodeParams) -> Option<Node> {
    let (module, kernel) = room.found.clone()?;
    let shape = Shape { grid: copy.grid, block: copy.block, shared: copy.shared, cluster: None };
    let (context, params) = (room.context(), room.params.clone());
    let twice = false;
    recording::is_node(context).then(|| Node {
        handle: handle.addr(),
        context,
        module,
        kernel,
        shape,
        params,
        twice,
    })
}

/// A kernel node's parameters with one more. `first`: the structure ends with `extra`. `had`: the context
/// that it has.
///
/// # Safety
/// `params` points to those of a node; what comes of it lives as long as `room` and `copy`.
unsafe fn extended(
    real: &Functions,
    room: &mut Room,
    copy: &mut Option<KernelNodeParams>,
    params: *const KernelNodeParams,
    first: bool,
    had: Option<u64>,
) -> *const KernelNodeParams {
    if params.is_null() {
        return params;
    }
    // SAFETY: the caller's promise; fields behind `extra` are read only where they are.
    unsafe {
        let of = &raw const *params;
        let mut own = KernelNodeParams {
            function: (*of).function,
            grid: (*of).grid,
            block: (*of).block,
            shared: (*of).shared,
            params: (*of).params,
            extra: (*of).extra,
            kernel: null_mut(),
            context: null_mut(),
        };
        if !first {
            (own.kernel, own.context) = ((*of).kernel, (*of).context);
        }
        let handle = if own.function.is_null() { own.kernel } else { own.function };
        (own.params, own.extra) = room.extend(real, handle, own.params, own.extra, Use::Node(had));
        &raw const *copy.insert(own)
    }
}

/// The same of a node of any kind.
///
/// # Safety
/// As [`extended`].
unsafe fn any(
    real: &Functions,
    room: &mut Room,
    params: *const NodeParams,
    had: Option<u64>,
) -> Option<NodeParams> {
    // SAFETY: the caller's promise; a kernel's node has a kernel's parameters.
    unsafe {
        let mut own = *params.as_ref().filter(|p| p.kind == node::KERNEL)?;
        let mut copy = None;
        own.params.kernel = *extended(real, room, &mut copy, &raw const own.params.kernel, false, had);
        Some(own)
    }
}

macro_rules! added {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            node: *mut *mut c_void,
            graph: *mut c_void,
            dependencies: *const *mut c_void,
            count: usize,
            params: *const KernelNodeParams,
        ) -> i32 {
            let (mut room, mut copy) = (Room::default(), None);
            // SAFETY: the program's call, with room that lives through it.
            unsafe {
                let params = extended(real, &mut room, &mut copy, params, $first, None);
                (real.$name)(node, graph, dependencies, count, params)
            }
        }
    )* };
}

added! { cuGraphAddKernelNode true cuGraphAddKernelNode_v2 false }

macro_rules! changed {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(real: &Functions, node: *mut c_void, params: *const KernelNodeParams) -> i32 {
            let (mut room, mut copy) = (Room::default(), None);
            // SAFETY: the program's call, with room that lives through it.
            unsafe {
                let had = guard(|| one(real, node)).map(|n| n.context);
                let params = extended(real, &mut room, &mut copy, params, $first, had);
                (real.$name)(node, params)
            }
        }
    )* };
}

changed! { cuGraphKernelNodeSetParams true cuGraphKernelNodeSetParams_v2 false }

macro_rules! changed_ready {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            exec: *mut c_void,
            node: *mut c_void,
            params: *const KernelNodeParams,
        ) -> i32 {
            let (mut room, mut copy) = (Room::default(), None);
            // SAFETY: the program's call, with room that lives through it.
            unsafe {
                let had = guard(|| recording::context_of(exec, node));
                let params = extended(real, &mut room, &mut copy, params, $first, had);
                let code = (real.$name)(exec, node, params);
                changed(code, exec, node, &room, copy.as_ref())
            }
        }
    )* };
}

changed_ready! { cuGraphExecKernelNodeSetParams true cuGraphExecKernelNodeSetParams_v2 false }

pub unsafe fn cuGraphAddNode(
    real: &Functions,
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let mut own = any(real, &mut room, params, None);
        (real.cuGraphAddNode)(node, graph, dependencies, count, own.as_mut().map_or(params, |p| p))
    }
}

pub unsafe fn cuGraphAddNode_v2(
    real: &Functions,
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let mut own = any(real, &mut room, params, None);
        (real.cuGraphAddNode_v2)(node, graph, dependencies, edges, count, own.as_mut().map_or(params, |p| p))
    }
}

pub unsafe fn cuGraphNodeSetParams(real: &Functions, node: *mut c_void, params: *mut NodeParams) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let had = guard(|| one(real, node)).map(|n| n.context);
        let mut own = any(real, &mut room, params, had);
        (real.cuGraphNodeSetParams)(node, own.as_mut().map_or(params, |p| p))
    }
}

pub unsafe fn cuGraphExecNodeSetParams(
    real: &Functions,
    exec: *mut c_void,
    node: *mut c_void,
    params: *mut NodeParams,
) -> i32 {
    let mut room = Room::default();
    // SAFETY: the program's call, with room that lives through it.
    unsafe {
        let had = guard(|| recording::context_of(exec, node));
        let mut own = any(real, &mut room, params, had);
        let code = (real.cuGraphExecNodeSetParams)(exec, node, own.as_mut().map_or(params, |p| p));
        let copy = own.map(|o| o.params.kernel);
        changed(code, exec, node, &room, copy.as_ref())
    }
}

/// A node of a graph that is ready was changed, if `code` says so.
fn changed(
    code: i32,
    exec: *mut c_void,
    node: *mut c_void,
    room: &Room,
    copy: Option<&KernelNodeParams>,
) -> i32 {
    if code == 0 {
        guard(|| {
            recording::changed(exec, node, copy.and_then(|copy| now(node, room, copy)));
            Some(())
        });
    }
    code
}

pub unsafe fn cuGraphInstantiate_v2(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    error: *mut *mut c_void,
    log: *mut c_char,
    size: usize,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { ready(real, (real.cuGraphInstantiate_v2)(exec, graph, error, log, size), exec, graph) }
}

pub unsafe fn cuGraphInstantiateWithFlags(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    flags: u64,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { ready(real, (real.cuGraphInstantiateWithFlags)(exec, graph, flags), exec, graph) }
}

pub unsafe fn cuGraphInstantiateWithParams(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut InstantiateParams,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { ready(real, (real.cuGraphInstantiateWithParams)(exec, graph, params), exec, graph) }
}

pub unsafe fn cuGraphInstantiateWithParams_ptsz(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut InstantiateParams,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { ready(real, (real.cuGraphInstantiateWithParams_ptsz)(exec, graph, params), exec, graph) }
}

pub unsafe fn cuGraphExecUpdate(
    real: &Functions,
    mut exec: *mut c_void,
    graph: *mut c_void,
    error: *mut *mut c_void,
    result: *mut i32,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { ready(real, (real.cuGraphExecUpdate)(exec, graph, error, result), &mut exec, graph) }
}

pub unsafe fn cuGraphExecUpdate_v2(
    real: &Functions,
    mut exec: *mut c_void,
    graph: *mut c_void,
    result: *mut UpdateResult,
) -> i32 {
    // SAFETY: the program's call.
    unsafe { ready(real, (real.cuGraphExecUpdate_v2)(exec, graph, result), &mut exec, graph) }
}

pub unsafe fn cuGraphExecDestroy(real: &Functions, exec: *mut c_void) -> i32 {
    guard(|| {
        recording::ready_gone(exec);
        Some(())
    });
    // SAFETY: the program's call.
    unsafe { (real.cuGraphExecDestroy)(exec) }
}

pub unsafe fn cuGraphLaunch(real: &Functions, exec: *mut c_void, stream: *mut c_void) -> i32 {
    let replayed = guard(|| recording::replay(real, exec, stream, false));
    let called = Instant::now();
    // SAFETY: the program's call.
    done(replayed, unsafe { (real.cuGraphLaunch)(exec, stream) }, called)
}

pub unsafe fn cuGraphLaunch_ptsz(real: &Functions, exec: *mut c_void, stream: *mut c_void) -> i32 {
    let replayed = guard(|| recording::replay(real, exec, stream, true));
    let called = Instant::now();
    // SAFETY: the program's call.
    done(replayed, unsafe { (real.cuGraphLaunch_ptsz)(exec, stream) }, called)
}

/// The driver, which was called then to launch a graph, has answered.
fn done(replayed: Option<recording::Replayed>, code: i32, called: Instant) -> i32 {
    if let Some(replayed) = replayed {
        let called = [called, Instant::now()];
        guard(|| {
            replayed.done(code, called);
            Some(())
        });
    }
    code
}
