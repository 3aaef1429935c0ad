//! Graphs (`cuGraph*`): kernel nodes of rewritten kernels get the hidden parameter too.
//!
//! Nodes that a capture makes come from launches, which have it already. When the driver reports a node's
//! parameters, the hidden one lies behind the program's, where the program does not look. When the program
//! passes parameters to a node, it is added again.
//!
//! A node's hidden parameter leads to a context of its own, which the node keeps while it is changed, copied
//! and instantiated. When a graph is instantiated, its kernel nodes are collected with their contexts
//! ([`collect_nodes`]). Before each launch of the graph, the recorder fills these contexts.
//!
//! # Invariants
//! - Those of [`crate::hooks::launch`].
//! - A context that two nodes of one graph share records nothing.
//!
//! # Limitations
//! Contexts of these nodes are never filled, so they record nothing: bodies of conditional nodes, and graphs
//! that are instantiated by the first version of `cuGraphInstantiate`.
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

use crate::hooks::params::{PatchedParams, Purpose, kernel};
use crate::panic_guard::guard;
use crate::recording::graph_nodes::Node;
use crate::recording::launch_shape::Shape;
use crate::{handles, recording};

/// Maximum depth of child graphs that are searched for kernel nodes.
const MAX_DEPTH: u32 = 16;

/// Appends the kernel nodes of a graph, and of its child graphs, that have contexts.
///
/// # Safety
/// The driver knows the graph.
unsafe fn collect_nodes(real: &Functions, graph: *mut c_void, depth: u32, all: &mut Vec<Node>) {
    let mut count = 0;
    // SAFETY: the driver's functions (P2) with the caller's graph, and nodes and child graphs that the driver
    // returned (P5). Outputs are local variables (P3); `nodes` has the length that the call gets.
    unsafe {
        if (real.cuGraphGetNodes)(graph, null_mut(), &mut count) != 0 || depth > MAX_DEPTH {
            return;
        }
        let mut nodes = vec![null_mut(); count];
        if (real.cuGraphGetNodes)(graph, nodes.as_mut_ptr(), &mut count) != 0 {
            return;
        }
        for handle in nodes.into_iter().take(count) {
            let (mut kind, mut child) = (-1, null_mut());
            if (real.cuGraphNodeGetType)(handle, &mut kind) != 0 {
                continue;
            }
            if kind == node::GRAPH && (real.cuGraphChildGraphNodeGetGraph)(handle, &mut child) == 0 {
                collect_nodes(real, child, depth + 1, all);
            } else if kind == node::KERNEL
                && let Some(node) = recorded_node(real, handle)
            {
                match all.iter_mut().find(|n| n.context == node.context) {
                    Some(other) => other.shares_context = true,
                    None => all.push(node),
                }
            }
        }
    }
}

/// A kernel node as it is recorded; `None` if it has no context.
///
/// # Safety
/// The driver knows the node.
unsafe fn recorded_node(real: &Functions, handle: *mut c_void) -> Option<Node> {
    let mut params = NO_PARAMS;
    // SAFETY: the driver's functions (P2) with the caller's node; outputs are local variables (P3). After
    // success `params` has a pointer for each parameter of the kernel (P4), each to as many bytes as it has.
    // The kernel is rewritten, so the hidden parameter is behind the program's, and begins with the 8 bytes
    // of the context's address.
    unsafe {
        if (real.cuGraphKernelNodeGetParams_v2)(handle, &mut params) != 0 || params.params.is_null() {
            return None;
        }
        let function = if params.function.is_null() { params.kernel } else { params.function };
        let found = match kernel(real, function) {
            Some(found) => Some(found),
            // The driver reports a captured library kernel by a handle that nobody has looked up.
            None => {
                for own in handles::library_kernels() {
                    let mut of_context = null_mut();
                    if (real.cuKernelGetFunction)(&mut of_context, own) == 0 {
                        handles::add_alias(of_context, own);
                    }
                }
                handles::kernel(function).flatten()
            }
        };
        let (module, kernel) = found.filter(|(_, k)| k.skipped.is_none())?;
        let context = *(*params.params.add(kernel.params.len())).cast::<u64>();
        if !recording::is_node_context(context) {
            return None;
        }
        let mut bytes = vec![0; kernel.params_size()];
        for (i, (at, size)) in kernel.params.iter().enumerate() {
            let from = (*params.params.add(i)).cast::<u8>();
            bytes[*at..at + size].copy_from_slice(std::slice::from_raw_parts(from, *size));
        }
        let cluster = cluster(real, handle);
        let shape = Shape { grid: params.grid, block: params.block, shared: params.shared, cluster };
        let params = kernel.recorded(bytes);
        Some(Node { handle: handle.addr(), context, module, kernel, shape, params, shares_context: false })
    }
}

