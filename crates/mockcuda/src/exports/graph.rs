//! Graphs: building, instantiating, changing and launching them.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::slice::from_raw_parts;

use prlx_driver::cuda::calls::{self, KernelNodeParams, NodeParams, launch, node};
use prlx_trace::Dim3;

use super::launch::kernel_work;
use super::pointers::{put, put_all};
use crate::codes::Result;
use crate::codes::code;
use crate::device::dispatch::with;
use crate::device::state::Device;
use crate::work::Work;

pub unsafe fn cuGraphCreate(graph: *mut *mut c_void, _: u32) -> i32 {
    // SAFETY: `graph` is an output of this call (E1, E2).
    with("cuGraphCreate", |d| unsafe { put(graph, d.graph_create()? as *mut c_void) })
}
pub unsafe fn cuGraphDestroy(graph: *mut c_void) -> i32 {
    with("cuGraphDestroy", |d| d.graph_destroy(graph as u64))
}
pub unsafe fn cuGraphClone(clone: *mut *mut c_void, graph: *mut c_void) -> i32 {
    // SAFETY: `clone` is an output of this call (E1, E2).
    with("cuGraphClone", |d| unsafe { put(clone, d.graph_clone(graph as u64)? as *mut c_void) })
}
pub unsafe fn cuGraphGetNodes(graph: *mut c_void, nodes: *mut *mut c_void, count: *mut usize) -> i32 {
    with("cuGraphGetNodes", |d| {
        let all = d.graph_nodes(graph as u64)?;
        if count.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: `nodes` is null or has room for as many nodes as `count` says (E1). `count` is not null.
        unsafe {
            if !nodes.is_null() {
                put_all(nodes, *count, &all)?;
            }
            put(count, if nodes.is_null() { all.len() } else { all.len().min(*count) })
        }
    })
}
pub unsafe fn cuGraphNodeGetType(node: *mut c_void, kind: *mut i32) -> i32 {
    // SAFETY: `kind` is an output of this call (E1, E2).
    with("cuGraphNodeGetType", |d| unsafe { put(kind, d.node_kind(node as u64)?) })
}

/// Adds a node with this work to a graph, and writes its handle to `into`.
///
/// # Safety
/// There are `count` nodes at `after`. `into` is null or an output.
unsafe fn add(
    d: &mut Device,
    into: *mut *mut c_void,
    graph: *mut c_void,
    after: *const *mut c_void,
    count: usize,
    work: Work,
) -> Result<()> {
    let after = match count {
        0 => Vec::new(),
        // SAFETY: the caller promises `count` nodes.
        _ => unsafe { from_raw_parts(after, count) }.iter().map(|n| *n as u64).collect(),
    };
    // SAFETY: the caller promises an output (E2).
    unsafe { put(into, d.node_add(graph as u64, after, work)? as *mut c_void) }
}
/// The work of a node with these parameters.
///
/// # Safety
/// `params` is null or points to a node's parameters, whose union is as its kind says.
unsafe fn node_work(d: &mut Device, params: *const NodeParams) -> Result<Work> {
    // SAFETY: null, or the caller promises the structure; `kernel` is the union's member of kernel nodes.
    unsafe {
        match params.as_ref().ok_or(code::INVALID_VALUE)? {
            p if p.kind == node::KERNEL => kernel_work(d, &p.params.kernel, false),
            p if p.kind == node::EMPTY => Ok(Work::Nothing),
            _ => Err(code::NOT_SUPPORTED),
        }
    }
}

// `true`: the first version of the structure, which ends with `extra`.
macro_rules! add_kernel_node {
    ($($name:ident $first:literal)*) => { $(
        pub unsafe fn $name(
            node: *mut *mut c_void,
            graph: *mut c_void,
            dependencies: *const *mut c_void,
            count: usize,
            params: *const KernelNodeParams,
        ) -> i32 {
            with(stringify!($name), |d| {
                // SAFETY: `params` is null or a kernel node's parameters, in this call's version (E1); `node`
                // is an output, and there are `count` dependencies (E1).
                unsafe {
                    let work = kernel_work(d, params, $first)?;
                    add(d, node, graph, dependencies, count, work)
                }
            })
        }
    )* };
}
add_kernel_node! { cuGraphAddKernelNode true cuGraphAddKernelNode_v2 false }