/// CTAs of a cluster that a kernel node asks for; `None` if it asks for none.
fn cluster(real: &Functions, handle: *mut c_void) -> Option<[u32; 3]> {
    // `CUlaunchAttributeValue` is a union of 64 bytes.
    let mut value = [0u32; 16];
    // SAFETY: the driver's function (P2) with a node that it knows (P5); the output has the size of the union
    // (P3).
    let code = unsafe {
        (real.cuGraphKernelNodeGetAttribute)(handle, launch::CLUSTER_DIMENSION, (&raw mut value).cast())
    };
    let sizes = [value[0], value[1], value[2]];
    (code == 0 && sizes != [0; 3]).then_some(sizes)
}

/// Parameters of a node before a call fills them.
const NO_PARAMS: KernelNodeParams = KernelNodeParams {
    function: null_mut(),
    grid: [0; 3],
    block: [0; 3],
    shared: 0,
    params: null_mut(),
    extra: null_mut(),
    kernel: null_mut(),
    context: null_mut(),
};

/// Records that a graph was instantiated, or an executable graph updated from it, if `code` is 0. Returns
/// `code`.
///
/// # Safety
/// The driver knows the graph. If `code` is 0, `exec` points to the executable graph.
unsafe fn instantiated(real: &Functions, code: i32, exec: *mut *mut c_void, graph: *mut c_void) -> i32 {
    if code == 0 {
        guard(|| {
            let mut all = Vec::new();
            // SAFETY: the caller's promise; the code is 0.
            unsafe {
                collect_nodes(real, graph, 0, &mut all);
                recording::graph_instantiated(*exec, all);
            }
            Some(())
        });
    }
    code
}

/// A node of an executable graph with its new parameters. The cluster size is not a parameter, and stays
/// as it was ([`recording::node_changed`]).
fn changed_node(handle: *mut c_void, patched: &PatchedParams, params: &KernelNodeParams) -> Option<Node> {
    let (module, kernel) = patched.kernel.clone()?;
    let shape = Shape { grid: params.grid, block: params.block, shared: params.shared, cluster: None };
    let context = patched.context();
    recording::is_node_context(context).then(|| Node {
        handle: handle.addr(),
        context,
        module,
        kernel,
        shape,
        params: patched.params.clone(),
        shares_context: false,
    })
}

/// A kernel node's parameters with the hidden parameter. `first_version`: the structure ends with `extra`.
/// `context`: the context that the node already has. The result points into `patched` and `copy`.
///
/// # Safety
/// `params` is null, or points to the parameters of a kernel node. `patched` is not moved while the result is
/// used.
unsafe fn patch(
    real: &Functions,
    patched: &mut PatchedParams,
    copy: &mut Option<KernelNodeParams>,
    params: *const KernelNodeParams,
    first_version: bool,
    context: Option<u64>,
) -> *const KernelNodeParams {
    if params.is_null() {
        return params;
    }
    // SAFETY: not null, so the caller promises the structure. Fields behind `extra` are read only in the
    // version that has them. The parameters are those of a launch of the node's kernel.
    unsafe {
        let from = &raw const *params;
        let mut own = KernelNodeParams {
            function: (*from).function,
            grid: (*from).grid,
            block: (*from).block,
            shared: (*from).shared,
            params: (*from).params,
            extra: (*from).extra,
            kernel: null_mut(),
            context: null_mut(),
        };
        if !first_version {
            (own.kernel, own.context) = ((*from).kernel, (*from).context);
        }
        let handle = if own.function.is_null() { own.kernel } else { own.function };
        (own.params, own.extra) =
            patched.patch(real, handle, own.params, own.extra, Purpose::Node { context });
        &raw const *copy.insert(own)
    }
}