pub unsafe fn cuGraphAddNode(
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    with("cuGraphAddNode", |d| {
        // SAFETY: `params` is null or a node's parameters (E1); `node` is an output, and there are `count`
        // dependencies (E1).
        unsafe {
            let work = node_work(d, params)?;
            add(d, node, graph, dependencies, count, work)
        }
    })
}
pub unsafe fn cuGraphAddNode_v2(
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    edges: *const c_void,
    count: usize,
    params: *mut NodeParams,
) -> i32 {
    if !edges.is_null() {
        return code::NOT_SUPPORTED;
    }
    // SAFETY: the call has the same arguments with the same meaning (E1).
    unsafe { cuGraphAddNode(node, graph, dependencies, count, params) }
}
pub unsafe fn cuGraphAddChildGraphNode(
    node: *mut *mut c_void,
    graph: *mut c_void,
    dependencies: *const *mut c_void,
    count: usize,
    child: *mut c_void,
) -> i32 {
    with("cuGraphAddChildGraphNode", |d| {
        let copy = d.graph_clone(child as u64)?;
        // SAFETY: `node` is an output, and there are `count` dependencies (E1).
        unsafe { add(d, node, graph, dependencies, count, Work::Graph(copy)) }
    })
}
pub unsafe fn cuGraphChildGraphNodeGetGraph(node: *mut c_void, graph: *mut *mut c_void) -> i32 {
    // SAFETY: `graph` is an output of this call (E1, E2).
    with("cuGraphChildGraphNodeGetGraph", |d| unsafe {
        put(graph, d.node_graph(node as u64)? as *mut c_void)
    })
}

/// Writes a kernel node's parameters. `first`: to the first version of the structure, which ends with
/// `extra`.
///
/// # Safety
/// `params` is null or points to that version of the structure.
unsafe fn get(d: &mut Device, node: *mut c_void, params: *mut KernelNodeParams, first: bool) -> Result<()> {
    let (work, params_memory) = d.node_kernel(node as u64)?;
    let Work::Launch { function, config, .. } = work else { return Err(code::INVALID_VALUE) };
    let pointers = params_memory.pointers.as_ptr().cast_mut().cast();
    let sizes = |d: prlx_trace::Dim3| [d.x, d.y, d.z];
    // SAFETY: the caller promises the fields of this version. If `params` is null, so is the address of its
    // first field, which `put` refuses (E2) before the others are reached.
    unsafe {
        // As the driver does, this returns the function of a library's kernel, not the program's handle.
        put(&raw mut (*params).function, d.function_of(function) as *mut c_void)?;
        put(&raw mut (*params).grid, sizes(config.grid))?;
        put(&raw mut (*params).block, sizes(config.block))?;
        put(&raw mut (*params).shared, config.shared)?;
        put(&raw mut (*params).params, pointers)?;
        put(&raw mut (*params).extra, null_mut())?;
        if !first {
            put(&raw mut (*params).kernel, null_mut())?;
            put(&raw mut (*params).context, null_mut())?;
        }
    }
    Ok(())
}
pub unsafe fn cuGraphKernelNodeGetParams(node: *mut c_void, params: *mut KernelNodeParams) -> i32 {
    // SAFETY: `params` is an output of this call's version (E1).
    with("cuGraphKernelNodeGetParams", |d| unsafe { get(d, node, params, true) })
}
pub unsafe fn cuGraphKernelNodeGetParams_v2(node: *mut c_void, params: *mut KernelNodeParams) -> i32 {
    // SAFETY: `params` is an output of this call's version (E1).
    with("cuGraphKernelNodeGetParams_v2", |d| unsafe { get(d, node, params, false) })
}
pub unsafe fn cuGraphKernelNodeSetParams(node: *mut c_void, params: *const KernelNodeParams) -> i32 {
    with("cuGraphKernelNodeSetParams", |d| {
        // SAFETY: `params` is null or a kernel node's parameters, in this call's version (E1).
        let work = unsafe { kernel_work(d, params, true)? };
        d.node_change(node as u64, work)
    })
}
pub unsafe fn cuGraphKernelNodeSetParams_v2(node: *mut c_void, params: *const KernelNodeParams) -> i32 {
    with("cuGraphKernelNodeSetParams_v2", |d| {
        // SAFETY: `params` is null or a kernel node's parameters, in this call's version (E1).
        let work = unsafe { kernel_work(d, params, false)? };
        d.node_change(node as u64, work)
    })
}
pub unsafe fn cuGraphNodeSetParams(node: *mut c_void, params: *mut NodeParams) -> i32 {
    with("cuGraphNodeSetParams", |d| {
        // SAFETY: `params` is null or a node's parameters (E1).
        let work = unsafe { node_work(d, params)? };
        d.node_change(node as u64, work)
    })
}