/// As [`patch`], for a node of any kind. `None` if it is not a kernel node.
///
/// # Safety
/// `params` is null, or points to the parameters of a node. `patched` is not moved while the result is used.
unsafe fn patch_any(
    real: &Functions,
    patched: &mut PatchedParams,
    params: *const NodeParams,
    context: Option<u64>,
) -> Option<NodeParams> {
    // SAFETY: null, or the caller promises the structure. The union holds a kernel's parameters if the kind
    // says so.
    unsafe {
        let mut own = *params.as_ref().filter(|p| p.kind == node::KERNEL)?;
        let mut copy = None;
        own.params.kernel = *patch(real, patched, &mut copy, &raw const own.params.kernel, false, context);
        Some(own)
    }
}

macro_rules! add_nodes {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            node: *mut *mut c_void,
            graph: *mut c_void,
            dependencies: *const *mut c_void,
            count: usize,
            params: *const KernelNodeParams,
        ) -> i32 {
            let (mut patched, mut copy) = (PatchedParams::default(), None);
            // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in
            // `patched` and `copy` that live until the call returns (P6).
            unsafe {
                let params = patch(real, &mut patched, &mut copy, params, $first, None);
                (real.$name)(node, graph, dependencies, count, params)
            }
        }
    )* };
}

add_nodes! { cuGraphAddKernelNode true cuGraphAddKernelNode_v2 false }

macro_rules! set_params {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(real: &Functions, node: *mut c_void, params: *const KernelNodeParams) -> i32 {
            let (mut patched, mut copy) = (PatchedParams::default(), None);
            // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in
            // `patched` and `copy` that live until the call returns (P6).
            unsafe {
                let context = guard(|| recorded_node(real, node)).map(|n| n.context);
                let params = patch(real, &mut patched, &mut copy, params, $first, context);
                (real.$name)(node, params)
            }
        }
    )* };
}

set_params! { cuGraphKernelNodeSetParams true cuGraphKernelNodeSetParams_v2 false }

macro_rules! set_exec_params {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            real: &Functions,
            exec: *mut c_void,
            node: *mut c_void,
            params: *const KernelNodeParams,
        ) -> i32 {
            let (mut patched, mut copy) = (PatchedParams::default(), None);
            // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in
            // `patched` and `copy` that live until the call returns (P6).
            unsafe {
                let context = guard(|| recording::node_context(exec, node));
                let params = patch(real, &mut patched, &mut copy, params, $first, context);
                let code = (real.$name)(exec, node, params);
                exec_node_changed(code, exec, node, &patched, copy.as_ref())
            }
        }
    )* };
}

set_exec_params! { cuGraphExecKernelNodeSetParams true cuGraphExecKernelNodeSetParams_v2 false }

pub unsafe fn cuGraphAddNode(
    real: &Functions,
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    let mut patched = PatchedParams::default();
    // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in `patched` and
    // `own` that live until the call returns (P6).
    unsafe {
        let mut own = patch_any(real, &mut patched, params, None);
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
    let mut patched = PatchedParams::default();
    // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in `patched` and
    // `own` that live until the call returns (P6).
    unsafe {
        let mut own = patch_any(real, &mut patched, params, None);
        (real.cuGraphAddNode_v2)(node, graph, dependencies, edges, count, own.as_mut().map_or(params, |p| p))
    }
}

pub unsafe fn cuGraphNodeSetParams(real: &Functions, node: *mut c_void, params: *mut NodeParams) -> i32 {
    let mut patched = PatchedParams::default();
    // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in `patched` and
    // `own` that live until the call returns (P6).
    unsafe {
        let context = guard(|| recorded_node(real, node)).map(|n| n.context);
        let mut own = patch_any(real, &mut patched, params, context);
        (real.cuGraphNodeSetParams)(node, own.as_mut().map_or(params, |p| p))
    }
}

pub unsafe fn cuGraphExecNodeSetParams(
    real: &Functions,
    exec: *mut c_void,
    node: *mut c_void,
    params: *mut NodeParams,
) -> i32 {
    let mut patched = PatchedParams::default();
    // SAFETY: the driver's function (P2) with the program's arguments (P1), and parameters in `patched` and
    // `own` that live until the call returns (P6).
    unsafe {
        let context = guard(|| recording::node_context(exec, node));
        let mut own = patch_any(real, &mut patched, params, context);
        let code = (real.cuGraphExecNodeSetParams)(exec, node, own.as_mut().map_or(params, |p| p));
        let copy = own.map(|o| o.params.kernel);
        exec_node_changed(code, exec, node, &patched, copy.as_ref())
    }
}

/// Records that a node of an executable graph has new parameters, if `code` is 0. Returns `code`.
fn exec_node_changed(
    code: i32,
    exec: *mut c_void,
    node: *mut c_void,
    patched: &PatchedParams,
    params: Option<&KernelNodeParams>,
) -> i32 {
    if code == 0 {
        guard(|| {
            recording::node_changed(exec, node, params.and_then(|p| changed_node(node, patched, p)));
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
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { instantiated(real, (real.cuGraphInstantiate_v2)(exec, graph, error, log, size), exec, graph) }
}

pub unsafe fn cuGraphInstantiateWithFlags(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    flags: u64,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { instantiated(real, (real.cuGraphInstantiateWithFlags)(exec, graph, flags), exec, graph) }
}

pub unsafe fn cuGraphInstantiateWithParams(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut InstantiateParams,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { instantiated(real, (real.cuGraphInstantiateWithParams)(exec, graph, params), exec, graph) }
}

pub unsafe fn cuGraphInstantiateWithParams_ptsz(
    real: &Functions,
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut InstantiateParams,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { instantiated(real, (real.cuGraphInstantiateWithParams_ptsz)(exec, graph, params), exec, graph) }
}

pub unsafe fn cuGraphExecUpdate(
    real: &Functions,
    mut exec: *mut c_void,
    graph: *mut c_void,
    error: *mut *mut c_void,
    result: *mut i32,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { instantiated(real, (real.cuGraphExecUpdate)(exec, graph, error, result), &mut exec, graph) }
}

pub unsafe fn cuGraphExecUpdate_v2(
    real: &Functions,
    mut exec: *mut c_void,
    graph: *mut c_void,
    result: *mut UpdateResult,
) -> i32 {
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { instantiated(real, (real.cuGraphExecUpdate_v2)(exec, graph, result), &mut exec, graph) }
}

pub unsafe fn cuGraphExecDestroy(real: &Functions, exec: *mut c_void) -> i32 {
    guard(|| {
        recording::graph_destroyed(exec);
        Some(())
    });
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuGraphExecDestroy)(exec) }
}

pub unsafe fn cuGraphLaunch(real: &Functions, exec: *mut c_void, stream: *mut c_void) -> i32 {
    let launch = guard(|| recording::begin_graph_launch(real, exec, stream, false));
    let called = Instant::now();
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    launched(launch, unsafe { (real.cuGraphLaunch)(exec, stream) }, called)
}

pub unsafe fn cuGraphLaunch_ptsz(real: &Functions, exec: *mut c_void, stream: *mut c_void) -> i32 {
    let launch = guard(|| recording::begin_graph_launch(real, exec, stream, true));
    let called = Instant::now();
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    launched(launch, unsafe { (real.cuGraphLaunch_ptsz)(exec, stream) }, called)
}

/// Tells the recording that the driver, which was called at `called` to launch a graph, has returned `code`.
/// Returns `code`.
fn launched(launch: Option<recording::GraphLaunch>, code: i32, called: Instant) -> i32 {
    if let Some(launch) = launch {
        let times = [called, Instant::now()];
        guard(|| {
            launch.launched(code, times);
            Some(())
        });
    }
    code
}

pub unsafe fn cuStreamBeginCapture_v2(real: &Functions, stream: *mut c_void, mode: i32) -> i32 {
    guard(|| {
        recording::before_capture(real);
        Some(())
    });
    // SAFETY: the driver's function (P2) with the program's arguments (P1).
    unsafe { (real.cuStreamBeginCapture_v2)(stream, mode) }
}