pub unsafe fn cuGraphKernelNodeGetAttribute(node: *mut c_void, attribute: i32, value: *mut c_void) -> i32 {
    with("cuGraphKernelNodeGetAttribute", |d| {
        let (Work::Launch { config, .. }, _) = d.node_kernel(node as u64)? else {
            return Err(code::INVALID_VALUE);
        };
        let Dim3 { x, y, z } = config.cluster;
        match attribute {
            // A launch without a cluster has a cluster of one CTA here, but reports zeros.
            // SAFETY: `value` is an output of this call (E1, E2).
            launch::CLUSTER_DIMENSION if config.cluster == Dim3::default() => unsafe {
                put(value.cast(), [0u32; 3])
            },
            // SAFETY: `value` is an output of this call (E1, E2).
            launch::CLUSTER_DIMENSION => unsafe { put(value.cast(), [x, y, z]) },
            _ => Err(code::NOT_SUPPORTED),
        }
    })
}
pub unsafe fn cuGraphKernelNodeSetAttribute(node: *mut c_void, attribute: i32, value: *const c_void) -> i32 {
    with("cuGraphKernelNodeSetAttribute", |d| {
        if attribute != launch::CLUSTER_DIMENSION || value.is_null() {
            return Err(code::NOT_SUPPORTED);
        }
        // SAFETY: `value` points to an attribute of 64 bytes (E1), and is not null.
        let [x, y, z] = unsafe { value.cast::<[u32; 3]>().read_unaligned() };
        d.node_cluster(node as u64, Dim3 { x, y, z })
    })
}

pub unsafe fn cuGraphInstantiate_v2(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    _: *mut *mut c_void,
    _: *mut c_char,
    _: usize,
) -> i32 {
    // SAFETY: the call has the same arguments with the same meaning (E1).
    unsafe { cuGraphInstantiateWithFlags(exec, graph, 0) }
}
pub unsafe fn cuGraphInstantiateWithFlags(exec: *mut *mut c_void, graph: *mut c_void, _: u64) -> i32 {
    // SAFETY: `exec` is an output of this call (E1, E2).
    with("cuGraphInstantiateWithFlags", |d| unsafe {
        put(exec, d.graph_instantiate(graph as u64)? as *mut c_void)
    })
}
pub unsafe fn cuGraphInstantiateWithParams(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut calls::InstantiateParams,
) -> i32 {
    with("cuGraphInstantiateWithParams", |d| {
        if params.is_null() {
            return Err(code::INVALID_VALUE);
        }
        // SAFETY: `exec` and `params`, which is not null, are outputs of this call (E1, E2).
        unsafe {
            put(exec, d.graph_instantiate(graph as u64)? as *mut c_void)?;
            put(&raw mut (*params).result, 0)
        }
    })
}
pub unsafe fn cuGraphInstantiateWithParams_ptsz(
    exec: *mut *mut c_void,
    graph: *mut c_void,
    params: *mut calls::InstantiateParams,
) -> i32 {
    // SAFETY: the call has the same arguments with the same meaning (E1).
    unsafe { cuGraphInstantiateWithParams(exec, graph, params) }
}
pub unsafe fn cuGraphExecKernelNodeSetParams(
    exec: *mut c_void,
    node: *mut c_void,
    params: *const KernelNodeParams,
) -> i32 {
    with("cuGraphExecKernelNodeSetParams", |d| {
        // SAFETY: `params` is null or a kernel node's parameters, in this call's version (E1).
        let work = unsafe { kernel_work(d, params, true)? };
        d.exec_change_node(exec as u64, node as u64, work)
    })
}
pub unsafe fn cuGraphExecKernelNodeSetParams_v2(
    exec: *mut c_void,
    node: *mut c_void,
    params: *const KernelNodeParams,
) -> i32 {
    with("cuGraphExecKernelNodeSetParams_v2", |d| {
        // SAFETY: `params` is null or a kernel node's parameters, in this call's version (E1).
        let work = unsafe { kernel_work(d, params, false)? };
        d.exec_change_node(exec as u64, node as u64, work)
    })
}
pub unsafe fn cuGraphExecNodeSetParams(exec: *mut c_void, node: *mut c_void, params: *mut NodeParams) -> i32 {
    with("cuGraphExecNodeSetParams", |d| {
        // SAFETY: `params` is null or a node's parameters (E1).
        let work = unsafe { node_work(d, params)? };
        d.exec_change_node(exec as u64, node as u64, work)
    })
}
/// `CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED`.
const TOPOLOGY_CHANGED: i32 = 2;
pub unsafe fn cuGraphExecUpdate(
    exec: *mut c_void,
    graph: *mut c_void,
    error: *mut *mut c_void,
    result: *mut i32,
) -> i32 {
    with("cuGraphExecUpdate", |d| {
        let updated = d.exec_update(exec as u64, graph as u64)?;
        // SAFETY: `error` and `result` are outputs of this call (E1, E2).
        unsafe {
            put(error, null_mut())?;
            put(result, if updated { 0 } else { TOPOLOGY_CHANGED })?;
        }
        if updated { Ok(()) } else { Err(code::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}
pub unsafe fn cuGraphExecUpdate_v2(
    exec: *mut c_void,
    graph: *mut c_void,
    result: *mut calls::UpdateResult,
) -> i32 {
    with("cuGraphExecUpdate_v2", |d| {
        let updated = d.exec_update(exec as u64, graph as u64)?;
        let outcome = calls::UpdateResult {
            result: if updated { 0 } else { TOPOLOGY_CHANGED },
            error: null_mut(),
            from: null_mut(),
        };
        // SAFETY: `result` is an output of this call (E1, E2).
        unsafe { put(result, outcome)? };
        if updated { Ok(()) } else { Err(code::GRAPH_EXEC_UPDATE_FAILURE) }
    })
}
pub unsafe fn cuGraphLaunch(exec: *mut c_void, stream: *mut c_void) -> i32 {
    with("cuGraphLaunch", |d| {
        let stream = d.stream(stream as u64, false)?;
        d.exec_launch(exec as u64, stream)
    })
}
pub unsafe fn cuGraphLaunch_ptsz(exec: *mut c_void, stream: *mut c_void) -> i32 {
    with("cuGraphLaunch_ptsz", |d| {
        let stream = d.stream(stream as u64, true)?;
        d.exec_launch(exec as u64, stream)
    })
}
pub unsafe fn cuGraphExecDestroy(exec: *mut c_void) -> i32 {
    with("cuGraphExecDestroy", |d| d.exec_destroy(exec as u64))
}
